"""From the engine's outcome to the caller's bytes."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from typing import Any

from cachelayer.flow.relay import pass_on
from cachelayer.flow.watch import Watch
from cachelayer.keep.call import Landing, NotKept
from cachelayer.keep.scope_blocks import CallerScope
from cachelayer.types import Outcome, Reason, Source

from ..openai_wire import NotAnAnswer
from . import status
from .ahead import Ahead
from .delivery import Again, Delivery
from .directives import NOTHING
from .exchange import BODY, START, Exchange, Failed, Message, Send, Unanswered, Unshared
from .storable import age_of, firm_of

Fields = dict[str, Any]
_OWN = frozenset({Source.BACKEND, Source.BYPASS})
"""Where a caller's answer comes from whose own request the app answered."""
_KEPT = frozenset({Source.MEMORY, Source.REDIS, Source.INDEX})
"""Where answers come from that are fresh for a while yet."""
_AS_IT_IS: AbstractContextManager[None] = nullcontext()


class Answering(Delivery):
    """Answers one request on behalf of its responder."""

    let_in = True
    """Whether the app lets these credentials in: else it has to see them, and nothing kept may answer."""
    watch: Watch | None = None
    exchange: Exchange | None = None
    """Through which the app was asked last."""
    riding: tuple[Landing, AsyncIterator[Any]] | None = None
    """A stream under way that is to be made whole, as it was found, and a reader of it."""

    # asking ------------------------------------------------------------------------------------------------------

    async def ask(self, fields: Fields, raw: bytes, let_in: bool) -> None:
        """Serve from the tiers or from the app. `let_in`: whether a hit may answer these credentials."""
        asked, principal, layer = self.r.asked, self.r.principal, self.served.layer
        assert principal is not None
        tighter = {} if asked is NOTHING else asked.tightening()
        self.let_in = let_in
        if not let_in and not principal.own and principal.name is not None:
            tighter |= {"no_cache": True, "no_store": True}  # nobody rides on another's credentials
        if not self.r.reveals:
            tighter["no_similar"] = True
        if self.r.pages is None:  # the app has to say whether this page may read it
            tighter["no_cache"] = True
        if not let_in and asked.only_if_cached:
            await self.r.not_cached("unknown-credentials")
            return
        tighter = self._bounded(tighter) if tighter else tighter
        tightened = layer.tighten(**tighter) if tighter else _AS_IT_IS
        caller = principal.credentials
        if not principal.own:
            with self.served.guard("principal"):
                caller = self.settings.principals.caller(principal, self.r.scope)
        with CallerScope(self.served.engine.noting.scope, principal.name, caller), tightened:
            exchange = self.exchange = self.r.exchange()
            try:
                if self.settings.finish:
                    self.r.send = _past_the_end(self.r.send)
                    await self._led(exchange, fields, raw)
                    return
                with Watch(self._left, self.served.rounds) as watch:
                    self.watch = watch
                    await self._led(exchange, fields, raw)
                # what the app does after its response belongs to the request that caused it
                if not watch.rang and (behind := self._asked()) is not None:
                    await behind.finished()
            except CancelledError:
                if not self.settings.finish:
                    self._give_up()
                raise
            finally:
                exchange.close()
                exchange.ahead = self.watch = None  # no cycles for the collector

    def _give_up(self) -> None:
        """Cancel the app's work: the request was cancelled, by a time limit for example, though the caller is there."""
        if self.exchange is not None and self.exchange.channel is not None:
            self.exchange.channel.give_up()

    def _bounded(self, tighter: dict[str, Any]) -> dict[str, Any]:
        """The caller's directives that change anything: an error rate above the owner's, or `max-stale`, may not."""
        rate = tighter.get("max_error_rate")
        policy = self.served.policy
        if not (policy.stale_while_revalidate or policy.stale_if_error):
            tighter = {name: value for name, value in tighter.items() if name != "max_stale"}
        own = policy.max_error_rate
        return tighter if rate is None or rate <= own else {**tighter, "max_error_rate": own}

    async def _left(self) -> None:
        while (await self.r.receive())["type"] != "http.disconnect":
            continue

    def _asked(self) -> Exchange | None:
        """The exchange through which the app has answered if it may not have returned yet, else None."""
        exchange = self.exchange
        if exchange is None or not exchange.status or exchange.over or exchange.behind:
            return None
        return exchange

    async def _led(self, exchange: Exchange, fields: Fields, raw: bytes) -> None:
        try:
            call, ahead = self.served.call(exchange.called, fields), None
            call.suits, call.kept_only = self.suits, self.r.asked.only_if_cached
            if self.served.ahead and call.reason is None and call.parent is None:
                exchange.ahead = ahead = Ahead(self.r, call, self.watch)
            try:
                outcome, slot = await self.served.engine.handed(call)
            finally:
                if ahead is not None and not ahead.given:
                    exchange.ahead = ahead = None
            if ahead is not None:
                await self._handed(ahead, outcome)
                return
            if outcome is None or outcome.source not in _OWN:
                exchange.set_aside()
            if outcome is None and self.riding is not None:
                await self._ride(call, *self.riding)
                return
            if outcome is None:
                raise Again
            if outcome.source in _OWN:
                await self._first(exchange, outcome)
                return
            await self._shared(outcome, slot)
            if outcome.match != "similar":  # a first repeat: what nobody asks again needs no raw form
                self.served.raws.link(slot, raw)
        except Failed as failed:
            if failed.unshared is not exchange.unshared:
                await self._alone(fields)
                return
            await self._forward(failed.unshared, self._missed({}, exchange, None))
        except NotKept:
            await self.r.not_cached("not-cached")
        except (Again, NotAnAnswer):
            await self._alone(fields, keep=True)
        except Unanswered:
            if not (exchange.begun or self.begun):
                await self._alone(fields)

    def suits(self, landing: Landing, led: bool) -> bool:
        """Whether what is kept or under way may answer this caller; what was just made for this request may.

        Whether a stream under way can be made whole is known at its end: see `riding`.
        """
        if led and landing.source in _OWN:
            return True
        slot = landing.slot
        if not self.let_in and landing.age is not None:
            return False
        if slot is not None and self._too_old(landing.source, slot):
            return False
        if landing.source is Source.STALE and self._firm(landing):
            return False
        if landing.recording is None:
            return landing.frozen is None or self.suffices(landing.frozen)
        if self.served.route.openai and not self.wanted.stream:
            self.riding = copy(landing), landing.recording.reader()
            return False
        head = landing.recording.first()
        return head is None or not self.wanted.usage or bool(head.answer()[3])

    def _too_old(self, source: Source, slot: Any) -> bool:
        """Whether `min-fresh`, `max-stale` where the app fails, or `max-age` for what came old exclude what is kept."""
        asked, (age, fresh_for) = self.r.asked, self.served.raws.age(slot)
        if asked.max_age is not None and age + age_of(self.terms(slot.answer)) > asked.max_age:
            return True
        if source is Source.STALE:
            late = asked.max_stale is not None and -fresh_for > asked.max_stale
            return late or asked.min_fresh is not None
        return asked.min_fresh is not None and source in _KEPT and fresh_for < asked.min_fresh

    def _firm(self, landing: Landing) -> bool:
        """Whether it is stale, and the app forbade that it be served so; of streams not in memory nobody can tell."""
        if landing.slot is not None and self.served.raws.age(landing.slot)[1] >= 0:
            return False  # fresh, and renewed ahead
        if landing.frozen is not None:
            return firm_of(self.terms(landing.frozen))
        return type(landing.answer) is tuple and firm_of(landing.answer[2])

    async def _alone(self, fields: Fields, *, keep: bool = False) -> None:
        """Ask the app for this caller alone. `keep`: store the answer in place of the one that did not suit."""
        if self.r.asked.only_if_cached:
            await self.r.not_cached("not-cached")
            return
        exchange = self.exchange = self.r.exchange()
        try:
            with self.served.layer.tighten(no_cache=True, **({} if keep else {"no_store": True})):
                call = self.served.call(exchange.called, fields)
                call.suits = _own
                outcome, _ = await self.served.engine.handed(call)
            if outcome is not None and exchange.status:
                await self._first(exchange, outcome)
        except Failed as failed:
            if failed.unshared is exchange.unshared:
                await self._forward(failed.unshared, self._missed({}, exchange, None))
        except Unanswered:
            pass
        finally:
            exchange.close()
        if keep and not exchange.begun:
            await self._alone(fields)  # it joined another caller's call again

    # the app's own answer ----------------------------------------------------------------------------------------

    async def _first(self, exchange: Exchange, outcome: Outcome) -> None:
        """To the caller whose request was asked: everything as the app sent it."""
        answer, send = outcome.answer, self.r.send
        cache_status = self._missed(outcome.misses, exchange, outcome)
        if isinstance(answer, Unshared):
            await self._forward(answer, cache_status)
            return
        start = {"type": START, "status": exchange.status, "headers": [*exchange.headers, cache_status]}
        if type(answer) is tuple:
            await send(start)
            await send({"type": BODY, "body": exchange.body, "more_body": False})
            return
        try:
            await send(start)
            await anext(answer)
            await self._pass_on(answer)
        finally:
            await answer.aclose()

    async def _handed(self, ahead: Ahead, outcome: Outcome | None) -> None:
        """The same where it was begun ahead of its keeping; no outcome of what is whole."""
        if outcome is None:
            await ahead.ended()
            return
        answer = outcome.answer
        try:
            await anext(answer)
            await ahead.ended()
            await anext(answer)
            await self._pass_on(answer)
        finally:
            await answer.aclose()

    async def _pass_on(self, pieces: AsyncIterator[bytes]) -> None:
        send = self.r.send

        async def hand(piece: bytes) -> None:
            await send({"type": BODY, "body": piece, "more_body": True})

        await pass_on(pieces, hand)
        await send({"type": BODY, "body": b"", "more_body": False})

    async def _forward(self, unshared: Unshared, cache_status: status.Header) -> None:
        async for message in unshared.rest():
            if message["type"] == START:
                message = {**message, "headers": [*message.get("headers", ()), cache_status]}
            await self.r.send(message)

    def _missed(
        self, misses: Mapping[str, Reason], exchange: Exchange, outcome: Outcome | None
    ) -> status.Header:
        stored: bool | None = None
        why = "error"
        if outcome is not None:
            stored, why = outcome.stored is None, str(outcome.stored or "")
            if exchange.unshared is not None:
                stored, why = False, exchange.unshared.why
            elif type(outcome.answer) is not tuple:
                stored, why = None, why or self.served.route.streams_left
        cache_status = status.missed(
            misses, status=exchange.status, stored=stored, why_not=why, name=self.settings.name
        )  # fmt: skip
        return self.r.revealed(cache_status)


def _own(landing: Landing, led: bool) -> bool:
    """Whether it is of this caller's own call."""
    return led


def _past_the_end(send: Send) -> Send:
    """Goes on where servers tell by OSError that the client left (ASGI 2.4): the recording is finished."""

    async def tolerant(message: Message) -> None:
        with suppress(OSError):
            await send(message)

    return tolerant
