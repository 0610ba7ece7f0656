"""Work put off: done in its order, once, a moment later or when somebody asks; its faults go no further."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

from cachelayer.flow.attempt import Faults
from cachelayer.flow.deferred import MOST, REST, Deferred


def deferred() -> tuple[Deferred, Faults]:
    faults = Faults(time)
    return Deferred(faults), faults


async def test_it_is_done_when_its_caller_has_had_his_turn() -> None:
    works, _ = deferred()
    done: list[int] = []
    for n in range(3):
        works.put_off(n, done.append, n)
    assert done == [] and len(works.due) == 3 and 1 in works.due
    await asyncio.sleep(0)
    assert done == []
    while works.due:
        await asyncio.sleep(0)
    assert done == [0, 1, 2] and len(works.due) == 0 and 1 not in works.due


async def test_many_that_come_at_once_leave_the_loop_a_turn_each() -> None:
    works, _ = deferred()
    done: list[int] = []

    for n in range(20):
        works.put_off(n, done.append, n)
    seen = [0]
    while works.due:
        await asyncio.sleep(0)
        seen.append(len(done))
    assert done == list(range(20))
    assert all(after - before <= 1 for before, after in pairwise(seen)), "several in one turn"


async def test_what_is_put_off_while_others_are_done_is_done_too() -> None:
    """Also after a loop that ended in between."""
    works, _ = deferred()
    done: list[int] = []

    def again(n: int) -> None:
        done.append(n)
        if n < 300:
            works.put_off(n + 1, again, n + 1)

    works.put_off(0, again, 0)
    while len(done) < 301:
        await asyncio.sleep(0)
    await asyncio.sleep(2 * REST)  # that long nothing happens
    works.put_off(400, done.append, 400)
    while works.due:
        await asyncio.sleep(0)
    assert done == [*range(301), 400]


async def test_who_settles_has_it_done_once_and_in_order() -> None:
    works, _ = deferred()
    done: list[int] = []
    for n in (2, 1):
        works.put_off(n, done.append, n)
    works.settle()
    assert done == [2, 1]
    await asyncio.sleep(2 * REST)  # that long nothing happens
    assert done == [2, 1]


async def test_two_works_under_one_key_are_both_done() -> None:
    works, _ = deferred()
    done: list[str] = []
    works.put_off(1, done.append, "first")
    works.put_off(1, done.append, "second")
    works.settle()
    assert done == ["first", "second"]


async def test_a_fault_is_counted_and_goes_no_further() -> None:
    works, faults = deferred()
    done: list[int] = []
    works.put_off(1, lambda: 1 // 0)
    works.put_off(2, done.append, 2)
    works.settle()
    assert done == [2] and faults.counts == {("keep", "ZeroDivisionError"): 1}


async def test_work_that_settles_or_puts_off_more_does_not_go_round_for_ever() -> None:
    works, _ = deferred()
    done: list[str] = []

    def first() -> None:
        works.settle()
        works.put_off(2, done.append, "its own")
        done.append("first")

    works.put_off(1, first)
    works.settle()
    assert done == ["first", "its own"]


async def test_a_caller_that_never_waits_puts_off_no_more_than_so_much() -> None:
    works, _ = deferred()
    done: list[int] = []
    for n in range(10 * MOST):
        works.put_off(n, done.append, n)
        assert len(works.due) <= MOST
    works.settle()
    assert done == list(range(10 * MOST))


def test_a_loop_that_ended_too_early_leaves_its_work_to_the_next() -> None:
    works, _ = deferred()
    done: list[int] = []

    async def one(n: int) -> None:
        works.put_off(n, done.append, n)

    async def turn() -> None:
        await one(2)
        while works.due:
            await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(one(1))
    loop.close()
    asyncio.run(turn())
    assert done == [1, 2]
