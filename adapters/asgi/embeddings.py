"""Embeddings are cached item by item: of a batch of a hundred with ninety known, ten are asked for."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import orjson

from cachelayer.flow.together import Gathering, together
from cachelayer.types import Outcome, Reason, Source

from . import status
from .answering import Answering
from .exchange import BODY, START, Exchange, Failed, NotCached, Unanswered, Unshared
from .responder import Responder
from .routes import Route, Unreadable, Wanted, parse
from .storable import age_of

MAX_ITEMS = 2048
MAX_BATCH = 4 * 2**20
"""Bytes of a batch's answer that are read at once, where each of its items alone could be kept."""
PATIENCE = 0.01
"""Seconds that known items may hold up the request for the unknown ones, where a store is asked first."""


class EmbeddingsRoute(Route):
    """A route with OpenAI's form of embeddings: `input` is a text, a list of tokens, or a list of either."""

    def __init__(self, path: str) -> None:
        super().__init__(path, openai=True)
        self.identified = False

    def wanted(self, body: dict[str, Any]) -> Wanted:
        if body.get("stream"):
            raise Unreadable("streamed embeddings")
        return Wanted()

    def items(self, body: dict[str, Any]) -> list[Any]:
        """The inputs one by one. Raises Unreadable."""
        given = body.get("input")
        if isinstance(given, str):
            return [given]
        if not isinstance(given, list) or not given:
            raise Unreadable("no input")
        if all(type(token) is int for token in given):
            return [given]
        if len(given) > MAX_ITEMS:
            raise Unreadable("too many inputs")
        if not all(isinstance(item, str | list) for item in given):
            raise Unreadable("an input that is no text and no list of tokens")
        return given

    def view(self, whole: bytes) -> Any:
        item = orjson.loads(whole)
        return item if item.get("embedding") else Reason.EMPTY_ANSWER


EMBEDDINGS = EmbeddingsRoute("/v1/embeddings")


class Refused(Exception):
    """The app answered a batch otherwise than with one embedding an item."""


class Items:
    """One request's items on their way: which are known, and the one call for the rest."""

    def __init__(self, answering: ItemsAnswering, body: dict[str, Any], items: list[Any]) -> None:
        self.answering, self.body = answering, body
        keys = [orjson.dumps(item) for item in items]
        self.unique = list(dict.fromkeys(keys))
        at = {key: i for i, key in enumerate(self.unique)}
        self.order = [at[key] for key in keys]
        firsts = dict(zip(reversed(keys), reversed(items), strict=True))
        self.items = [firsts[key] for key in self.unique]
        self.exchange: Exchange | None = None
        """Through which the app was asked first."""
        self.refused: Exchange | None = None
        """Through which it answered otherwise than by items, in words that fit the request as it came."""
        self.asked_for: list[int] = []
        self.usage: Any = None
        patience = PATIENCE if answering.served.layer._shared is not None else 0.001
        self.gathering = Gathering(len(self.unique), self._fetch, patience)

    async def item(self, at: int, base: dict[str, Any]) -> Outcome:
        """One item's outcome, from the tiers or from the one call."""
        member = _Member(partial(self.gathering.need, at))
        served = self.answering.served
        outcome: Outcome = await served.engine.serve(
            served.call(member.ask, {**base, "input": self.items[at]})
        )
        if not member.needed:
            self.gathering.known()
        return outcome

    async def _fetch(self, needed: list[int]) -> Sequence[Any]:
        whole = len(needed) == len(self.order)
        exchange = self.answering.r.exchange()
        exchange.limit = max(exchange.limit, min(MAX_BATCH, exchange.limit * len(needed)))
        if not whole:
            body = {**self.body, "input": [self.items[at] for at in needed]}
            exchange.request = orjson.dumps(body)
            exchange.scope = _resized(exchange.scope, len(exchange.request))
        self.exchange = self.exchange or exchange
        self.asked_for += needed
        try:
            return self._read(exchange, await exchange.ask(), len(needed))
        except (Refused, Failed):
            if whole or exchange.status == 429 or exchange.status >= 500:
                self.refused = exchange
            else:
                exchange.close()
                self.exchange = None
            raise
        finally:
            self.answering.r.heard(exchange.status)

    def _read(self, exchange: Exchange, answer: Any, count: int) -> Sequence[Any]:
        """The answer's items, by index. Raises Refused."""
        if isinstance(answer, Unshared) or type(answer) is not tuple:
            raise Refused
        media, language, terms, told = answer[:4]
        try:
            parsed = orjson.loads(told)
            data = sorted(parsed["data"], key=lambda item: item["index"])
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise Refused from None
        if [item["index"] for item in data] != list(range(count)):
            raise Refused
        self.usage = _added(self.usage, parsed.get("usage"))
        model = orjson.dumps(parsed.get("model"))
        for item in data:
            del item["index"]
        return [(media, language, terms, orjson.dumps(item), model) for item in data]


class _Member:
    """What the engine calls for one item that no tier knows."""

    def __init__(self, need: Any) -> None:
        self._need = need
        self.needed = False

    async def ask(self, /, **_: Any) -> Any:
        self.needed = True
        return await self._need()


def _resized(scope: MutableMapping[str, Any], size: int) -> MutableMapping[str, Any]:
    headers = [(n, b"%d" % size if n == b"content-length" else v) for n, v in scope["headers"]]
    return {**scope, "headers": headers}


def _added(one: Any, other: Any) -> Any:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other if one is None else one
    numbers = {n: v + one.get(n, 0) for n, v in other.items() if isinstance(v, int)}
    return {**one, **other, **numbers}


class ItemsAnswering(Answering):
    """Answers a request for embeddings."""

    async def serve(self, body: dict[str, Any], let_in: bool) -> None:
        """All items, known or not."""
        items = Items(self, body, self.served.route.items(body))  # type: ignore[attr-defined]
        self.items = items
        base = {**{name: value for name, value in body.items() if name != "input"}, **self.r.beside()}
        await self.ask(base, b"", let_in)

    async def _led(self, exchange: Exchange, fields: Any, raw: bytes) -> None:
        items = self.items
        if self.r.asked.only_if_cached:
            items._fetch = _none_cached  # type: ignore[method-assign]
            items.gathering._call = _none_cached
        base = dict(fields)
        stricter = {} if self.let_in else {"no_cache": True}
        try:
            with self.served.layer.tighten(**stricter):
                outcomes = await together(items.item(at, base) for at in range(len(items.unique)))
        except NotCached:
            await self.r.not_cached("not-cached")
            return
        except (Refused, Failed, Unanswered):
            await self._unassembled()
            return
        await self._assembled(outcomes)

    async def _unassembled(self) -> None:
        """What the app said to this very request, else what it says to it now."""
        refused = self.items.refused
        if refused is None:
            await self._as_it_came()
            return
        why = "not-by-item" if refused.unshared is None else refused.unshared.why
        try:
            with suppress(Unanswered):
                await self._own(refused, refused.unshared, status.bypass(why, self.settings.name))
        finally:
            refused.close()

    async def _as_it_came(self) -> None:
        """What the app says to the request as it came."""
        exchange = self.r.exchange()
        try:
            answer = await exchange.ask()
            self.r.heard(exchange.status)
            await self._own(exchange, answer, status.bypass("not-by-item", self.settings.name))
        except Failed as failed:
            await self._forward(failed.unshared, status.bypass("error", self.settings.name))
        except Unanswered:
            return
        finally:
            exchange.close()

    async def _own(self, exchange: Exchange, answer: Any, told: status.Header) -> None:
        if isinstance(answer, Unshared):
            await self._forward(answer, told)
            return
        await self.r.send({"type": START, "status": exchange.status, "headers": [*exchange.headers, told]})
        await self.r.send({"type": BODY, "body": exchange.body, "more_body": False})

    async def _assembled(self, outcomes: list[Outcome]) -> None:
        items, exchange = self.items, self.items.exchange
        hits = sum(status.is_hit(outcome) for outcome in outcomes)
        told = self._told(outcomes, hits)
        if exchange is not None and len(items.asked_for) == len(items.order):
            await self._own(exchange, (), told)
            return
        media, language, _, _, model = outcomes[0].answer
        data = [outcomes[at].answer[3] for at in items.order]
        body = b'{"object":"list","data":[%b],"model":%b,"usage":%b}' % (
            b",".join([b'{"index":%d,%b' % (i, item[1:]) for i, item in enumerate(data)]),
            model,
            orjson.dumps(items.usage or {"prompt_tokens": 0, "total_tokens": 0}),
        )
        headers = [(b"content-type", media), (b"content-length", b"%d" % len(body)), told]
        if exchange is not None:
            own = (b"content-length", b"content-type", b"content-encoding")
            headers += [header for header in exchange.headers if header[0].lower() not in own]
        elif language:
            headers.append((b"content-language", language))
        if exchange is None and self.r.reveals and hits == len(outcomes):
            oldest = max(int((one.age or 0) + age_of(one.answer[2])) for one in outcomes)
            headers.append((b"age", b"%d" % oldest))
        await self.r.send({"type": START, "status": 200, "headers": headers})
        await self.r.send({"type": BODY, "body": body, "more_body": False})

    def _told(self, outcomes: list[Outcome], hits: int) -> status.Header:
        if hits == len(outcomes):
            return self.r.told(status.hit(None, status.detail_of(outcomes[0]), self.settings.name))
        first = next(outcome for outcome in outcomes if not status.is_hit(outcome))
        name, told = status.missed(
            first.misses, status=200, stored=first.stored is None, name=self.settings.name,
            collapsed=first.source is Source.COALESCED,
        )  # fmt: skip
        return self.r.told((name, told.replace(b'detail="', b'detail="items:%d/%d ' % (hits, len(outcomes)))))

    def _asked(self, exchange: Exchange) -> Exchange | None:
        return self.items.exchange


async def _none_cached(needed: list[int]) -> Sequence[Any]:
    raise NotCached


class ItemsResponder(Responder):
    """Made for one request of embeddings."""

    async def _ask(self, raw: bytes, messages: Any, let_in: bool) -> None:
        try:
            body = parse(self.body)
            route = self.served.route
            self.wanted = route.wanted(body)
            route.items(body)  # type: ignore[attr-defined]
        except Unreadable as fault:
            await self.past(str(fault), messages)
            return
        await ItemsAnswering(self).serve(body, let_in)
