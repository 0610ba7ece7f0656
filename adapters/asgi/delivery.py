"""Answers made before, or for another caller, in the form that this caller asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cachelayer.exact.answers.frozen import Frozen
from cachelayer.flow.loops import turn
from cachelayer.flow.readers import nothing
from cachelayer.keep.call import Call, Landing
from cachelayer.keep.streams import short
from cachelayer.observe.pace import timed
from cachelayer.types import Outcome, Reason, Source

from . import replay, status
from .exchange import BODY, START
from .storable import Terms, age_of

if TYPE_CHECKING:
    from .responder import Responder

TURN = 4096
"""Bytes of events after which others have a turn: a server's `send` waits only for a reader who is slow."""
_AT_ONCE = (b"x-accel-buffering", b"no")
"""Tells nginx to pass each piece on as it comes, as apps do with streams of their own."""
_JSON, _EVENTS = b"application/json", b"text/event-stream; charset=utf-8"


class Again(Exception):
    """Another caller's answer does not suit this one, for whom the app is asked again."""


class Delivery:
    """Sends what the cache holds, on behalf of a responder."""

    begun = False
    """Whether the caller was told of an answer of another's making."""

    def __init__(self, responder: Responder) -> None:
        self.r, self.served, self.settings = responder, responder.served, responder.settings
        self.wanted = responder.wanted

    def suffices(self, frozen: Any) -> bool:
        """Whether a kept answer has what this caller asked for: a stream with usage needs one that knows it."""
        if not self.wanted.usage:
            return True
        kept = frozen.value
        return type(kept[0]) is bytes or bool(kept[0].value[3])

    @staticmethod
    def terms(frozen: Any) -> Terms:
        """What a kept answer said of its freshness when it came."""
        kept = frozen.value
        return kept[2] if type(kept[0]) is bytes else kept[0].value[2]  # type: ignore[no-any-return]

    async def hit_slot(self, slot: Any) -> None:
        """Serve an entry that a raw form led to."""
        age, ttl = self.served.raws.age(slot)
        answer = slot.answer.answer()
        if type(answer) is tuple:
            await self._send_whole(answer, self._hit_headers("memory", age, ttl))
            return
        stats, now = self.served.handle.function.stats, self.served.now
        if stats.paced:
            answer = timed(answer, stats, "hit", now(), now)
        await self._send_stream(answer, self._hit_headers("memory", age, ttl), slot.answer)

    async def _shared(self, outcome: Outcome, slot: Any) -> None:
        answer = outcome.answer
        live = outcome.source is Source.COALESCED
        if (live and slot is None) or outcome.age is None:
            headers = [self._collapsed(outcome.misses)]
        else:
            ttl = None if slot is None else self.served.raws.age(slot)[1]
            headers = self._hit_headers(status.detail_of(outcome), outcome.age, ttl)
        if type(answer) is tuple:
            await self._send_whole(answer, headers)
            return
        await self._send_stream(answer, headers, None if slot is None else slot.answer, live=live)

    def _hit_headers(self, detail: str, age: float, ttl: float | None) -> list[status.Header]:
        cache_status = status.hit(ttl, detail, self.settings.name)
        if not self.r.reveals:
            return [status.veiled(cache_status)]
        return [cache_status, (b"age", b"%d" % max(0, int(age)))]

    def _collapsed(self, misses: Mapping[str, Reason]) -> status.Header:
        return self.r.revealed(status.missed(misses, status=200, collapsed=True, name=self.settings.name))

    async def _send_whole(self, answer: tuple[Any, ...], headers: list[status.Header]) -> None:
        media, language = answer[0], answer[1]
        headers = _aged(headers, answer[2])
        if self.wanted.stream and self.served.route.openai:
            events = replay.as_stream(answer, usage=self.wanted.usage)
            await self._start(_EVENTS, language, self._at_once(headers, False))
            await self._send_events(_one(events))
            return
        await self._send_body(media, language, headers, replay.whole(answer))

    async def _send_stream(
        self,
        pieces: AsyncIterator[Any],
        headers: list[status.Header],
        kept: Frozen | None,
        *,
        live: bool = False,
        counted: Callable[[], object] = nothing,
    ) -> None:
        """`kept`: the entry's answer, where the pieces are of one. `counted`: called where there is a whole of them."""
        openai = self.served.route.openai
        try:
            media, language, terms, recorded_usage = await self._head(pieces)
            headers = _aged(headers, terms)
            if not self.wanted.stream and openai:
                body = replay.as_whole(await self._all(pieces, kept))
                counted()
                await self._send_body(_JSON, language, headers, body)
                return
            if self.wanted.usage and not recorded_usage:
                raise Again
            replayed = replay.Replayed(openai=openai, usage=self.wanted.usage, recorded_usage=recorded_usage)
            await self._start(media, language, self._at_once(headers, live))
            await self._send_events(replay.batches(pieces, replayed, live=live), live=live)
        finally:
            await pieces.aclose()  # type: ignore[attr-defined]

    async def _send_body(
        self, media: bytes, language: bytes, headers: list[status.Header], body: bytes
    ) -> None:
        await self._start(media, language, headers, len(body))
        await self.r.send({"type": BODY, "body": body, "more_body": False})

    async def _head(self, pieces: AsyncIterator[Any]) -> Any:
        """The first item of another's recording. Raises Again if that one failed before it said anything."""
        try:
            return await anext(pieces)
        except StopAsyncIteration:
            raise Again from None

    async def _ride(self, call: Call, landing: Landing, pieces: AsyncIterator[Any]) -> None:
        """A stream under way to who wants it whole, and is counted once it is known that there is a whole."""
        count = partial(self.served.engine.delivery.count, call, landing, led=False)
        await self._send_stream(pieces, [self._collapsed(call.misses)], None, counted=count)

    async def _all(self, pieces: AsyncIterator[Any], kept: Frozen | None) -> bytes:
        """The stream to be made whole: of one that is kept events that add to one text are one."""
        if kept is not None:
            return b"".join(short(kept, self.served.handle.function.joins)[1:])
        return b"".join([piece async for piece in pieces])

    async def _start(
        self, media: bytes, language: bytes, headers: list[status.Header], length: int | None = None
    ) -> None:
        headers = [(b"content-type", media), *headers, *(self.r.pages or ())]
        if length is not None:
            headers.append((b"content-length", b"%d" % length))
        if language:
            headers.append((b"content-language", language))
        self.begun = True
        await self.r.send({"type": START, "status": 200, "headers": headers})

    def _at_once(self, headers: list[status.Header], live: bool) -> list[status.Header]:
        """The headers of events that do not all come now."""
        return [*headers, _AT_ONCE] if live or self.settings.pace is not None else headers

    async def _send_events(self, messages: AsyncIterator[bytes], *, live: bool = False) -> None:
        """Live events go out as they come; of others, the last message is marked as the last. A caller that can read
        much at once takes turns with the others."""
        pace, send, since = self.settings.pace, self.r.send, 0
        if pace is not None and not live:
            messages = replay.paced(messages, pace)
        held = b""
        async for message in messages:
            if not (live or pace is not None):
                held, message = message, held
            if not message:
                continue
            await send({"type": BODY, "body": message, "more_body": True})
            since += len(message)
            if since >= TURN:
                since = 0
                await turn()
        await send({"type": BODY, "body": held, "more_body": False})


async def _one(message: bytes) -> AsyncIterator[bytes]:
    yield message


def _aged(headers: list[status.Header], terms: Terms) -> list[status.Header]:
    """The headers with an `Age` that counts the time in other caches, too."""
    before = int(age_of(terms))
    return (
        [(n, b"%d" % (int(v) + before)) if n == b"age" else (n, v) for n, v in headers] if before else headers
    )
