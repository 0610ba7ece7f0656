"""Where limits begin, end and give way, to the request: pure, so that time is whatever a test says."""

from __future__ import annotations

import math

import pytest
from cachelayer.adapters.tensorrt_llm.admission import AdaptiveLimit, Gate, Lane, LimitPolicy, Ticket
from cachelayer.adapters.tensorrt_llm.brownout import Brownout, BrownoutPolicy
from hypothesis import given
from hypothesis import strategies as st


def window(limit: AdaptiveLimit, now: float, late: int = 0, of: int = 10) -> float:
    """The limit after a busy window of which so many were late."""
    for i in range(of):
        limit.first(1.0 if i < late else 0.1, 1000, now + (i + 1) / of)
    return limit.value


def ticket(priority: float = 0.5, deadline: float = math.inf, lane: str = "interactive") -> Ticket:
    return Ticket(lane, priority, deadline, 0.0)


def test_as_many_late_answers_as_are_tolerated_leave_the_limit_alone() -> None:
    limit = AdaptiveLimit(LimitPolicy(initial=100, tolerated=0.2))
    limit.first(0.1, 1, 0.0)  # the first window begins
    assert window(limit, 0.0, late=3) < 100
    low = limit.value
    assert window(limit, 1.0, late=2) > low


def test_a_limit_grows_by_half_until_a_late_window_then_by_one_or_two_in_a_hundred() -> None:
    for initial, then in ((20, 1.0), (200, 0.02 * 180)):
        limit = AdaptiveLimit(LimitPolicy(initial=initial, cap=1000))
        limit.first(0.1, 1, 0.0)
        assert window(limit, 0.0, late=9) == initial * 0.9
        assert window(limit, 1.0) == pytest.approx(initial * 0.9 + then)
        limit.begin()
        assert window(limit, 2.0) == pytest.approx(1.5 * max(initial, initial * 0.9 + then)), "it is back"


def test_of_two_lanes_that_wait_the_more_urgent_request_goes_first() -> None:
    gate = Gate({"one": Lane(reserve=0, max_wait=9), "other": Lane(reserve=0, max_wait=9)})
    running = ticket(lane="one")
    gate.arrive(running, 1, 0.0)
    calm, urgent = ticket(lane="one"), ticket(0.9, lane="other")
    assert gate.arrive(calm, 1, 0.0) is gate.arrive(urgent, 1, 0.0) is None
    gate.leave(running, 1.0)
    assert [verdict.ticket for verdict in gate.turn(1, 1.0)] == [urgent]


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=30))
def test_whoever_left_the_others_go_in_their_order(waiting: list[tuple[int, bool]]) -> None:
    gate = Gate({"interactive": Lane(reserve=0, max_wait=99)})
    running = ticket()
    gate.arrive(running, 1, 0.0)
    tickets = [(ticket(priority / 10), goes) for priority, goes in waiting]
    for one, _ in tickets:
        gate.arrive(one, 1, 0.0)
    for one, goes in tickets:
        if goes:
            gate.forget(one)
    order = []
    for _ in tickets:
        gate.leave(running, 1.0)
        for verdict in gate.turn(1, 1.0):
            running = verdict.ticket
            order.append(running.priority)
    assert order == sorted((one.priority for one, goes in tickets if not goes), reverse=True)


def test_who_left_goes_before_nobody() -> None:
    gate = Gate({"interactive": Lane(reserve=0, max_wait=5)})
    gate.arrive(first := ticket(), 1, 0.0)
    gate.leave(first, 2.0)
    gone = ticket(0.9)
    for one in (ticket(), ticket(1.0), ticket(), gone):
        gate.arrive(one, 1, 2.0)
    gate.forget(gone)
    assert gate.arrive(ticket(0.8, deadline=7.0), 1, 2.0) is None, "four seconds, behind one"


def test_reserves_of_everything_serve_one_at_a_time_where_there_is_one_slot() -> None:
    lanes = {name: Lane(reserve=0.5, max_wait=1) for name in ("one", "other")}
    for slots in (0.0, 1.0):
        verdict = Gate(lanes).arrive(ticket(lane="other"), slots, 0.0)
        assert verdict is not None and verdict.reason is None


def surge(guard: Brownout, now: float, rate: float = 20, seconds: float = 2) -> list[float]:
    return [guard.arrive(now + i / rate) for i in range(int(rate * seconds))]


def test_few_misses_are_no_surge_and_nothing_is_before_it_is_known_what_is_usual() -> None:
    guard = Brownout(BrownoutPolicy(least=5.0), 0.0)
    for at in range(100):
        guard.arrive(at * 10.0)
    assert set(surge(guard, 1000.0, rate=2, seconds=2)) == {0.0}
    assert max(surge(guard, 1010.0, rate=50)) > 0
    young = Brownout(BrownoutPolicy(least=5.0), 0.0)
    assert set(surge(young, 18.0, rate=100, seconds=1)) == {0.0}


def active(least: float = 1.0) -> Brownout:
    """Its usual rate is some 2 a second; 4 are let through, and those who waited were shed."""
    guard = Brownout(BrownoutPolicy(least=least, recent=5.0), 0.0)
    for i in range(600):
        guard.arrive(i / 2)
    for delay in surge(guard, 300.0, rate=10, seconds=3):
        if delay > 0:
            guard.refused()
    assert guard.active
    return guard


def test_a_brownout_goes_on_while_nearly_as_many_come_as_are_let_through() -> None:
    guard = active()
    allowed = guard._allowed
    guard._recent = 0.95 * allowed
    guard.arrive(303.0)
    assert guard.active
    guard._recent = 0.8 * allowed
    guard.arrive(303.1)
    assert not guard.active


def test_a_pause_in_a_brownout_lets_one_request_through_at_once_and_not_all_that_did_not_come() -> None:
    guard = active()
    guard._recent *= 2
    delays = [guard.arrive(305.0) for _ in range(6)]
    assert delays[0] == 0.0 and delays == sorted(delays) and delays[-1] > 0.8
