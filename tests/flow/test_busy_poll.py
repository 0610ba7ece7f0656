"""A loop without work looks out for a reply that comes sooner than it could fall asleep, and gives up in time."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cachelayer.flow.busy_poll import MOST, RARELY, BusyPoll

TURN = MOST / 10
"""Seconds that a turn of the loop takes here."""


class Turns:
    """A loop that runs what is ready, one turn after the other, and a clock that goes on with them."""

    def __init__(self) -> None:
        self.ready, self.time, self.turns = [], 0.0, 0

    def call_soon(self, callback) -> None:
        self.ready.append(callback)

    def now(self) -> float:
        return self.time

    def run(self) -> int:
        """Turns until the loop may sleep."""
        before = self.turns
        while self.ready:
            self.turns += 1
            self.time += TURN
            ready, self.ready = self.ready, []
            for callback in ready:
                callback()
        return self.turns - before


class Reply:
    """Comes in a turn of its own."""

    def __init__(self, loop: Turns, after: int) -> None:
        self.loop, self.due = loop, loop.turns + after

    def done(self) -> bool:
        return self.loop.turns >= self.due


def asked(loop: Turns, poll: BusyPoll, after: int) -> int:
    poll.begin(Reply(loop, after))
    return loop.run()


def test_a_reply_that_comes_soon_finds_the_loop_awake_and_nobody_looks_any_longer():
    loop = Turns()
    poll = BusyPoll(loop, loop.now)
    assert [asked(loop, poll, after) for after in (1, 3, 6, 1)] == [1, 3, 6, 1]


def test_replies_that_take_longer_are_slept_through_ever_more_of_them():
    loop = Turns()
    poll = BusyPoll(loop, loop.now)
    spent = [asked(loop, poll, 1000) for _ in range(4 * RARELY)]
    awake_for = [i for i, turns in enumerate(spent) if turns > 1]
    assert all(turns * TURN < 1.2 * MOST for turns in spent)
    gaps = [b - a - 1 for a, b in pairwise(awake_for)]
    assert gaps[:4] == [1, 2, 4, 8]
    assert max(gaps) == RARELY


def test_one_that_comes_in_time_again_is_waited_for_awake_from_then_on():
    loop = Turns()
    poll = BusyPoll(loop, loop.now)
    for _ in range(RARELY):
        asked(loop, poll, 1000)
    for _ in range(RARELY + 1):
        asked(loop, poll, 2)
    assert [asked(loop, poll, 2) for _ in range(5)] == [2] * 5


def test_after_some_in_time_a_late_one_is_the_first_again():
    loop = Turns()
    poll = BusyPoll(loop, loop.now)
    for after in (*[1000] * RARELY, *[2] * RARELY, 1000):
        asked(loop, poll, after)
    assert [asked(loop, poll, 2) for _ in range(4)] == [1, 2, 2, 2]


@given(st.lists(st.integers(0, 40), max_size=300))
def test_the_loop_always_comes_to_rest(waits: list[int]):
    loop = Turns()
    poll = BusyPoll(loop, loop.now)
    for after in waits:
        assert 1 <= asked(loop, poll, after) <= MOST / TURN + 1
        assert not loop.ready


def test_questions_that_follow_at_once_share_one_look():
    loop = Turns()
    poll = BusyPoll(loop, loop.now)
    poll.begin(Reply(loop, 0))
    poll.begin(Reply(loop, 3))
    assert len(loop.ready) == 1
    assert loop.run() == 3
