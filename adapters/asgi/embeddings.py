"""Embeddings are cached item by item: of a batch of a hundred with ninety known, ten are asked for."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson

from cachelayer.flow.together import together
from cachelayer.keep.call import NotKept
from cachelayer.types import Outcome, Reason, Source

from . import status
from .answering import Answering
from .exchange import BODY, START, Exchange, Failed, Unanswered, Unshared
from .items import Items, Refused, spelled
from .responder import Responder
from .routes import Route, Unreadable, Wanted, parse
from .storable import age_of

MAX_ITEMS = 2048
_OF_ITS_BODY = frozenset({
    b"content-length", b"content-type", b"content-encoding", b"transfer-encoding", b"content-digest", b"repr-digest",
    b"digest", b"content-md5", b"etag",
})  # fmt: skip
"""Headers of an answer to some of the items that are not true of all of them."""


class EmbeddingsRoute(Route):
    """A route with OpenAI's form of embeddings: `input` is a text, a list of tokens, or a list of either."""

    def __init__(self, path: str) -> None:
        super().__init__(path, openai=True)
        self.identified, self.by_item = False, True

    def wanted(self, body: dict[str, Any]) -> Wanted:
        if body.get("stream"):
            raise Unreadable("streamed embeddings")
        return Wanted()

    def items(self, body: dict[str, Any]) -> list[Any]:
        """The inputs one by one. Raises Unreadable."""
        given = body.get("input")
        if body.get("late_chunking"):  # Jina's: each text is embedded as a part of all of them
            raise Unreadable("late_chunking")
        if isinstance(given, str):
            return [given]
        if not isinstance(given, list) or not given:
            raise Unreadable("no input")
        if all(type(token) is int for token in given):
            return [given]
        if len(given) > MAX_ITEMS:
            raise Unreadable("too many inputs")
        if not all(isinstance(item, str | list) for item in given):
            raise Unreadable("an input that is neither a text nor a list of tokens")
        return given

    def view(self, whole: bytes) -> Any:
        item = orjson.loads(whole)
        vector = item.get("embedding")
        if b"null" in whole and isinstance(vector, list) and None in vector:  # what some write for NaN
            return Reason.INCOMPLETE
        return item if vector else Reason.EMPTY_ANSWER


EMBEDDINGS = EmbeddingsRoute("/v1/embeddings")


class ItemsAnswering(Answering):
    """Answers a request for embeddings."""

    async def serve(self, body: dict[str, Any], items: list[Any], keys: list[bytes], let_in: bool) -> None:
        """All items, known or not."""
        self.items = Items(self, body, items, keys)
        base = {**{name: value for name, value in body.items() if name != "input"}, **self.r.beside()}
        await self.ask(base, b"", let_in)

    async def _led(self, exchange: Exchange, fields: Any, raw: bytes) -> None:
        items = self.items
        base = dict(fields)
        try:
            outcomes = await together(items.item(at, base) for at in range(len(items.unique)))
            await self._assembled(outcomes)
        except (Refused, Unreadable, Failed, NotKept, Unanswered):
            await self._unassembled()
        finally:
            items.close()

    async def _unassembled(self) -> None:
        """What the app said to this very request, else what it says to it now."""
        refused = self.items.refused
        if refused is None:
            if self.r.asked.only_if_cached:
                await self.r.not_cached("not-cached")
            else:
                await self._as_it_came()
            return
        why = "not-by-item" if refused.unshared is None else refused.unshared.why
        with suppress(Unanswered):
            await self._own(refused, refused.unshared, status.bypass(why, self.settings.name))

    async def _as_it_came(self) -> None:
        """What the app says to the request as it came."""
        exchange = self.exchange = self.r.exchange()
        try:
            answer = await exchange.ask()
            await self._own(exchange, answer, status.bypass("not-by-item", self.settings.name))
        except Failed as failed:
            await self._forward(failed.unshared, status.bypass("error", self.settings.name))
        except Unanswered:
            return
        finally:
            exchange.close()

    async def _own(self, exchange: Exchange, answer: Any, cache_status: status.Header) -> None:
        self.exchange = exchange
        if isinstance(answer, Unshared):
            await self._forward(answer, cache_status)
            return
        await self.r.send(
            {"type": START, "status": exchange.status, "headers": [*exchange.headers, cache_status]}
        )
        await self.r.send({"type": BODY, "body": exchange.body, "more_body": False})

    async def _assembled(self, outcomes: list[Outcome]) -> None:
        items, exchange = self.items, self.items.exchange
        self.exchange = exchange
        hits = sum(status.is_hit(outcome) for outcome in outcomes)
        cache_status = self._cache_status(outcomes, hits)
        if exchange is not None and items.whole:
            await self._own(exchange, (), cache_status)
            return
        media, language, _, _, model = outcomes[0].answer
        data = [outcomes[at].answer[3] for at in items.order]
        body = b'{"object":"list","data":[%b],"model":%b,"usage":%b}' % (
            b",".join([b'{"index":%d,%b' % (i, item[1:]) for i, item in enumerate(data)]),
            model,
            orjson.dumps(items.usage or {"prompt_tokens": 0, "total_tokens": 0}),
        )
        headers = [(b"content-type", media), (b"content-length", b"%d" % len(body)), cache_status]
        if exchange is not None:
            headers += [header for header in exchange.headers if header[0].lower() not in _OF_ITS_BODY]
        else:
            headers += self.r.pages or ()
            if language:
                headers.append((b"content-language", language))
        if exchange is None and self.r.reveals and hits == len(outcomes):
            oldest = max(int((one.age or 0) + age_of(one.answer[2])) for one in outcomes)
            headers.append((b"age", b"%d" % oldest))
        await self.r.send({"type": START, "status": 200, "headers": headers})
        await self.r.send({"type": BODY, "body": body, "more_body": False})

    def _cache_status(self, outcomes: list[Outcome], hits: int) -> status.Header:
        if hits == len(outcomes):
            return self.r.revealed(status.hit(None, status.detail_of(outcomes[0]), self.settings.name))
        first = next(outcome for outcome in outcomes if not status.is_hit(outcome))
        name, value = status.missed(
            first.misses, status=200, stored=first.stored is None, why_not=str(first.stored or ""),
            collapsed=first.source is Source.COALESCED, name=self.settings.name,
        )  # fmt: skip
        return self.r.revealed(
            (name, value.replace(b'detail="', b'detail="items:%d/%d ' % (hits, len(outcomes))))
        )

    def _give_up(self) -> None:
        for exchange in self.items.asked:
            if exchange.channel is not None:
                exchange.channel.give_up()


class ItemsResponder(Responder):
    """Made for one request of embeddings."""

    async def _ask(self, raw: bytes, messages: Any, let_in: bool) -> None:
        try:
            body = parse(self.body)
            route = self.served.route
            self.wanted = route.wanted(body)
            items = route.items(body)  # type: ignore[attr-defined]
            keys = [spelled(item) for item in items]
        except Unreadable as fault:
            await self.past(str(fault), messages)
            return
        await ItemsAnswering(self).serve(body, items, keys, let_in)
