"""How many requests a replica gets, and which wait, in what order, for how long. Pure: time is handed in.

TensorRT-LLM servers queue without bound and never push back, so the bound is kept here. The limit follows
AIMD (Chiu and Jain 1989) on the share of requests over their latency budget, with a slow start; the queue is
earliest deadline first within a priority."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cachelayer.checks import number, share, whole
from cachelayer.errors import ConfigurationError

ShedReason = Literal["deadline", "wait", "queue", "expired", "brownout"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitPolicy:
    """Budgets in seconds. `ttft` counts from dispatch to the first token; `tpot` is seconds a token after
    it."""

    initial: int = 8
    floor: int = 1
    cap: int = 256
    ttft: float = 0.4
    tpot: float | None = None
    tolerated: float = 0.2
    """Share of a window's requests that may exceed their budget before the limit falls."""
    window: float = 1.0
    samples: int = 8
    decrease: float = 0.9
    collapse: float = 0.5
    """Factor after a refusal or a lost connection."""

    def __post_init__(self) -> None:
        for name in ("floor", "initial", "cap", "samples"):
            whole(name, getattr(self, name), 1)
        if not self.floor <= self.initial <= self.cap:
            raise ConfigurationError(
                "initial", self.initial, f"give {self.floor} (floor) to {self.cap} (cap)"
            )
        for name in ("decrease", "collapse"):
            number(name, getattr(self, name), above=True, unit="a factor")
            if getattr(self, name) >= 1:
                raise ConfigurationError(name, getattr(self, name), "give a factor between 0 and 1")
        share("tolerated", self.tolerated)
        for name in ("ttft", "window", *(("tpot",) if self.tpot is not None else ())):
            number(name, getattr(self, name), above=True, unit="seconds")


class AdaptiveLimit:
    """The concurrency that one replica bears within its latency budgets."""

    __slots__ = ("_busy", "_late", "_policy", "_seen", "_slow_start", "_until", "value")

    def __init__(self, policy: LimitPolicy) -> None:
        self._policy = policy
        self.value = float(policy.initial)
        self._slow_start = True
        self._seen = self._late = 0
        self._busy = False
        self._until = -math.inf

    def first(self, ttft: float, inflight: int, now: float) -> None:
        self._sample(ttft > self._policy.ttft, inflight, now)

    def finished(self, tpot: float, inflight: int, now: float) -> None:
        if self._policy.tpot is not None:
            self._sample(tpot > self._policy.tpot, inflight, now)

    def refused(self, now: float) -> None:
        """The server refused or was lost: fall fast, at most once a window."""
        if now >= self._until - self._policy.window / 2:
            self._set(self.value * self._policy.collapse)
            self._restart(now)

    def begin(self) -> None:
        """The server is back: what it bore before it was lost says nothing against it."""
        self._slow_start = True
        self._set(max(self.value, self._policy.initial))

    def _sample(self, late: bool, inflight: int, now: float) -> None:
        if self._until == -math.inf:
            self._restart(now)
        self._seen += 1
        self._late += late
        self._busy = self._busy or inflight >= 0.9 * self.value
        if now < self._until or self._seen < self._policy.samples:
            return
        if self._late > self._policy.tolerated * self._seen:
            self._slow_start = False
            self._set(self.value * self._policy.decrease)
        elif self._busy:
            self._set(self.value * 1.5 if self._slow_start else self.value + max(1.0, 0.02 * self.value))
        self._restart(now)

    def _set(self, value: float) -> None:
        self.value = min(max(value, self._policy.floor), self._policy.cap)

    def _restart(self, now: float) -> None:
        self._seen = self._late = 0
        self._busy = False
        self._until = now + self._policy.window


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """A kind of work. `reserve` is the share of all slots that only this lane may use; `max_wait` in
    seconds."""

    reserve: float
    max_wait: float
    max_queue: int = 1024

    def __post_init__(self) -> None:
        share("reserve", self.reserve)
        if self.reserve == 1:
            raise ConfigurationError("reserve", self.reserve, "give a share below 1")
        number("max_wait", self.max_wait, above=True, unit="seconds")
        whole("max_queue", self.max_queue, 0)


LANES: Mapping[str, Lane] = {
    "interactive": Lane(reserve=0.3, max_wait=1.0),
    "generation": Lane(reserve=0.2, max_wait=10.0),
    "embedding": Lane(reserve=0.1, max_wait=1.0),
    "batch": Lane(reserve=0.05, max_wait=600.0, max_queue=16_384),
}


@dataclass(slots=True, eq=False)
class Ticket:
    """A request before the gate. `deadline` in the caller's clock, infinity for none."""

    lane: str
    priority: float
    deadline: float
    arrived: float
    payload: Any = None
    started: float = math.nan
    gone: bool = False
    """Its caller left while it waited: `Gate.forget`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A ticket that may start now (`reason` None) or was shed."""

    ticket: Ticket
    reason: ShedReason | None = None
    retry_after: float = 0.0


@dataclass(slots=True)
class _LaneState:
    lane: Lane
    queue: list[tuple[float, float, int, Ticket]] = field(default_factory=list)
    gone: int = 0
    """Of these, whose callers have left."""
    inflight: int = 0
    hold: float = 0.0
    """Smoothed seconds a request keeps its slot."""

    @property
    def waiting(self) -> int:
        return len(self.queue) - self.gone

    def prune(self) -> bool:
        """Drop who left from the head of the queue, and everywhere once they are the most; whether anybody waits."""
        if self.gone > self.waiting:
            self.queue = [entry for entry in self.queue if not entry[3].gone]
            self.gone = 0
            heapq.heapify(self.queue)
        while self.queue and self.queue[0][3].gone:
            heapq.heappop(self.queue)
            self.gone -= 1
        return bool(self.queue)


class Gate:
    """Admits at most `slots` requests, each lane sure of its reserve. The caller starts what `arrive` and
    `turn` say."""

    def __init__(self, lanes: Mapping[str, Lane] = LANES) -> None:
        reserves = {name: lane.reserve for name, lane in lanes.items()}
        if sum(reserves.values()) > 1:
            raise ConfigurationError("reserve", reserves, "give shares that add up to at most 1")
        self._lanes = {name: _LaneState(lane) for name, lane in lanes.items()}
        self._shared = 1.0 - sum(lane.reserve for lane in lanes.values())
        self._order = itertools.count()
        self.shed: dict[tuple[str, str], int] = {}

    def arrive(self, ticket: Ticket, slots: float, now: float) -> Verdict | None:
        """Start or shed the ticket at once, or None: it waits for its `turn`."""
        state = self._lanes[ticket.lane]
        if not state.prune() and self._room(state, slots):
            return self._start(state, ticket, now)
        wait = self.expected_wait(ticket.lane, slots)
        if state.waiting >= state.lane.max_queue:
            return self._shed(ticket, "queue", wait)
        if wait > min(ticket.deadline - now, state.lane.max_wait):
            wait = self.expected_wait(ticket.lane, slots, ticket)
        if now + wait > ticket.deadline:
            return self._shed(ticket, "deadline", wait)
        if wait > state.lane.max_wait:
            return self._shed(ticket, "wait", wait)
        heapq.heappush(state.queue, (-ticket.priority, ticket.deadline, next(self._order), ticket))
        return None

    def turn(self, slots: float, now: float) -> Iterator[Verdict]:
        """What may start now, most urgent first, and what waited too long. Call after a `leave` and with
        time."""
        while True:
            heads = [state for state in self._lanes.values() if state.prune() and self._room(state, slots)]
            if not heads:
                return
            state = min(heads, key=lambda s: s.queue[0][:3])
            ticket = heapq.heappop(state.queue)[3]
            late = now > min(ticket.deadline, ticket.arrived + state.lane.max_wait)
            yield (
                self._shed(ticket, "expired", self.expected_wait(ticket.lane, slots))
                if late
                else self._start(state, ticket, now)
            )

    def leave(self, ticket: Ticket, now: float) -> None:
        """A started request is over."""
        state = self._lanes[ticket.lane]
        state.inflight -= 1
        held = now - ticket.started
        state.hold = held if state.hold == 0.0 else 0.9 * state.hold + 0.1 * held

    def forget(self, ticket: Ticket) -> None:
        """The caller of a queued ticket left."""
        ticket.gone = True
        self._lanes[ticket.lane].gone += 1

    def expected_wait(self, lane: str, slots: float, ticket: Ticket | None = None) -> float:
        """Seconds until a request that comes now would start, from the lane's queue and mean holding time; of the queue
        only those count that go before `ticket`, if it is given."""
        state = self._lanes[lane]
        before = state.waiting
        if ticket is not None:
            place = -ticket.priority, ticket.deadline
            before = sum(entry[:2] <= place and not entry[3].gone for entry in state.queue)
        others = sum(s.inflight for s in self._lanes.values() if s is not state)
        usable = max(
            1.0, min(slots - others, slots * (state.lane.reserve + self._shared)), slots * state.lane.reserve
        )
        return (before + 1) * state.hold / usable

    def max_wait(self, lane: str) -> float:
        return self._lanes[lane].lane.max_wait

    def refuse(self, ticket: Ticket, reason: ShedReason, wait: float) -> Verdict:
        """Shed a ticket that is not queued, for a reason that the gate does not know by itself."""
        return self._shed(ticket, reason, wait)

    def queued(self, lane: str | None = None) -> int:
        return sum(s.waiting for n, s in self._lanes.items() if lane in (None, n))

    def inflight(self, lane: str | None = None) -> int:
        return sum(s.inflight for n, s in self._lanes.items() if lane in (None, n))

    @property
    def lanes(self) -> tuple[str, ...]:
        return tuple(self._lanes)

    def _room(self, state: _LaneState, slots: float) -> bool:
        """Within the lane's own reserve, or in what all share."""
        slots = max(1.0, slots)
        if state.inflight < math.floor(state.lane.reserve * slots):
            return True
        if self.inflight() >= math.floor(slots):
            return False
        borrowed = sum(max(0.0, s.inflight - s.lane.reserve * slots) for s in self._lanes.values())
        return borrowed < max(1.0, self._shared * slots)

    def _start(self, state: _LaneState, ticket: Ticket, now: float) -> Verdict:
        ticket.started = now
        state.inflight += 1
        return Verdict(ticket)

    def _shed(self, ticket: Ticket, reason: ShedReason, wait: float) -> Verdict:
        key = (ticket.lane, reason)
        self.shed[key] = self.shed.get(key, 0) + 1
        return Verdict(ticket, reason, max(1.0, wait))
