"""A lookup with a head start: whoever answers first wins, the other is cancelled, a fault passes if nobody answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from turns import cancelled, turns

from cachelayer.flow.race import race


class Side:
    """A coroutine that ends when it is told to, and says how it ended."""

    def __init__(self) -> None:
        self.end: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.begun = asyncio.Event()
        self.cancelled = False

    async def run(self) -> Any:
        self.begun.set()
        try:
            return await asyncio.shield(self.end)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


async def test_a_lookup_that_answers_in_time_needs_no_call() -> None:
    lookup, call = Side(), Side()
    lookup.end.set_result("found")
    assert await race(lookup.run(), call.run, 10) == ("found", True)
    assert not call.begun.is_set()


async def test_a_lookup_that_finds_nothing_starts_the_call_at_once() -> None:
    lookup, call = Side(), Side()
    lookup.end.set_result(None)
    call.end.set_result("made")
    assert await race(lookup.run(), call.run, 10) == ("made", False)


@pytest.mark.parametrize("winner", ["lookup", "call"])
async def test_after_the_head_start_the_first_answer_wins_and_the_loser_is_cancelled(winner: str) -> None:
    lookup, call = Side(), Side()
    sides = {"lookup": lookup, "call": call}
    racing = asyncio.create_task(race(lookup.run(), call.run, 0.001))
    await call.begun.wait()
    sides[winner].end.set_result(winner)
    assert await racing == (winner, winner == "lookup")
    await turns()
    loser = call if winner == "lookup" else lookup
    assert loser.cancelled and not sides[winner].cancelled


async def test_a_late_lookup_that_finds_nothing_leaves_the_call_to_answer() -> None:
    lookup, call = Side(), Side()
    racing = asyncio.create_task(race(lookup.run(), call.run, 0.001))
    await call.begun.wait()
    lookup.end.set_result(None)
    await turns()
    call.end.set_result("made")
    assert await racing == ("made", False)


@pytest.mark.parametrize("found", ["found", None])
async def test_a_failing_call_is_raised_only_where_the_lookup_finds_nothing(found: str | None) -> None:
    lookup, call = Side(), Side()
    racing = asyncio.create_task(race(lookup.run(), call.run, 0.001))
    await call.begun.wait()
    call.end.set_exception(ConnectionError("down"))
    await turns()
    lookup.end.set_result(found)
    if found:
        assert await racing == (found, True)
    else:
        with pytest.raises(ConnectionError):
            await racing


async def test_cancelling_the_race_cancels_both() -> None:
    lookup, call = Side(), Side()
    racing = asyncio.create_task(race(lookup.run(), call.run, 0.001))
    await call.begun.wait()
    await cancelled(racing)
    await turns()
    assert lookup.cancelled and call.cancelled


async def test_what_the_call_made_and_nobody_gets_is_given_back() -> None:
    lookup, call = Side(), Side()
    back: list[Any] = []
    racing = asyncio.create_task(race(lookup.run(), call.run, 0.001, back.append))
    await call.begun.wait()
    call.end.set_result("made")
    lookup.end.set_result("found")
    assert await racing == ("found", True) and back == ["made"]


async def test_so_is_what_the_call_made_although_it_was_cancelled() -> None:
    lookup, begun, unwanted = Side(), asyncio.Event(), list[Any]()

    async def call() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "made"
        return ""

    racing = asyncio.create_task(race(lookup.run(), call, 0.001, unwanted.append))
    await begun.wait()
    lookup.end.set_result("found")
    assert await racing == ("found", True)
    await turns()
    assert unwanted == ["made"]


async def test_a_cancellation_that_comes_with_the_calls_answer_still_ends_the_race() -> None:
    lookup, call = Side(), Side()
    racing = asyncio.create_task(race(lookup.run(), call.run, 0.001))
    await call.begun.wait()
    call.end.set_result("made")
    await asyncio.sleep(0)  # the call's task has ended; the race is told in the same turn as it is cancelled
    asyncio.get_running_loop().call_soon(racing.cancel)
    with pytest.raises(asyncio.CancelledError):
        await racing
    assert lookup.cancelled


async def test_a_call_that_wins_leaves_no_cancellation_behind() -> None:
    lookup, call = Side(), Side()

    async def racing() -> tuple[Any, int]:
        won = await race(lookup.run(), call.run, 0.001)
        await asyncio.sleep(0)
        return won, asyncio.current_task().cancelling()  # type: ignore[union-attr]

    task = asyncio.create_task(racing())
    await call.begun.wait()
    call.end.set_result("made")
    assert await task == (("made", False), 0)


async def test_a_cancellation_of_the_race_is_still_counted_after_it() -> None:
    lookup, call, counted = Side(), Side(), list[int]()

    async def racing() -> None:
        try:
            await race(lookup.run(), call.run, 10)
        finally:
            counted.append(asyncio.current_task().cancelling())  # type: ignore[union-attr]

    task = asyncio.create_task(racing())
    await lookup.begun.wait()
    await cancelled(task)
    assert counted == [1]
