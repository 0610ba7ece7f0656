"""The breaker: closed while calls succeed, open while they fail, one trial at a time in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.flow.breaker import Breaker, State


class Hands:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


def broken(clock: Hands, **settings: float) -> Breaker:
    breaker = Breaker(clock, threshold=3, pause=1.0, longest=4.0, **settings)
    for _ in range(3):
        assert breaker.allow()
        breaker.failure()
    return breaker


def test_it_opens_after_so_many_failures_in_a_row_and_not_before():
    breaker = Breaker(Hands(), threshold=3)
    for n in range(3):
        assert breaker.state is State.CLOSED
        assert breaker.allow(), n
        breaker.failure()
    assert breaker.state is State.OPEN
    assert not breaker.allow()


def test_one_failure_in_ten_does_not_open_it_and_every_second_one_does():
    breaker = Breaker(Hands(), threshold=5)
    for n in range(1000):
        breaker.failure() if n % 10 == 0 else breaker.success()
    assert breaker.state is State.CLOSED
    for n in range(40):
        breaker.failure() if n % 2 == 0 else breaker.success()
        if breaker.state is State.OPEN:
            break
    assert breaker.opened == 1


def test_while_open_nothing_passes_until_the_pause_is_over():
    clock = Hands()
    breaker = broken(clock)
    clock.now += 0.99
    assert not breaker.allow()
    clock.now += 0.02
    assert breaker.allow()
    assert breaker.state is State.HALF_OPEN


def test_word_that_the_tier_is_well_again_ends_the_pause_however_long_it_had_grown():
    clock = Hands()
    breaker = broken(clock)
    for _ in range(4):
        clock.now += 100.0
        assert breaker.allow()
        breaker.failure()
    assert not breaker.allow()
    breaker.hurry()
    assert [breaker.allow(), breaker.allow()] == [True, False]
    breaker.failure()
    clock.now += 2.01
    assert breaker.allow()


def test_calls_that_are_given_up_in_one_moment_are_one_failure():
    clock = Hands()
    breaker = Breaker(clock, threshold=3, pause=1.0)
    for _ in range(64):
        breaker.overran()
    assert breaker.state is State.CLOSED
    for _ in range(2):
        clock.now += 0.02
        breaker.overran()
    assert breaker.state is State.OPEN


def test_one_trial_at_a_time():
    clock = Hands()
    breaker = broken(clock)
    clock.now += 1.01
    assert [breaker.allow() for _ in range(64)] == [True] + [False] * 63


def test_a_trial_that_succeeds_closes_it_with_a_clean_slate():
    clock = Hands()
    breaker = broken(clock)
    clock.now += 1.01
    assert breaker.allow()
    breaker.success()
    assert breaker.state is State.CLOSED
    breaker.failure()
    breaker.failure()
    assert breaker.allow()


def test_failed_trials_make_the_pauses_longer_up_to_the_longest():
    clock = Hands()
    breaker = broken(clock)
    pauses = []
    for _ in range(5):
        since = clock.now
        while not breaker.allow():
            clock.now += 0.01
        pauses.append(clock.now - since)
        breaker.failure()
    assert pauses == pytest.approx([1, 2, 4, 4, 4], abs=0.05)


def test_a_trial_that_never_reports_is_followed_by_another():
    clock = Hands()
    breaker = broken(clock)
    clock.now += 1.01
    assert breaker.allow()
    assert not breaker.allow()
    clock.now += 1.01
    assert breaker.allow()


def test_a_trial_that_was_given_up_makes_room_at_once():
    clock = Hands()
    breaker = broken(clock)
    clock.now += 1.01
    assert breaker.allow()
    breaker.abandoned()
    assert breaker.allow()


def test_giving_up_a_call_says_nothing_while_closed():
    breaker = Breaker(Hands(), threshold=1)
    breaker.abandoned()
    assert breaker.allow()


def test_a_late_failure_of_a_call_from_before_does_not_lengthen_the_pause():
    clock = Hands()
    breaker = broken(clock)
    breaker.failure()
    clock.now += 1.01
    assert breaker.allow()


@given(steps=st.lists(st.sampled_from(("ask", "good", "bad", "left", "wait")), max_size=200))
def test_whatever_happens_it_lets_a_call_through_again_in_time(steps):
    """It can be neither stuck open nor more than half open to more than one call a pause."""
    clock = Hands()
    breaker = Breaker(clock, threshold=3, pause=1.0, longest=4.0)
    trial = False
    for step in steps:
        if step == "ask":
            before = breaker.state
            allowed = breaker.allow()
            assert allowed or before is not State.CLOSED
            trial = allowed and breaker.state is State.HALF_OPEN
        elif step == "good":
            breaker.success()
        elif step == "bad":
            breaker.failure()
        elif step == "left" and trial:
            breaker.abandoned()
        else:
            clock.now += 0.5
        assert breaker.state in State
    clock.now += 4.01
    assert breaker.allow()


@pytest.mark.parametrize("settings", [{"threshold": 0}, {"pause": 0.0}, {"pause": 2.0, "longest": 1.0}])
def test_settings_that_cannot_work_are_refused(settings):
    with pytest.raises(ValueError, match="need threshold"):
        Breaker(Hands(), **settings)


def test_it_tells_its_state():
    assert "open" in repr(broken(Hands()))


def test_held_it_lets_nothing_pass_whatever_is_reported_until_it_is_released():
    clock = Hands()
    breaker = Breaker(clock, threshold=3, pause=1.0, longest=4.0)
    breaker.hold()
    breaker.hold()
    assert breaker.opened == 1
    for report in (breaker.success, breaker.failure, breaker.abandoned, breaker.overran, breaker.hurry):
        report()
        clock.now += 100.0
        assert not breaker.allow() and breaker.state is State.OPEN
    breaker.release()
    assert breaker.state is State.CLOSED and breaker.allow()
