"""Requests whose answers are being made now: a near-duplicate waits for one instead of starting a call of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from ..flow.loops import running_loop
from ..flow.reentrancy import WITHIN
from ..protocols import Decider, Supposing
from ..types import Candidate, Decision, Query

MOST = 128
"""Flights of one partition that a newcomer is compared with; what is beyond does without."""
NEAREST = 3
LEAST = 0.5
"""Similarity from which a flight is worth judging: the rules that decide are stricter by far."""


class Flight:
    """One answer in the making. `landing` is the engine's own; None if there will be none to share."""

    __slots__ = ("generation", "id", "landing", "loop", "made", "partition", "query", "waiters")

    def __init__(
        self, id: int, partition: bytes, query: Query, loop: asyncio.AbstractEventLoop, generation: int
    ) -> None:
        self.id, self.partition, self.query, self.loop = id, partition, query, loop
        self.generation = generation
        self.made = (None, *WITHIN.get())[-1]
        """The call that makes it."""
        self.waiters: list[asyncio.Future[Any]] | None = []
        """None once it landed."""
        self.landing: Any = None

    def wait(self) -> asyncio.Future[Any]:
        """What the flight brings, for one rider on its loop."""
        waiter: asyncio.Future[Any] = self.loop.create_future()
        if self.waiters is None:  # its own caller begins to read first
            self.loop.call_soon(_tell, waiter, self.landing)
        else:
            self.waiters.append(waiter)
        return waiter

    def land(self, landing: Any) -> None:
        """Tell all riders; nothing where it landed before."""
        waiters, self.waiters = self.waiters, None
        if waiters is None:
            return
        self.landing = landing
        for waiter in waiters:
            _tell(waiter, landing)


def _tell(waiter: asyncio.Future[Any], landing: Any) -> None:
    if not waiter.done():
        waiter.set_result(landing)


class InFlight:
    """The flights of all loops; a loop's requests see that loop's alone. Ids are negative, so they are no entries'."""

    def __init__(self) -> None:
        self._flights: dict[tuple[int, bytes], dict[int, Flight]] = {}
        self._ids = count(-2, -1)
        self.joined = 0

    def __len__(self) -> int:
        return sum(map(len, self._flights.values()))

    def begin(self, partition: bytes, query: Query, generation: int = 0) -> Flight | None:
        """A flight that others may join until `end`; None if there are too many. `generation`: of the model, whose
        vectors are compared with no other's."""
        loop = asyncio.get_running_loop()
        here = self._flights.setdefault((id(loop), partition), {})
        if len(here) >= MOST:
            return None
        number = next(self._ids)  # no other loop's, whatever its thread does meanwhile
        flight = here[number] = Flight(number, partition, query, loop, generation)
        return flight

    def end(self, flight: Flight) -> None:
        """Nobody joins any more: its entry is findable now, or there is none. Answers are written on any loop."""
        if flight.loop is running_loop():
            flight.land(None)
        else:
            with suppress(RuntimeError):  # closed
                flight.loop.call_soon_threadsafe(flight.land, None)
        place = (id(flight.loop), flight.partition)
        here = self._flights.get(place, {})
        here.pop(flight.id, None)
        if not here:
            self._flights.pop(place, None)

    def near(self, partition: bytes, query: Query, generation: int = 0) -> list[tuple[Candidate, Flight]]:
        """The nearest flights of the running loop, most similar first; none of a call that this one is part of."""
        here = self._flights.get((id(asyncio.get_running_loop()), partition))
        if not here:
            return []
        within = WITHIN.get()
        up = list(here.values())  # whichever loop writes an answer ends its flight
        flights = [one for one in up if one.generation == generation and one.made not in within]
        if not flights:
            return []
        scores = np.stack([flight.query.vector for flight in flights]) @ query.vector
        best = [(score, flights[at]) for at, score in enumerate(scores.tolist()) if score >= LEAST]
        best.sort(key=lambda pair: -pair[0])
        return [
            (Candidate(flight.id, score, flight.query.text, None, flight.query.turns), flight)
            for score, flight in best[:NEAREST]
        ]

    def judge(
        self,
        decider: Decider,
        function: str,
        query: Query,
        near: Sequence[tuple[Candidate, Flight]],
        entries: Sequence[Candidate],
        max_error_rate: float,
    ) -> tuple[Flight | None, Decision]:
        """The flight to join by the decider's rules, if any: each is an answer of its own, known for this moment.

        It stands among the nearest `entries`, none of which may be served, as it will when it is one. Its answer is
        checked by nobody, as it is no entry's yet. `before` stays the request itself, under which the verifier
        remembers what it judged of a pair.
        """
        partition, query = near[0][1].partition, replace(query, checkable=False, before=query.first)
        flights = [(one.entry, flight.query) for one, flight in near]
        found = sorted([*(one for one, _ in near), *entries], key=lambda one: -one.similarity)
        supposing = decider.supposing if isinstance(decider, Supposing) else partial(_stored, decider)
        with supposing(function, partition, query, flights):
            decision = decider.preview(function, partition, query, found, max_error_rate)
            if decision.entry in dict(flights):
                decision = decider.decide(function, partition, query, found, max_error_rate)  # counted
        chosen = next((flight for _, flight in near if flight.id == decision.entry), None)
        self.joined += chosen is not None
        return chosen, decision


@contextmanager
def _stored(
    decider: Decider, function: str, partition: bytes, query: Query, flights: Sequence[tuple[int, Query]]
) -> Iterator[None]:
    """`Supposing.supposing` for a decider without it: meanwhile the flights are stored as entries."""
    try:
        for entry, flight in flights:
            decider.stored(entry, function, partition, flight, f"\0in flight {entry}")
        yield
    finally:
        for entry, _ in flights:
            decider.forget(entry)
