"""One request as the app behind sees it, and its response as the cache and the first caller see it."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cachelayer.flow.channel import Channel, Ended

from ..openai_wire import NONE, said_all
from . import replay
from .storable import Judged, decoded, judge

if TYPE_CHECKING:
    from .ahead import Ahead
    from .middleware import Served

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

START, BODY = "http.response.start", "http.response.body"
_BODY_ENDS, _TRAILERS_END = (BODY, "more_body"), ("http.response.trailers", "more_trailers")
"""Of which kind a response's last message is, and what it has not."""

MOST_UNREAD = 64 * 2**20
"""Bytes of a refused request that are read so that its caller reads the answer."""


async def read_off(receive: Receive) -> None:
    """Read what is left of a request that is refused. A client that still writes when its connection is closed sees
    only that, not the answer; the official clients then send it all again."""
    size = 0
    while size <= MOST_UNREAD:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            return
        size += len(message.get("body", b""))


class Unanswered(Exception):
    """The app returned before its response was complete."""


class Unshared:
    """A response that is this caller's alone: what came of it so far, the rest follows on the channel."""

    def __init__(self, messages: list[Message], channel: Channel, why: str) -> None:
        self.messages, self.channel, self.why = messages, channel, why

    async def rest(self) -> AsyncIterator[Message]:
        """Every message of the response, from the start, as the app sends them."""
        early, ends = iter(self.messages), _BODY_ENDS
        while True:
            try:
                message = next(early, None) or await self.channel.take()
            except Ended:
                raise Unanswered from None
            if message.get("trailers"):
                ends = _TRAILERS_END
            yield message
            if message["type"] == ends[0] and not message.get(ends[1], False):
                self.channel.close()  # as servers do, for apps that wait for the client's leaving until then
                return


class Failed(Exception):
    """The app answered with 500, 502, 503 or 504: a stale answer may stand in for it (RFC 5861, section 4)."""

    def __init__(self, unshared: Unshared) -> None:
        super().__init__(unshared.why)
        self.unshared = unshared


class Exchange:
    """One caller's request. The app answers at most once through it; `again` makes another of the same.

    After it was asked, `status` and `headers` are the app's own, and `body` the body in its own encoding.
    """

    begun = behind = closed = False
    """`behind`: whether its caller does without its answer; `closed`: whether the caller reads no more of it."""
    status = 0
    headers: Iterable[tuple[bytes, bytes]] = ()
    body = b""
    channel: Channel | None = None
    unshared: Unshared | None = None
    ahead: Ahead | None = None
    """Where the caller waits for this very answer."""

    def __init__(
        self,
        served: Served,
        scope: MutableMapping[str, Any],
        request: bytes,
        *,
        heard: Callable[[int, Iterable[tuple[bytes, bytes]]], None],
        usage: bool = False,
    ) -> None:
        """`heard` is told the status and the headers of what the app answers."""
        self._served, self.scope, self.request, self.heard = served, scope, request, heard
        self.usage = usage
        self.limit = served.limit
        """Bytes of a whole answer, beyond which it is this caller's alone."""

    def again(self) -> Exchange:
        """The same request, to be asked in the background."""
        twin = Exchange(self._served, dict(self.scope), self.request, heard=self.heard, usage=self.usage)
        twin.behind, twin.closed, twin.limit = True, True, self.limit
        return twin

    async def called(self, /, **_: Any) -> Any:
        """`ask`, as the engine calls it: with the request's fields, which the app reads from the request itself. An
        error of the app counts as a failed call, though its caller gets it as an answer."""
        answer = await self.ask()
        if type(answer) is Unshared and answer.messages[0].get("status", 0) >= 400:
            self._served.handle.function.stats.backend_errors += 1
        return answer

    async def ask(self) -> Any:
        """A whole answer as (media, language, terms, body, marks...), a stream as an iterator of bytes whose first item
        is (media, language, terms, usage asked for), or an `Unshared`. Raises what the app raises, or Failed.
        """
        if self.begun:
            if self.ahead is not None and self.ahead.given:
                raise Unanswered  # what the caller has begun to read has no other end
            return await self.again().ask()
        self.begun = True
        channel = self.channel = Channel()
        served = self._served
        served.channels.open(channel, partial(_called, served.app, self.scope, self.request))
        try:
            answer = await self._answer(channel)
            if type(answer) is tuple and self.ahead is not None:
                self.ahead.whole(self, answer)
        except Failed:
            if self.closed:
                channel.drop()
            raise
        except CancelledError:
            channel.drop()
            if self.ahead is None or not self.ahead.given:  # a call that a lookup overtook may be made anew
                self.begun, self.status = False, 0
            raise
        except BaseException:
            channel.drop()
            raise
        if self.closed and isinstance(answer, Unshared):
            channel.drop()
        return answer

    async def _answer(self, channel: Channel) -> Any:
        start = channel.next() or await self._take(channel)
        if start["type"] != START:
            return self._alone([start], channel, "extension")
        self.status, self.headers = start["status"], list(start.get("headers", ()))
        self.heard(self.status, self.headers)
        judged = judge(self.status, self.headers, self._served.vary)
        if start.get("trailers"):
            judged = judged._replace(why_not="trailers")
        if judged.is_stream and self._served.route.by_item:
            judged = judged._replace(why_not="not-by-item")
        if judged.why_not:
            unshared = self._alone([start], channel, judged.why_not)
            if self._served.stale_allowed and not self.behind and self.status in (500, 502, 503, 504):
                raise Failed(unshared)
            return unshared
        if judged.is_stream:
            message = channel.next()
            piece = b"" if message is None else message.get("body", b"")
            if piece and self.ahead is not None:
                await self.ahead.piece(self, piece)
            return Events(channel, (judged.media, judged.language, judged.terms, self.usage), message)
        return await self._whole(start, channel, judged)

    async def _whole(self, start: Message, channel: Channel, judged: Judged) -> Any:
        messages, parts, size = [start], [], 0
        while True:
            message = channel.next() or await self._take(channel)
            messages.append(message)
            if message["type"] != BODY:
                return self._alone(messages, channel, "extension")
            parts.append(bytes(message.get("body", b"")))
            size += len(parts[-1])
            if not message.get("more_body", False):
                channel.close()
                break
            if size > self.limit:
                return self._alone(messages, channel, "oversize")
        self.body = body = parts[0] if len(parts) == 1 else b"".join(parts)
        if judged.encoding:
            plain = decoded(body, judged.encoding, self.limit)
            if plain is None:
                return self._alone(messages, channel, "content-encoding")
            body = plain
        marks = replay.marks_in(body) if self._served.route.identified else NONE
        return (judged.media, judged.language, judged.terms, body, *marks)

    @staticmethod
    async def _take(channel: Channel) -> Message:
        try:
            message: Message = await channel.take()
        except Ended:
            raise Unanswered from None
        return message

    def _alone(self, messages: list[Message], channel: Channel, why: str) -> Unshared:
        self.unshared = Unshared(messages, channel, why)
        return self.unshared

    def set_aside(self) -> None:
        """The caller gets another answer: the app is asked through this exchange in the background only."""
        self.behind = True
        self.close()

    def close(self) -> None:
        """The caller has its answer, or left: what is this caller's alone is nobody's, also where it comes later."""
        self.closed = True
        if self.unshared is not None:
            self.unshared.channel.drop()

    @property
    def over(self) -> bool:
        """Whether the app has returned, and raised nothing."""
        return self.channel is None or self.channel.ended

    async def finished(self) -> None:
        """Wait until the app returns, after its response. Raises what the app raises."""
        if self.channel is not None:
            await self.channel.finished()


def _called(app: App, scope: MutableMapping[str, Any], request: bytes, channel: Channel) -> Awaitable[None]:
    given = False

    async def receive() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": request, "more_body": False}
        await channel.gone()
        return {"type": "http.disconnect"}

    return app(scope, receive, channel.put)


class Events(AsyncIterator[Any]):
    """A stream's `head`, then its bytes as they pass, in the pieces in which they came."""

    def __init__(self, channel: Channel, head: tuple[Any, ...], message: Message | None) -> None:
        """`message`: one that was taken already."""
        self._channel, self._message = channel, message
        self._head: tuple[Any, ...] | None = head
        self._over = False

    async def __anext__(self) -> Any:
        if self._head is not None:
            head, self._head = self._head, None
            return head
        channel = self._channel
        while not self._over:
            message = self._message or channel.next() or await Exchange._take(channel)
            self._message = None
            if message["type"] != BODY:
                raise Unanswered
            self._over = not message.get("more_body", False)
            body = message.get("body", b"")
            if body:
                return bytes(body)
        channel.close()
        raise StopAsyncIteration

    def feed(self, fed: Callable[[Any], bool]) -> None:
        """From now on a piece that is waited for is offered to `fed` in the step in which the app sends it."""

        def sink(message: Message) -> bool:
            if message["type"] != BODY or not message.get("more_body", False):
                return False
            body = message.get("body", b"")
            return not body or fed(bytes(body))

        self._channel.sink = sink

    @staticmethod
    def said_all(last: list[Any]) -> bool:
        """Whether a stream's last pieces end with [DONE]; what the app does after that is no part of its answer."""
        return said_all(b"".join([piece for piece in last if type(piece) is bytes]))

    async def aclose(self) -> None:
        """Nobody reads any more."""
        (self._channel.close if self._over else self._channel.drop)()
