"""The path of a request, cheapest answer first; the only module that knows the order.

`Engine._path` is the path for coroutines, `_path_now` the same for plain functions in their caller's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from ..exact.answers.kinds import ATOMS
from ..exact.memory.slot import Slot
from ..flow.attempt import Faults
from ..flow.background import offload
from ..flow.loops import called_off, running_loop
from ..flow.portal import Portal
from ..flow.reentrancy import Alone, Itself
from ..flow.singleflight import SingleFlight
from ..keep.call import Call, Landing
from ..keep.keeper import Keeper
from ..keep.parts import Noting, take_failure
from ..keep.streams import is_async_stream, is_plain_stream
from ..keep.terms import begin
from ..protocols import Clock
from ..tiers.hierarchy import Tiers
from ..types import Outcome, Reason, Source
from .delivery import Delivery
from .keeping import Keeping, flight_key

T = TypeVar("T")
Deliver = Callable[[Call, Landing, bool], Any]
"""Makes what a caller gets of a landing, given the call and whether its caller led the flight."""
Serve = Callable[[Call], Coroutine[Any, Any, T]]
_VALUES = ATOMS | {dict, list, tuple}
"""Classes whose values are never streams: one look is enough."""
BYPASS, STALE = Source.BYPASS, Source.STALE
"""Each look at an enum's member costs 0.1 us in Python 3.11."""


class Engine:
    """Serves calls from the tiers in order; real misses go to the backend, one call a key."""

    def __init__(
        self, *, clock: Clock, keeper: Keeper, tiers: Tiers, faults: Faults, portal: Portal, noting: Noting
    ) -> None:
        self.clock, self.keeper, self.tiers, self.faults, self.portal = clock, keeper, tiers, faults, portal
        self.noting, self._now = noting, clock.monotonic
        self.flights = SingleFlight(clock)
        self.delivery = Delivery(clock, keeper, tiers.recorder)
        self.keeping = Keeping(keeper, tiers, self.flights, self.delivery)
        self.keep = self.keeping.keep
        self.serve: Serve[Outcome] = partial(self._path, self.delivery.outcome)
        """The answer and how it came to be."""
        self._bare = self.delivery.answer
        self.answer: Serve[Any] = partial(self._path, self._bare)
        """The answer alone."""
        self.landed: Serve[tuple[Outcome, Slot | None]] = partial(self._path, self.delivery.with_slot)
        """The outcome, and the entry that stands behind it."""
        self.handed: Serve[tuple[Outcome | None, Slot | None]] = partial(self._path, self.delivery.handed)
        """The same; no outcome where the caller was sent it (`Call.sent_ahead`), or it does not suit (`Call.suits`)."""

    async def _path(self, deliver: Deliver, call: Call) -> Any:
        """The path: memory, shared store, then in one flight a key: similar answers, backend."""
        function, shared = call.function, self.tiers.shared
        traced = function.tracing is not None and call.span is None
        if traced and (span := function.tracing.begin(call, plain=False)) is not None:
            with span:
                return await self._path(deliver, call)
        if call.kept_only:
            return deliver(call, await self.keeping.kept(call), True)
        if call.reason is not None:
            return deliver(call, await self._bypass(call), True)
        hit, key = self.keeper.recall(call, call.arrived), flight_key(call)
        if hit is None and shared is not None and key not in self.flights:
            asked = shared.ask(call)  # the request travels while the next lines run
            call.later = deliver is self._bare and self.keeping.may_wait(call)
            hit = await shared.find(call, asked=asked) or self.keeping.landed(call)
        if hit is not None:
            if hit.source is STALE and self._due(call, hit):
                self.refresh(call)
            return deliver(call, hit, True)
        late = self._lead if (first := self.tiers.asked_first(call)) else self._in_turn
        lead = late if first or shared is not None else self._answer
        try:
            ride = self.flights.ride(
                key, lead, call, function.rider_wait, function.flight_age, call.canonical
            )
            landing, led = ride if type(ride) is tuple else await ride  # type: ignore[misc]
        except Itself:
            call.reason = Reason.RECURSIVE
            return deliver(call, await self._bypass(call), True)
        except Alone:
            landing, led = await late(call), True
        except BaseException as fault:
            self.faults.attempt_now("leave", call.leave)
            if isinstance(fault, Exception) and not call.begun:
                take_failure(call, self.faults)
            raise
        if not led:
            self.keeper.deferred.settle()
        try:
            if (led and not landing.lent) or landing.shareable:
                return deliver(call, landing, led)
        except Alone:
            pass
        return deliver(call, await late(call), True)

    async def _lead(self, call: Call) -> Landing:
        """What the leader of a flight does where other tiers are asked before the backend."""
        try:
            return await self.tiers.find_or(call, partial(self._in_turn, call))
        except MemoryError as fault:
            if not self.tiers.forgives(call, fault):
                raise
        except BaseException:
            self.tiers.let_go(call)
            raise
        return await self._in_turn(call)

    async def _in_turn(self, call: Call) -> Landing:
        """A real miss after a wait; if its arguments changed meanwhile, for its own caller alone, if still there."""
        if call.still(self.faults):
            return await self._answer(call)
        if call.held:
            raise Alone
        self.tiers.let_go(call)
        call.reason = Reason.CHANGED
        return await self._bypass(call)

    async def _answer(self, call: Call) -> Landing:
        """A real miss: the backend's answer, kept or about to be."""
        begin(call, self.keeper.epoch, self.faults)
        started = self._now()
        call.function.stats.backend_calls += 1
        if call.function.comparison is not None:
            call.function.comparison.draw(call, self.faults)
        noted = self.noting.begin(call)
        try:
            answer = await call.invoke(*call.args, **call.kwargs)
            if type(answer) not in _VALUES:
                if is_async_stream(answer):
                    return await self._begun(call, self.keeping.record(call, answer, started))
                if call.function.plain and is_plain_stream(answer):  # made in a thread
                    return await self._begun(call, self.keeping.record_now(call, answer, started))
        except Exception:
            if (stale := self._stale(call)) is not None:
                return stale
            raise
        finally:
            self.noting.end(call.build, noted)
        if called_off():
            call.judged = answer, Reason.INCOMPLETE
        return self.keep(call, answer, started)

    def _called_now(self, call: Call, started: float) -> Any:
        """The backend's answer; a landing for a stream that is recorded, or for what stands in for a failure."""
        call.function.stats.backend_calls += 1
        noted = self.noting.begin(call) if call.reason is None else None
        try:
            answer = call.invoke(*call.args, **call.kwargs)
            streams = noted is not None and is_plain_stream(answer)
            return self.keeping.record_now(call, answer, started) if streams else answer
        except Exception:
            if (stale := self._stale(call)) is not None:
                return stale
            raise
        finally:
            if noted is not None:
                self.noting.end(call.build, noted)

    def _stale(self, call: Call) -> Landing | None:
        """After the backend's fault: a stale answer that may stand in for it (RFC 5861)."""
        call.function.stats.backend_errors += 1
        self.tiers.let_go(call)
        if (stale := self.keeping.standing_in(call)) is None:
            take_failure(call, self.faults)
        return stale

    async def _begun(self, call: Call, landing: Landing) -> Landing:
        """A stream's landing; or a stale answer's, if one may stand in and the stream fails before its first chunk."""
        if call.left and not call.still(self.faults):
            # it may answer what its caller made of the arguments since, and not what its riders asked
            landing.recording.leave(0)
            return Landing(Source.BACKEND, call)
        if call.stale is None or self.keeping.standing_in(call) is None:
            return landing
        failed = landing.recording.failed_at_once
        stands_in = await (offload(failed) if call.function.plain else failed())
        return (self.keeping.standing_in(call) if stands_in else None) or landing

    async def _bypass(self, call: Call) -> Landing:
        """The backend alone: nothing is read and nothing kept."""
        started = self.clock.monotonic()
        call.function.stats.backend_calls += 1
        try:
            answer = await call.invoke(*call.args, **call.kwargs)
        except Exception:
            if (stale := self._stale(call)) is not None:
                return stale
            raise
        return self._passed(call, answer, started)

    def _bypass_now(self, call: Call) -> Landing:
        started = self.clock.monotonic()
        answer = self._called_now(call, started)
        return answer if isinstance(answer, Landing) else self._passed(call, answer, started)

    def _passed(self, call: Call, answer: Any, started: float) -> Landing:
        call.timings["backend"] = self.clock.monotonic() - started
        call.misses["memory"] = reason = call.reason or Reason.BYPASS
        landing = Landing(BYPASS)
        landing.answer, landing.stored = answer, reason
        return landing

    def serve_now(self, call: Call) -> Outcome:
        """`serve` for a plain function."""
        return self._path_now(call, self.delivery.outcome)  # type: ignore[no-any-return]

    def answer_now(self, call: Call) -> Any:
        """`answer` for a plain function."""
        return self._path_now(call, self.delivery.answer)

    def _path_now(self, call: Call, deliver: Deliver) -> Any:
        """The path for a plain function, in its caller's thread; tiers that need a loop run on the portal's."""
        traced = call.function.tracing is not None and call.span is None
        if traced and (span := call.function.tracing.begin(call, plain=True)) is not None:
            with span:
                return self._path_now(call, deliver)
        if call.reason is not None:
            return deliver(call, self._bypass_now(call), True)
        if (hit := self.keeper.recall(call, call.arrived)) is not None:
            if hit.source is STALE and self._due(call, hit):
                self.portal.post(self.refresh, call.in_thread())
            return deliver(call, hit, True)
        function, lead = call.function, partial(self._lead_now, call)
        try:
            key, proof = flight_key(call), call.canonical
            landing, led = self.flights.ride_sync(key, lead, function.rider_wait, function.flight_age, proof)
        except Itself:
            call.reason = Reason.RECURSIVE
            return deliver(call, self._bypass_now(call), True)
        except Alone:
            landing, led = lead(), True
        except Exception:
            if not call.begun:
                take_failure(call, self.faults)
            raise
        try:
            if led or landing.shareable:
                return deliver(call, landing, led)
        except Alone:
            pass
        return deliver(call, lead(), True)

    def _lead_now(self, call: Call) -> Landing:
        if (hit := self.keeping.landed(call)) is not None:
            return hit
        if self.tiers.may_answer(call) and not self.portal.here:
            look = partial(self.tiers.find, call, patient=running_loop() is None)
            found = self.faults.attempt_now("lookup", lambda: self.portal.run(look()))  # it may be closed
            if isinstance(found, Landing):
                return found
            if not call.still(self.faults):
                call.reason = Reason.CHANGED
                return self._bypass_now(call)
        begin(call, self.keeper.epoch, self.faults)
        started = self.clock.monotonic()
        try:
            answer = self._called_now(call, started)
        except BaseException:
            self.tiers.let_go(call)
            raise
        if not isinstance(answer, Landing):
            return self.keep(call, answer, started)
        stale = None if answer.recording is None else self.keeping.standing_in(call)
        return answer if stale is None or not answer.recording.failed_at_once() else stale

    def _due(self, call: Call, hit: Landing) -> bool:
        """Whether this call refreshes the stale entry that it gets; if so, its arguments are held as they are now."""
        if not call.policy.pure or not call.takes(hit) or flight_key(call) in self.flights:
            return False
        self.faults.attempt_now("refresh", call.hold)
        return True

    def refresh(self, call: Call) -> None:
        """Refresh a stale entry on the running loop, unless a flight for it is under way."""
        age, lead, call.refreshes = call.function.flight_age, partial(self._refreshed, call), True
        self.flights.launch(flight_key(call), lead, max_age=age, proof=call.canonical)

    async def _refreshed(self, call: Call) -> Landing:
        """The backend's answer, or that of the process that refreshes the entry for all."""
        try:
            landing = await self.tiers.newer(call) or await self._in_turn(call)
        except BaseException:
            self.tiers.let_go(call)
            raise
        if landing.recording is not None:
            self.tiers.background.spawn(landing.recording.read_off(), owed=True)
        return self.delivery.refreshed(call, landing)
