"""Limits, lanes, deadlines and the surge guard: pure, so that time is whatever a test says."""

from __future__ import annotations

import math
from typing import Any

import pytest
from cachelayer.adapters.tensorrt_llm.admission import (
    LANES,
    AdaptiveLimit,
    Gate,
    Lane,
    LimitPolicy,
    Ticket,
    Verdict,
)
from cachelayer.adapters.tensorrt_llm.brownout import Brownout, BrownoutPolicy
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.errors import ConfigurationError


def ticket(
    lane: str = "interactive", priority: float = 0.5, deadline: float = math.inf, at: float = 0.0
) -> Ticket:
    return Ticket(lane, priority, deadline, at)


def serve(limit: AdaptiveLimit, capacity: int, seconds: int) -> float:
    """A server that is on time up to `capacity` requests at once, under a full load. The mean limit at the
    end."""
    values = []
    for second in range(seconds):
        inflight = int(limit.value)
        for i in range(max(10, inflight)):
            late = inflight > capacity
            limit.first(1.0 if late else 0.1, inflight, second + i / max(10, inflight))
        values.append(limit.value)
    return sum(values[-20:]) / 20


@pytest.mark.parametrize("capacity", [2, 20, 150])
def test_the_limit_finds_what_the_server_bears(capacity: int) -> None:
    assert serve(AdaptiveLimit(LimitPolicy()), capacity, 200) == pytest.approx(capacity, rel=0.2, abs=1.5)


def test_the_limit_does_not_grow_without_demand() -> None:
    limit = AdaptiveLimit(LimitPolicy())
    for second in range(100):
        for i in range(10):
            limit.first(0.01, 1, second + i / 10)
    assert limit.value == 8


def test_a_refusal_halves_the_limit_once_a_window() -> None:
    limit = AdaptiveLimit(LimitPolicy(initial=64))
    for i in range(10):
        limit.refused(10 + i / 100)
    assert limit.value == 32
    limit.refused(20.0)
    assert limit.value == 16


samples = st.lists(
    st.tuples(st.sampled_from(["first", "finished", "refused"]), st.floats(0, 5), st.integers(0, 300))
)


@given(samples)
def test_the_limit_stays_between_its_floor_and_its_cap(history: list[tuple[str, float, int]]) -> None:
    policy = LimitPolicy(floor=2, cap=64, tpot=0.03)
    limit = AdaptiveLimit(policy)
    for at, (event, value, inflight) in enumerate(history):
        if event == "refused":
            limit.refused(at / 3)
        else:
            getattr(limit, event)(value, inflight, at / 3)
        assert policy.floor <= limit.value <= policy.cap


actions = st.lists(
    st.tuples(st.sampled_from([*LANES, "leave", "leave"]), st.floats(0, 1), st.integers(1, 50)), max_size=120
)


@given(actions, st.integers(1, 40))
def test_slots_are_never_oversold_and_every_ticket_ends_once(
    history: list[tuple[str, float, int]], slots: int
) -> None:
    gate, running, ended, offered = Gate(), [], [], 0

    def note(verdict: Verdict | None) -> None:
        if verdict is not None:
            (running if verdict.reason is None else ended).append(verdict.ticket)

    for now, (action, priority, patience) in enumerate(history):
        if action == "leave":
            if running:
                gone = running.pop(0)
                gate.leave(gone, now)
                ended.append(gone)
        else:
            offered += 1
            note(gate.arrive(ticket(action, priority, now + patience, now), slots, now))
        for verdict in gate.turn(slots, now):
            note(verdict)
        assert gate.inflight() == len(running) <= slots + 1
        assert len(ended) + len(running) + gate.queued() == offered
    assert len({id(t) for t in ended}) == len(ended)


def test_a_full_lane_does_not_block_another() -> None:
    gate = Gate()
    for _ in range(100):
        gate.arrive(ticket("batch"), 20, 0.0)
    assert gate.inflight("batch") < 20
    started = [gate.arrive(ticket("interactive"), 20, 0.0) for _ in range(6)]
    assert all(v is not None and v.reason is None for v in started), "its reserve is 30 % of 20"


def test_the_urgent_goes_first_then_the_earlier_deadline_then_the_earlier_arrival() -> None:
    gate = Gate({"interactive": Lane(reserve=0, max_wait=100)})
    running = ticket()
    assert gate.arrive(running, 1, 0.0) is not None
    waiting = [ticket(), ticket(deadline=50.0), ticket(deadline=20.0), ticket(priority=0.9), ticket()]
    for t in waiting:
        assert gate.arrive(t, 1, 0.0) is None
    order = []
    for now in range(1, 6):
        gate.leave(running, now)
        (verdict,) = gate.turn(1, now)
        running = verdict.ticket
        order.append(waiting.index(running))
    assert order == [3, 2, 1, 0, 4]


def test_who_left_the_queue_is_passed_over_and_counts_no_more() -> None:
    gate = Gate({"interactive": Lane(reserve=0, max_wait=100)})
    running, waiting = ticket(), [ticket() for _ in range(4)]
    for one in (running, *waiting):
        gate.arrive(one, 1, 0.0)
    gate.forget(waiting[0])
    assert gate.queued() == 3
    gate.leave(running, 1.0)
    (verdict,) = gate.turn(1, 1.0)
    assert verdict.ticket is waiting[1] and verdict.reason is None and gate.queued() == 2


def busy(hold: float = 2.0) -> Gate:
    """One slot, in use, and requests are known to keep it `hold` seconds."""
    gate = Gate({"interactive": Lane(reserve=0, max_wait=5, max_queue=2)})
    first = ticket()
    gate.arrive(first, 1, 0.0)
    gate.leave(first, hold)
    gate.arrive(ticket(), 1, hold)
    return gate


def test_a_request_that_cannot_make_its_deadline_fails_at_once() -> None:
    gate = busy(hold=2.0)
    verdict = gate.arrive(ticket(deadline=3.0, at=2.0), 1, 2.0)
    assert verdict is not None
    assert (verdict.reason, verdict.retry_after) == ("deadline", 2.0)
    assert gate.arrive(ticket(deadline=4.5, at=2.0), 1, 2.0) is None, "two seconds are enough"


def test_queues_are_bounded_in_length_and_in_time() -> None:
    gate = busy(hold=0.5)
    assert [gate.arrive(ticket(), 1, 0.5) for _ in range(2)] == [None, None]
    full = gate.arrive(ticket(), 1, 0.5)
    assert full is not None and full.reason == "queue"
    slow = busy(hold=9.0).arrive(ticket(at=9.0), 1, 9.0)
    assert slow is not None and slow.reason == "wait"
    assert gate.shed == {("interactive", "queue"): 1}


def test_what_waited_too_long_is_shed_at_its_turn_and_who_left_is_passed_over() -> None:
    gate = busy(hold=0.5)
    late, gone = ticket(at=0.5), ticket(at=0.5)
    gate.arrive(late, 1, 0.5)
    gate.arrive(gone, 1, 0.5)
    gate.forget(gone)
    running = Ticket("interactive", 0.5, math.inf, 0.5, started=0.5)
    gate.leave(running, 50.0)
    assert [(v.ticket, v.reason) for v in gate.turn(1, 50.0)] == [(late, "expired")]
    assert gate.queued() == 0


def test_who_left_the_queue_takes_no_place_in_it() -> None:
    """Behind somebody more urgent they were counted until he went: the queue was full of nobody."""
    gate = busy(hold=0.5)
    assert gate.arrive(ticket(priority=0.9), 1, 0.5) is None
    for _ in range(500):
        gone = ticket(priority=0.1)
        assert gate.arrive(gone, 1, 0.5) is None
        gate.forget(gone)
    assert gate.queued() == 1 and len(gate._lanes["interactive"].queue) < 10


def test_an_urgent_request_is_not_shed_for_those_who_would_wait_behind_it() -> None:
    gate = Gate({"interactive": Lane(reserve=0, max_wait=5)})
    gate.arrive(first := ticket(), 1, 0.0)
    gate.leave(first, 2.0)
    for _ in range(2):
        gate.arrive(ticket(), 1, 2.0)
    assert gate.arrive(ticket(deadline=90.0), 1, 2.0) is None
    late = gate.arrive(ticket(), 1, 2.0)
    assert late is not None and late.reason == "wait"
    assert gate.arrive(ticket(priority=0.9, deadline=5.0), 1, 2.0) is None


def test_the_limit_of_a_server_that_is_back_is_where_it_began_or_above() -> None:
    limit = AdaptiveLimit(LimitPolicy(initial=16))
    for now in range(10):
        limit.refused(float(now))
    assert limit.value == 1
    limit.begin()
    assert limit.value == 16
    limit.value = 40.0
    limit.begin()
    assert limit.value == 40


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (LimitPolicy, {"initial": 0}),
        (LimitPolicy, {"decrease": 1.0}),
        (LimitPolicy, {"ttft": 0}),
        (Lane, {"reserve": 1.0, "max_wait": 1}),
        (Lane, {"reserve": 0.1, "max_wait": 0}),
        (BrownoutPolicy, {"surge": 1.0}),
        (BrownoutPolicy, {"growth": 0}),
    ],
)
def test_a_wrong_policy_is_refused_by_name(kind: Any, wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        kind(**wrong)
    assert refusal.value.field in wrong


def test_reserves_of_more_than_everything_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"reserve=.*give shares that add up to at most 1"):
        Gate({"a": Lane(reserve=0.6, max_wait=1), "b": Lane(reserve=0.6, max_wait=1)})


def drive(guard: Brownout, rate: float, start: float, seconds: float) -> list[float]:
    """Delays of steady misses at `rate` a second."""
    return [guard.arrive(start + i / rate) for i in range(int(rate * seconds))]


def test_a_steady_load_and_a_slow_rise_are_no_brownout() -> None:
    guard = Brownout(BrownoutPolicy(), 0.0)
    assert set(drive(guard, 50, 0.0, 120)) == {0.0}
    assert set(drive(guard, 75, 120.0, 120)) == {0.0}


def test_a_collapse_of_the_hit_rate_is_smoothed_and_ends() -> None:
    """Hit rate 0.8 falls to 0: misses grow fivefold. What passes rises slowly from twice the usual rate."""
    guard = Brownout(BrownoutPolicy(), 0.0)
    drive(guard, 20, 0.0, 300)
    passed, shed, now = [], 0, 300.0
    for i in range(100 * 60):
        now = 300.0 + i / 100
        delay = guard.arrive(now)
        if delay > 1.0:
            guard.refused()
            shed += 1
        else:
            passed.append(now + delay)
    assert guard.active and shed > 0
    early = [t for t in passed if 310 <= t < 320]
    late = [t for t in passed if 350 <= t < 360]
    assert len(early) / 10 < 60 < len(late) / 10 <= 101, "it rises from about twice the usual 20"
    drive(guard, 20, 360.0, 60)
    assert not guard.active


@given(st.lists(st.floats(0.0001, 3), min_size=1, max_size=200))
def test_a_delay_is_never_negative_or_unbounded(gaps: list[float]) -> None:
    guard, now = Brownout(BrownoutPolicy(least=0.1), 0.0), 0.0
    for gap in gaps:
        now += gap
        assert 0.0 <= guard.arrive(now) <= len(gaps) / 0.1
