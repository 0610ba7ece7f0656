"""The shared tier as the path uses it: budgets, breaker, leases, write-behind, and news from other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import StoreFault
from ..exact.memory.table import Slot
from ..exact.redis.recall import Recall
from ..exact.wire.codec import Codec
from ..flow.attempt import Faults
from ..flow.background import Background
from ..flow.breaker import CLOSED, Breaker
from ..flow.waiting import within
from ..keep.call import Call, Landing
from ..keep.keeper import Keeper
from ..keep.terms import staleness
from ..protocols import Clock, Lease, Store
from ..types import Reason, Record
from .invalidations import Invalidations
from .records import record_of

LEASE = 10.0
"""Seconds after which the lease of a dead leader expires; a living one renews it."""
SLOW = 0.005
"""Seconds of backend time from which another process's call is worth waiting for."""
STEP = 8
"""Answers encoded in one turn of the loop."""
WRITE_BUDGET = 5.0
"""Seconds that one batch of writes may take in the background."""


class SharedTier:
    """One store behind one breaker. What is slow, broken or wrong becomes a reason; no fault reaches a caller."""

    def __init__(
        self,
        store: Store,
        codec: Codec,
        *,
        clock: Clock,
        keeper: Keeper,
        faults: Faults,
        background: Background,
    ) -> None:
        self.store, self.codec = store, codec
        self.clock, self.keeper, self.faults, self.background = clock, keeper, faults, background
        self.breaker = Breaker(clock)
        self.invalidations = Invalidations(
            store, self.breaker, clock=clock, keeper=keeper, faults=faults, background=background
        )
        self.listen = self.invalidations.listen
        self.reading, self.decoding = faults.guard("store"), faults.guard("decode")
        self.recall: Recall | None = getattr(store, "recall", None)
        self.get: Callable[..., Any] = store.get if getattr(store, "bounded", False) else self._bounded
        self._ask: Callable[[bytes, float], Any] | None = getattr(store, "ask", None)
        self.found: Callable[[Call, Landing, Record], None] = lambda call, landing, record: None
        """Called with what was found."""

    async def start(self) -> None:
        """Connect; if that fails, the store keeps trying, and lookups are misses with a reason."""
        self.listen()
        await self.faults.attempt("store", self.store.start(), WRITE_BUDGET)
        sync = getattr(self.store, "sync", None)
        if (
            sync is not None
        ):  # old invalidations, new only to this process, must not count against answers under way
            await self.faults.attempt("store", sync(), WRITE_BUDGET)
            await asyncio.sleep(0)

    def reset(self) -> None:
        """After a fork, nobody here listens yet, and connections are the parent's."""
        getattr(self.store, "reset", lambda: None)()
        self.invalidations.listening.reset()

    # reading -----------------------------------------------------------------------------------------------------

    def ask(self, call: Call) -> Any:
        """Send the request of a later `find` now, so that other work can be done while it travels.

        Returns what to give `find` as `asked`; None if `find` must ask by itself.
        """
        ask = self._ask
        settled = (
            call.looked is not None or call.tightening.no_cache or self.invalidations.listening.loop is None
            or call.digest in self.invalidations.replaced
        )  # fmt: skip
        if ask is None or settled or call.deadline is not None or self.breaker.state is not CLOSED:
            return None
        try:
            return ask(call.digest.to_bytes(16, "big"), call.function.store_budget)
        except StoreFault:  # `find` asks again and hears of it
            return None

    async def find(self, call: Call, *, riders: bool = False, asked: Any = None) -> Landing | None:
        """The answer that any process left for exactly this request, or None with the reason in `call.misses`.

        `riders`: others may need answers made from it. `asked`: what `ask` returned.
        """
        self.listen()
        found: Landing | Reason
        if call.tightening.no_cache:
            found = Reason.NO_CACHE
        elif call.looked is not None:
            found, call.looked = call.looked, None
        elif call.digest in self.invalidations.replaced:
            found = Reason.INVALIDATED
        elif asked is None and not self.breaker.allow():
            self.invalidations.settle()
            found = Reason.BREAKER_OPEN
        else:
            started, done, record = self.clock.monotonic(), False, None
            get = self.get if call.deadline is None else self._bounded  # a deadline makes a budget of its own
            try:
                with self.reading:
                    if asked is None or await asked[0] is not None:
                        key, more = call.digest.to_bytes(16, "big"), () if asked is None else (asked,)
                        record = await get(key, call.canonical, self._budget(call), *more)
                    done = True
            except asyncio.CancelledError:
                self.breaker.abandoned()
                raise
            call.timings["store"] = self.clock.monotonic() - started
            found = self._landing(call, record, riders) if done else self.failed(self.reading.reason)
        if isinstance(found, Landing):
            assert record is not None
            self.found(call, found, record)
            return found
        call.misses[self.store.name] = found
        return None

    def failed(self, reason: Reason) -> Reason:
        """Report to the breaker why a read gave nothing; returns the reason."""
        if reason is Reason.BUDGET:
            self.breaker.overran()
        elif reason is Reason.FAULT:
            self.breaker.failure()
        else:
            self.breaker.success()
        return reason

    async def _bounded(self, key: bytes, canonical: bytes, budget: float | None) -> Record | None:
        """`Store.get` within a budget that the store does not enforce itself."""
        try:
            return await within(budget, self.store.get(key, canonical))
        except TimeoutError:
            raise StoreFault("the store took longer than the budget", Reason.BUDGET) from None

    def _landing(self, call: Call, record: Record | None, riders: bool) -> Landing | Reason:
        self.breaker.success()
        if not self.invalidations.vouched:  # any more, as it was when this was asked for
            self.listen()
            return Reason.BREAKER_OPEN
        if record is None:
            return Reason.ABSENT
        now = self.clock.time()
        age = call.tightening.max_age
        if age is not None and now - record.created > age:
            return Reason.EXPIRED
        late = now - record.fresh_until
        if late >= call.function.outlasts:
            return Reason.EXPIRED
        with self.decoding:
            answer = (call.function.codec or self.codec).decode(record.payload)
            landing = self.keeper.brought(call, record, answer, now, riders=riders)
            if late < staleness(call, call.function.revalidate):
                return landing
            call.stale = landing.slot or self.keeper.came(
                call, record, answer, now
            )  # in case the backend fails
            return Reason.EXPIRED
        return self.decoding.reason

    def _budget(self, call: Call) -> float:
        """Seconds that a caller may wait for the store: its budget, or what is left of its deadline."""
        budget = call.function.store_budget
        if call.deadline is None:
            return budget
        return max(min(budget, call.deadline - self.clock.monotonic()), 0.0)

    # one call in the fleet ---------------------------------------------------------------------------------------

    def leases(self, call: Call) -> bool:
        """Whether the backend is slow enough for another process's call to be worth waiting for."""
        typical = call.function.stats.backend_mean
        return self.breaker.state is CLOSED and (typical is None or typical >= SLOW)

    async def lead_or_wait(self, call: Call, patient: bool = True) -> Landing | None:
        """Take the lease for a call; or, if `patient`, wait for its holder's answer. None: this process must call.

        What the call has waited for another one in this process counts.
        """
        key = call.digest.to_bytes(16, "big")
        budget = self._budget(call)
        lease = await self.faults.attempt("lease", self.store.acquire(key, LEASE), budget)
        if lease is not None:
            call.lease = None if isinstance(lease, Reason) else lease
            return None
        until = call.arrived + call.function.rider_wait
        patience = min(until, until if call.deadline is None else call.deadline) - self.clock.monotonic()
        if not patient or patience <= 0:
            return None
        await self.faults.attempt("lease", self.store.wait(key, patience), patience + 1.0)
        call.looked = None
        return await self.find(call, riders=True)

    def let_go(self, call: Call) -> None:
        """Release the call's lease in the background, so that those who wait for it go on."""
        lease, call.lease = call.lease, None
        if lease is not None:  # otherwise it would be renewed as long as this process lives
            self.background.spawn(lambda: self._release(lease), owed=True)

    async def _release(self, lease: Lease) -> None:
        await self.faults.attempt("lease", lease.release(), WRITE_BUDGET)

    # writing -----------------------------------------------------------------------------------------------------

    async def write(self, items: Sequence[tuple[Call, Slot]]) -> None:
        """Store what was kept in memory, then let those who wait for it go on."""
        records: list[Record] = []
        stored: set[bytes] = set()
        for at, (call, slot) in enumerate(items):
            if at and at % STEP == 0:
                await asyncio.sleep(0)
            record = None
            if self.keeper.travels(call, slot):
                record = self.faults.attempt_now("encode", record_of, call, slot, self.keeper, self.codec)
            if isinstance(record, Reason):
                call.function.stats.kept_out[record] += 1
            elif record is not None:
                records.append(record)
        if records and self.breaker.allow():
            leases = [call.lease for call, _ in items if call.lease is not None]
            done = await self.faults.attempt("store", self.store.put(records, leases), WRITE_BUDGET)
            if not isinstance(done, Reason):
                self.breaker.success()
                refused = type(done) is int and done < len(records)  # which of them, nobody says
                stored = set() if refused else {record.key for record in records}
            elif done is Reason.OVERLOAD:
                self.breaker.abandoned()  # a full server still answers reads
            else:
                self.breaker.failure()
        for call, _ in items:
            self.let_go(call)
        await self.invalidations.superseded((call for call, _ in items), stored)

    def stats(self) -> dict[str, Any]:
        """State of breaker and store."""
        store: dict[str, Any] = getattr(self.store, "stats", dict)()
        shown = {"breaker": str(self.breaker.state), "breaker_opened": self.breaker.opened, "store": store}
        return {
            **shown,
            "listening": self.invalidations.listening.loop is not None,
            "owed": self.invalidations.owed,
        }

    async def aclose(self) -> None:
        """Close this loop's connections."""
        await self.faults.attempt("store", self.store.aclose(), WRITE_BUDGET)
