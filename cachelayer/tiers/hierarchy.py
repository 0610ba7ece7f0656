"""What lies beyond the process's memory: the shared store, similar answers, and the write-back to both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from ..exact.memory.table import Slot
from ..flow.attempt import Faults
from ..flow.background import Background
from ..flow.loops import whole_turn
from ..flow.portal import Portal
from ..flow.writeback import WriteBack
from ..keep.call import Call, Function, Landing
from ..keep.invalidation import Invalidation
from ..keep.keeper import Keeper
from ..keep.parts import built_on
from ..keep.recorder import Recorder
from ..keep.terms import compared
from ..protocols import Clock
from ..semantic.inflight import Flight, InFlight
from ..semantic.reported_pairs import ReportedPairs
from ..semantic.tier import SimilarTier
from ..types import Reason, Record, Source
from .elsewhere import Elsewhere, Indexed, Plain
from .learning import LEARNED, Learning
from .meaning import Meaning
from .reports import Reports
from .rides import Found, Rides
from .shadows import Shadows
from .shared import SharedTier
from .shortcuts import Shortcuts
from .warming import LOADING, Warming, Written

LINGER = 0.002
"""Seconds that an answer waits in the write-back for others to be written with."""


class Tiers:
    """The asynchronous tiers, in the order in which they are asked, and their write-back."""

    def __init__(
        self,
        *,
        clock: Clock,
        keeper: Keeper,
        shared: SharedTier | None,
        similar: SimilarTier | None,
        faults: Faults,
        portal: Portal,
        background: Background,
    ) -> None:
        self.clock, self.keeper, self.faults = clock, keeper, faults
        self.shared, self.similar = shared, similar
        self.shortcuts = Shortcuts(shared) if shared is not None and shared.recall is not None else None
        self.portal, self.background = portal, background
        self.writeback: WriteBack[Written] = WriteBack(self._write, linger=LINGER)
        self.recorder = Recorder(clock, faults, portal)
        self.elsewhere = Elsewhere()
        if shared is not None:
            shared.found = self._found
        self.shadows = Shadows(self.similar_to, self.recorder, faults, background, clock.monotonic)
        self.meaning = Meaning(self.similar_to, keeper, self.shadows, faults, clock)
        self._warming = Warming()
        self.every: list[SimilarTier] = []
        """The similar tier, and those of functions that bring vectors of their own."""
        self.inflight = similar.inflight if similar is not None else InFlight()
        self.rides = Rides(self.inflight, faults, clock)
        self.learning = Learning(self.meaning, self.rides, faults, self._findable)
        self.reported = similar.reported if similar is not None else ReportedPairs()
        self.reports = Reports(self.every, self.reported, clock.monotonic)
        if similar is not None:
            self.join(similar)

    def similar_to(self, function: Function) -> SimilarTier | None:
        """The similar tier that serves a function."""
        return self.similar if function.own is None else function.own

    def join(self, tier: SimilarTier) -> None:
        """Add a similar tier, such as that of a function with vectors of its own."""
        tier.inflight, tier.reported = self.inflight, self.reported
        tier.served, tier.now = self._begin, self.clock.monotonic
        self.every.append(tier)

    def may_answer(self, call: Call) -> bool:
        """Whether any tier here could answer the call."""
        return self.shared is not None or call.function.similar or self.elsewhere.awaits(call.digest)

    def outlives(self, call: Call) -> bool:
        """Whether the call's answer is to be stored outside the process, or found by meaning."""
        return self.shared is not None or call.function.similar or self.elsewhere.lasting

    def asked_first(self, call: Call) -> bool:
        """Whether a tier is asked before the backend: for a similar answer, or whether somebody is making this one."""
        if self.elsewhere.awaits(call.digest):
            return True
        return call.function.similar or (self.shared is not None and self.shared.leases(call))

    def _claimed(self, call: Call) -> Landing | None:
        """The call's own answer from before a restart, if its function was wrapped after the start."""
        if not self.elsewhere.claim(call):
            return None
        found = self.keeper.recall(call, self.clock.monotonic(), link=False)
        return None if found is None or found.source is Source.STALE else found

    async def find(self, call: Call, *, wait: bool = True, patient: bool = True) -> Landing | None:
        """The first tier's answer within the budgets, or None: see `call.misses`.

        `wait`: also take part in the fleet's single call, and serve riders; unless `patient`, take its lease but never
        wait for another process.
        """
        if call.tightening.no_cache:
            return None
        if (claimed := self._claimed(call)) is not None:
            return claimed
        self.elsewhere.listen(call.function.name)
        found: Found | None = await self._stored(call, riders=wait)
        if found is None and (tier := self.meaning.fit(call)) is not None:
            found = self.meaning.again(call, tier) or await self.meaning.find(call, tier, call.policy.budgets)
        return found if isinstance(found, Landing) else await self._elsewhere(call, patient) if wait else None

    async def find_or(self, call: Call, answer: Callable[[], Coroutine[Any, Any, Landing]]) -> Landing:
        """A similar answer, or the backend's, which starts when the similar tier overruns its budget."""
        if call.tightening.no_cache:
            return await answer()
        if (claimed := self._claimed(call)) is not None:
            return claimed
        self.writeback.resume(asyncio.get_running_loop())
        self.learning.queue.resume(asyncio.get_running_loop())
        if self.elsewhere.listen(call.function.name):
            await whole_turn()  # entries made elsewhere come in before the first request for them
        if (tier := self.meaning.fit(call)) is None:
            return await self._elsewhere(call) or await answer()
        if (again := self.meaning.again(call, tier)) is not None:
            return again

        async def alone() -> Landing:
            return await self._elsewhere(call) or await answer()

        async def miss() -> Found:
            call.misses.setdefault("similar", Reason.BUDGET)
            return await alone()

        try:
            won, similar = await self.rides.race(call, self.meaning.find(call, tier, None), miss)
            if similar and call.misses.pop("similar", None) is not None:
                call.function.stats.hedges_cancelled += 1
                self.let_go(call)
            landing = await self.rides.ride(call, won) or await alone() if isinstance(won, Flight) else won
        except BaseException:
            self.rides.landed(call, None)
            raise
        self.faults.attempt_now("ride", self.rides.landed, call, landing)
        return landing

    async def _stored(self, call: Call, *, riders: bool = True) -> Landing | None:
        return await self.shared.find(call, riders=riders) if self.shared is not None else None

    async def newer(self, call: Call) -> Landing | None:
        """A fresh answer in place of what is stale, or will be soon, if another process has made it or is making it."""
        held, found = self.keeper.at(call), await self._stored(call)
        fresh = found is not None and found.source is Source.REDIS and not found.repeats(held)
        return found if fresh else await self._elsewhere(call)

    async def _elsewhere(self, call: Call, patient: bool = True) -> Landing | None:
        """The answer that another process is making now, if it is worth waiting for."""
        shared = self.shared
        return await shared.lead_or_wait(call, patient) if shared and shared.leases(call) else None

    def keep(self, call: Call, landing: Landing) -> None:
        """Queue what was kept in memory for the other tiers; never waits."""
        if landing.slot is not None and self.outlives(call):
            if self.shared is not None:
                self.shared.invalidations.replace(call)
            self.portal.soon(self._offer, Written(call, landing.slot, made=True))
        else:
            self.let_go(call)

    def supersede(self, call: Call, landing: Landing) -> None:
        """An answer that was to be made anew and is not kept: what is kept in its place goes everywhere."""
        if landing.supersedes(call, self.keeper.at(call)):
            self.keeper.drop_digest(call.digest)
            if self.shared is not None:
                self.shared.invalidations.replace(call)
            self.portal.soon(partial(self.background.spawn, partial(self.forget, call.digest), owed=True))

    def forgives(self, call: Call, fault: MemoryError) -> bool:
        """Whether the fault is the cache's own, since the backend was not called yet; if so, it is counted."""
        self.let_go(call)
        if ours := not call.begun and call.reason is None:
            self.faults.report("lookup", fault)
        return ours

    def let_go(self, call: Call) -> None:
        """Nothing will be stored for this call: let those who wait for it elsewhere go on."""
        self.rides.findable(call)
        if call.lease is not None and self.shared is not None:
            self.portal.soon(self.shared.let_go, call)

    def _found(self, call: Call, landing: Landing, record: Record) -> None:
        """The store had the answer: let its raw form lead there from now on, and make it findable by meaning here."""
        if call.function.formed and self.shortcuts is not None:
            self.shortcuts.learn(call, record)
        self.elsewhere.listen(call.function.name)
        if landing.slot is not None and call.function.similar:
            self.faults.attempt_now("vector", compared, call)  # before its caller goes on
            self.portal.soon(self._offer, Written(call, landing.slot, False, record.principal))

    def _offer(self, item: Written) -> None:
        awaited = item.call.lease is not None
        if not self.writeback.offer(item, asyncio.get_running_loop(), awaited):
            self.let_go(item.call)
            if self.shared is not None:
                self.shared.invalidations.unwritten(item.call)

    def _begin(self) -> None:
        """A tier serves now: queue what was answered while it loaded."""
        for item in self._warming.take():
            item.late = True
            self._offer(item)

    def _loads(self, call: Call) -> SimilarTier | None:
        """The tier that must serve before a call's answer can be found by meaning or kept on the disk."""
        fit = self.meaning.unfit(call) is None
        return self.similar_to(call.function) if fit else self.similar if self.elsewhere.lasting else None

    async def _write(self, batch: Sequence[Written]) -> None:
        if self.shared is not None:
            await self.shared.write([(item.call, item.slot) for item in batch if item.made and not item.late])
        indexed, held, hangs = list[Indexed](), set[int](), False
        loading = any(tier.state in LOADING for tier in self.every)
        for number, item in enumerate(batch, 1):
            if loading and self._warming.holds(item, self._loads(item.call)):
                held.add(item.slot.id)
            elif self.learning.takes(item):
                continue
            elif item.call.function.similar and not hangs:
                one, hangs = await self.learning.keep(item)  # then the others do without, and are stored
                indexed += () if one is None else (one,)
            self.rides.findable(item.call)
            if number % LEARNED == 0:
                await asyncio.sleep(0)
        done = held.union(slot.id for _, _, slot in indexed)
        others = [(item.call, item.slot) for item in batch if item.made and item.slot.id not in done]
        await self._findable(batch, indexed, others)

    async def _findable(
        self, batch: Sequence[Written], indexed: Sequence[Indexed], others: Sequence[Plain] = ()
    ) -> None:
        """Of these answers some are findable by meaning now, and others are not."""
        await self.elsewhere.wrote(indexed, others, max(item.call.arrived for item in batch))
        for tier in self.every:
            if tier.due:
                self.background.spawn(tier.maintain)

    async def forget(self, digest: int) -> int:
        """An invalid answer left memory: drop it, with what was built on it, everywhere; returns how many went."""
        built = built_on(digest)
        gone = await self.keeper.forget(tags=built)
        if self.shared is not None:
            await self.shared.invalidations.forget(digest)
        return gone + await self.carry_out(self.keeper.declared(digest=digest, tags=built))

    async def carry_out(self, declared: Invalidation) -> int:
        """What was declared invalid has left memory, and must not come back with a restart; returns as `forget`."""
        await self.ready()
        return await self.elsewhere.forgotten(declared, physically=False)

    async def ready(self, *, physically: bool = False) -> None:
        """Before anything is declared invalid: see `Elsewhere.ready`."""
        await self.elsewhere.ready(physically=physically)

    def gone(self, slot: Slot) -> None:
        """A slot left memory: it is no longer a candidate."""
        self._warming.drop(slot)
        self.learning.drop(slot)
        for tier in self.every:
            tier.forget(slot.id)
        self.elsewhere.gone(slot)

    async def settle(self) -> None:
        """Wait until what was answered is stored, findable and shadow-checked."""
        self.keeper.deferred.settle()
        await self.writeback.drain()
        await self.background.settle()
        await self.writeback.drain()  # what waited for the model
        await self.learning.queue.drain()
        await self.recorder.drain()
