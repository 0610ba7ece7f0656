"""Lets near-duplicates of a request in flight wait for its answer, by the rules that decide hits."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from ..flow.attempt import Faults
from ..flow.race import race
from ..keep.call import Call, Landing
from ..protocols import Clock
from ..semantic.inflight import Flight, InFlight
from ..types import Reason, Source

Found = Landing | Flight


class Rides:
    """Lets riders wait for a flight, and tells them when it has landed."""

    def __init__(self, flights: InFlight, faults: Faults, clock: Clock) -> None:
        self._flights, self._faults, self._clock = flights, faults, clock

    def head_start(self, call: Call) -> float:
        """Seconds that the similar tier has before the backend is called as well."""
        budgets = call.policy.budgets
        head_start = float(budgets.embed) + float(budgets.search) + float(budgets.verify)  # type: ignore[arg-type]
        if call.deadline is not None:
            head_start = min(head_start, max(call.deadline - self._clock.monotonic(), 0.0))
        return head_start

    def race(
        self,
        call: Call,
        lookup: Coroutine[Any, Any, Found | None],
        miss: Callable[[], Coroutine[Any, Any, Found]],
    ) -> Coroutine[Any, Any, tuple[Found, bool]]:
        """What `lookup` finds within its head start, else whichever answers first; and whether it was `lookup`."""
        return race(lookup, miss, self.head_start(call), unread)

    async def ride(self, call: Call, flight: Flight) -> Landing | None:
        """The flight's answer as this caller's own; None if it has none to share or takes too long."""
        patience = call.function.rider_wait
        if call.deadline is not None:
            patience = min(patience, max(call.deadline - self._clock.monotonic(), 0.0))
        landing: Any = await self._faults.attempt("ride", flight.wait(), patience)
        if (why := self._unfit(call, landing)) is not None:
            call.misses["similar"] = why
            return None
        decision = call.similar.decision
        own = Landing(Source.COALESCED)
        own.frozen, own.recording, own.slot = landing.frozen, landing.recording, landing.slot
        own.entry, own.lent = landing.entry, True
        own.seconds, own.match, own.build = landing.seconds, "similar", landing.build
        own.digest, own.tags = landing.digest, landing.tags
        own.similarity, own.confidence = decision.similarity, decision.confidence
        return own

    def _unfit(self, call: Call, landing: Any) -> Reason | None:
        """Why a flight's answer cannot be shared with this call; None if it can."""
        if isinstance(landing, Reason):
            return landing
        if not isinstance(landing, Landing):
            return Reason.ABSENT
        if landing.epoch < call.since:  # begun before an invalidation that precedes this call
            return Reason.INVALIDATED
        # it may have landed some time ago, if indexing is late
        if landing.slot is not None and landing.slot.fresh_until <= self._clock.monotonic():
            return Reason.EXPIRED
        return None if landing.shareable else Reason.ABSENT

    def landed(self, call: Call, landing: Landing | None) -> None:
        """The call has its answer, or none; newcomers may still join until its entry is findable."""
        flight = _flight_of(call)
        if flight is not None:
            flight.land(landing)
            if landing is None or (landing.slot is None and landing.recording is None):
                self._flights.end(flight)

    def findable(self, call: Call) -> None:
        """The entry is findable now, or never will be."""
        flight = _flight_of(call)
        if flight is not None:
            self._flights.end(flight)


def _flight_of(call: Call) -> Flight | None:
    flight: Flight | None = call.similar.flight if call.similar is not None else None
    return flight


def unread(landing: Landing | Flight) -> None:
    """Stop a stream that nobody will read."""
    recording = landing.recording if isinstance(landing, Landing) else None
    if recording is not None:
        recording.leave(0)
