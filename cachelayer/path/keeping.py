"""Keeping a backend's answer: at once or after its caller has it; and dropping one that was wrong.

What becomes of streams is in `streamed`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable, Iterator
from functools import partial
from typing import Any

from ..flow.recording import Recording
from ..flow.singleflight import SingleFlight
from ..flow.tee import Tee
from ..keep.call import Call, Landing, NotKept
from ..keep.ids import asked_of, key_of, of_another
from ..keep.keeper import Keeper
from ..keep.scope import Scope
from ..keep.terms import staleness
from ..policy import NOT_TIGHTENED
from ..tiers.hierarchy import Tiers
from ..types import Reason, Source
from .delivery import Delivery
from .streamed import Streamed

BACKEND = Source.BACKEND
"""Each look at an enum's member costs 0.1 us in Python 3.11."""


class Keeping:
    """Hands answers to the keeper and to the tiers behind it."""

    def __init__(self, keeper: Keeper, tiers: Tiers, flights: SingleFlight, delivery: Delivery) -> None:
        self._keeper, self._tiers, self._flights = keeper, tiers, flights
        self._delivery, self._now = delivery, keeper.clock.monotonic

    async def kept(self, call: Call) -> Landing:
        """What is kept, for a caller who wants nothing else. Raises NotKept, and counts a miss, where nothing is."""
        found = None
        if call.reason is None:
            found = self._keeper.recall(call, call.arrived) or await self._tiers.find(call, wait=False)
        if found is not None and call.takes(found):
            return found
        stats, call.misses["memory"] = call.function.stats, Reason.ONLY_IF_CACHED
        stats.passed[Source.BYPASS] += 1
        stats.add(call.misses, call.timings)
        raise NotKept

    def landed(self, call: Call) -> Landing | None:
        """What another call has kept since memory was asked: in another thread, or during a wait."""
        keeper = self._keeper
        return None if keeper.at(call) is None else keeper.recall(call, self._now(), link=False)

    def standing_in(self, call: Call) -> Landing | None:
        """What is kept past its TTL, where it may still stand in for a backend that failed (RFC 5861)."""
        slot, now, keeper = call.stale, self._now(), self._keeper
        if slot is None or now >= slot.ends + staleness(call, call.function.if_error):
            return None
        if not slot.resident and (call.function.in_memory or keeper.outdated(slot, None, call.since)):
            return None
        landing = keeper.landing(slot, Source.STALE, now)
        return landing if call.takes(landing) else None

    def may_wait(self, call: Call) -> bool:
        """Whether the answer may be kept after its caller has it, since nothing in this call needs it kept first."""
        function = call.function
        watched = (
            call.span is not None or function.stats.ledger is not None or function.comparison is not None
        )
        return (
            function.bare
            and call.parent is None
            and not watched
            and call.tightening is NOT_TIGHTENED
            and not self._tiers.asked_first(call)
        )

    def keep(self, call: Call, answer: Any, started: float) -> Landing:
        """Judge a backend's answer and copy it at once, before its caller can change it; then keep it, now or `later`.

        Where `call.sent_ahead` is set, a transport has sent the answer already and nobody can change it, so the copy is
        made later, too. `started`: when the backend was called, monotonic seconds.
        """
        now = self._now()
        landing = Landing(BACKEND, call)
        landing.answer = answer
        landing.seconds = call.timings["backend"] = now - started
        if call.left and not call.still(self._keeper.faults):
            # the function may have read it by then: in a queue of its own, or in a thread
            self._keeper.refuse(call, landing, Reason.CHANGED)
            self._tiers.let_go(call)
            return landing
        faults = self._keeper.faults
        # the answer is its caller's, whatever becomes of the copy
        failed = faults.attempt_now("keep", self._keep, call, landing, now)
        if failed is not None:
            landing.due = None
            if landing.slot is None:
                self._keeper.refuse(call, landing, failed)
            faults.attempt_now("keep", self._tiers.let_go, call)
        return landing

    def _keep(self, call: Call, landing: Landing, now: float) -> None:
        fit = None if call.sent_ahead else self._weigh(call, landing)
        if call.later or call.sent_ahead:
            landing.due = now
            self._keeper.deferred.put_off(call.digest, self._kept_later, call, landing, fit)
            if call.tightening is not NOT_TIGHTENED:  # else raw forms lead to the fresh one that it replaces
                self._keeper.deferred.settle()
            return
        if fit:
            self._keeper.place(call, landing, landing.answer, now)
        self._tiers.supersede(call, landing)
        if self._tiers.outlives(call) or call.function.comparison is not None:
            self._pass_on(call, landing)

    def _weigh(self, call: Call, landing: Landing) -> bool:
        """Whether an answer may be kept. What is too large is copied if others wait for it, and what was kept goes."""
        keeper, fit = self._keeper, self._keeper.weigh(call, landing)
        if landing.frozen is not None or (why := landing.stored) is Reason.NOT_KEEPABLE:
            return fit
        held = keeper.at(call) if why is Reason.OVERSIZE else None
        if held is not None and held.created - held.cost <= self._now() - landing.seconds:
            keeper.drop(call.function.memory, held)
        if self._flights.awaited(flight_key(call)):
            landing.frozen = keeper.copied(call, landing.answer)
        return fit

    def _pass_on(self, call: Call, landing: Landing) -> None:
        if self._tiers.outlives(call):
            self._tiers.keep(call, landing)
        if call.function.comparison is not None:
            call.function.comparison.see(call, landing, self._tiers)

    def _kept_later(self, call: Call, landing: Landing, fit: bool | None) -> None:
        """Keep an answer that `keep` put off. `fit`: whether it may be kept; None if that is yet to be judged."""
        made, landing.due = landing.due, None
        assert made is not None
        try:
            if self._weigh(call, landing) if fit is None else fit:
                self._keeper.place(call, landing, landing.answer, made)
            self._tiers.supersede(call, landing)
            self._pass_on(call, landing)
        finally:
            if landing.delivered:
                self._delivery.count(call, landing, True, made)

    async def report_wrong(self, entry: str, by: Scope) -> bool:
        """Drop the entry named by an outcome's id in every process, and keep it from the request that it was wrong for.

        False if it is gone, if it is another tenant's (not known of what only the store ever held), or if the principal
        of `by` reported too much (`Complaints`).
        """
        if (found := self._keeper.by_id(entry)) is None:
            return await self._wrong_away(entry, by)
        memory, slot = found
        if by.tenant is not None and self._keeper.tenant_of(slot.scope) != by.tenant:
            return False
        pair, dropped = self._tiers.reports.wrong(slot, asked_of(entry), by.principal)
        if dropped:
            self._keeper.drop(memory, slot)
        if pair is not None:
            await self._tiers.elsewhere.keep_apart(pair)
        if dropped:
            await self._tiers.forget(slot.digest)
        return dropped or pair is not None

    async def _wrong_away(self, entry: str, by: Scope) -> bool:
        """The same of what is in no memory here: it may be in the store, or a stream that is still read. Not if another
        answer took its place."""
        digest, shared = key_of(entry), self._tiers.shared
        if digest is None or of_another(entry, by.tenant):
            return False
        replaced = entry.startswith("e") and self._keeper.holds(digest)
        if replaced or not self._tiers.reports.may_take(b"", by.principal):
            return False
        self._keeper.declare_key(digest)
        stored = shared is not None and await shared.invalidations.forget(digest)
        return bool(await self._tiers.forget(digest)) or stored

    def record(self, call: Call, source: AsyncIterator[Any], started: float) -> Landing:
        """Record a stream that the backend answers with; it is kept when it has ended well."""
        landing = self._streaming(call)
        landing.recording = recording = Recording(source, **self._streamed(call, landing, started).hooks())
        recording.start(self._flights.starter)
        return landing

    def record_now(self, call: Call, source: Iterator[Any], started: float) -> Landing:
        """The same for the stream of a plain function, drawn by its readers' threads."""
        landing = self._streaming(call)
        landing.recording = Tee(source, **self._streamed(call, landing, started).hooks())
        return landing

    def _streaming(self, call: Call) -> Landing:
        landing = Landing(BACKEND, call)
        landing.entry = self._keeper.new_id()
        if call.build is not None:
            call.build.makers += 1
        return landing

    def _streamed(self, call: Call, landing: Landing, started: float) -> Streamed:
        leave_flight = partial(self._flights.close, flight_key(call), landing)
        return Streamed(call, landing, started, self._keeper, self._tiers, leave_flight)


def flight_key(call: Call) -> Hashable:
    """Calls with equal keys share one flight: the same request under the same tightening.

    A call that came after an invalidation has another key than those before it, and does not get their answer.
    """
    key = call.digest + (call.since << 128) if call.since else call.digest
    return key if call.tightening is NOT_TIGHTENED else (key, call.tightening)
