"""A request for embeddings as its items: which are known, and the one call for the rest."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from cachelayer.flow.together import Gathering
from cachelayer.keep.parts import UNDATED
from cachelayer.types import Outcome

from .exchange import Exchange, Failed, Unshared
from .routes import Unreadable

if TYPE_CHECKING:
    from .embeddings import ItemsAnswering

MAX_BATCH = 4 * 2**20
"""Bytes of a batch's answer that are read at once, where each of its items alone could be kept."""
PATIENCE = 0.01
"""Seconds that known items may hold up the request for the unknown ones, where a store is asked first."""


class Refused(Exception):
    """The app answered a batch otherwise than with one embedding an item."""


class Items:
    """One request's items on their way."""

    exchange: Exchange | None = None
    """Through which the app answered first."""
    whole = False
    """Whether it answered all items there, to the request as it came."""
    refused: Exchange | None = None
    """Through which it answered otherwise than by items, in words that fit the request as it came."""
    usage: Any = None
    _over = False

    def __init__(
        self, answering: ItemsAnswering, body: dict[str, Any], items: list[Any], keys: list[bytes]
    ) -> None:
        """`keys`: the items as they are spelled, to tell equal ones."""
        self.answering, self.body = answering, body
        self.unique = list(dict.fromkeys(keys))
        self.asked: list[Exchange] = []
        at = {key: i for i, key in enumerate(self.unique)}
        self.order = [at[key] for key in keys]
        firsts = dict(zip(reversed(keys), reversed(items), strict=True))
        self.items = [firsts[key] for key in self.unique]
        patience = PATIENCE if answering.served.engine.tiers.shared is not None else 0.001
        self.gathering = Gathering(len(self.unique), self._fetch, patience)
        self.renewing = Gathering(len(self.unique), self._renew, patience)

    async def item(self, at: int, base: dict[str, Any]) -> Outcome:
        """One item's outcome, from the tiers or from the one call."""
        member = _Member(partial(self._made, self.gathering, at), partial(self._made, self.renewing, at))
        answering, served = self.answering, self.answering.served
        fields = {**base, "input": self.items[at]}
        call = served.call(member.ask, fields)
        call.suits, call.kept_only = answering.suits, answering.r.asked.only_if_cached
        outcome, _ = await served.engine.handed(call)
        member.answered = True
        if outcome is None:
            with served.layer.tighten(no_cache=True):
                outcome = await served.engine.serve(served.call(member.ask_anew, fields))
        if not member.needed:
            self.gathering.known()
        return outcome

    async def _made(self, gathering: Gathering, at: int) -> Any:
        """One item's answer, built on all that was used for its batch."""
        answer, used = await gathering.need(at)
        self.answering.served.engine.noting.pass_on(used, UNDATED)
        return answer

    def close(self) -> None:
        """The caller has its answer, or left; what arrives later is for the others who share it."""
        self._over = True
        self._keep(None)

    def _keep(self, refused: Exchange | None) -> None:
        if self.refused is not None:
            self.refused.close()
        self.refused = refused

    async def _fetch(self, needed: list[int]) -> Sequence[Any]:
        whole = len(needed) == len(self.order)
        exchange = self._exchange(needed, whole)
        try:
            answers, usage = await self._asked(exchange, len(needed))
        except (Refused, Failed):
            if not self._over and (whole or exchange.status == 429 or exchange.status >= 500):
                self._keep(exchange)
            else:
                exchange.close()
            raise
        if self.exchange is None:
            self.exchange, self.whole = exchange, whole
        self.usage = _added(self.usage, usage)
        return answers

    async def _renew(self, needed: list[int]) -> Sequence[Any]:
        """Fetch in the background, for a caller who was given stale ones."""
        exchange = self._exchange(needed, len(needed) == len(self.order)).again()
        answers, _ = await self._asked(exchange, len(needed))
        return answers

    async def _asked(self, exchange: Exchange, count: int) -> tuple[Sequence[Any], Any]:
        """Each item with what was used for all, and what the app says of usage. Raises Refused."""
        with self.answering.served.engine.noting.apart() as used:
            answers, usage = _read(await exchange.ask(), count)
        return [(answer, used) for answer in answers], usage

    def _exchange(self, needed: list[int], whole: bool) -> Exchange:
        exchange = self.answering.r.exchange()
        self.asked.append(exchange)
        exchange.limit = max(exchange.limit, min(MAX_BATCH, exchange.limit * len(needed)))
        if not whole:
            body = {**self.body, "input": [self.items[at] for at in needed]}
            exchange.request = spelled(body)
            exchange.scope = _resized(exchange.scope, len(exchange.request))
        return exchange


class _Member:
    """What the engine calls for one item that no tier knows, and to renew an old one behind its caller's back."""

    needed = answered = False

    def __init__(self, need: Any, renew: Any) -> None:
        self._need, self._renew = need, renew

    async def ask(self, /, **_: Any) -> Any:
        return await (self._renew() if self.answered else self.ask_anew())

    async def ask_anew(self, /, **_: Any) -> Any:
        self.needed = True
        return await self._need()


def spelled(value: Any) -> bytes:
    """Part of a request as it is sent on. Raises Unreadable for half of a surrogate pair, and for deep nesting."""
    try:
        return orjson.dumps(value)
    except TypeError:
        raise Unreadable("half a character, or nested too deeply") from None


def _read(answer: Any, count: int) -> tuple[Sequence[Any], Any]:
    """The answer's items by index, and what it says of usage. Raises Refused."""
    if isinstance(answer, Unshared) or type(answer) is not tuple:
        raise Refused
    media, language, terms, body = answer[:4]
    try:
        parsed = orjson.loads(body)
        data = sorted(parsed["data"], key=lambda item: item["index"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise Refused from None
    if [item["index"] for item in data] != list(range(count)) or parsed.get("error"):
        raise Refused
    model = orjson.dumps(parsed.get("model"))
    for item in data:
        del item["index"]
    return [(media, language, terms, orjson.dumps(item), model) for item in data], parsed.get("usage")


def _resized(scope: MutableMapping[str, Any], size: int) -> MutableMapping[str, Any]:
    headers = [(n, b"%d" % size if n == b"content-length" else v) for n, v in scope["headers"]]
    return {**scope, "headers": headers}


def _added(one: Any, other: Any) -> Any:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other if one is None else one
    numbers = {n: v + one.get(n, 0) for n, v in other.items() if isinstance(v, int)}
    return {**one, **other, **numbers}
