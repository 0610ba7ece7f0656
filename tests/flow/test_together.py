"""One fetch for what several callers need: each has its own result, whatever the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from turns import cancelled

from cachelayer.flow.together import Gathering, any_of, together


class Fetch:
    """Answers once it is told to."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.answer, self.begun = asyncio.Event(), asyncio.Event()
        self.cancelled = False

    async def __call__(self, needed: list[int]) -> Sequence[Any]:
        self.asked.append(needed)
        self.begun.set()
        try:
            await self.answer.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return [f"result {member}" for member in needed]


async def test_members_are_asked_for_in_their_order_whoever_came_first() -> None:
    fetch = Fetch()
    fetch.answer.set()
    gathering = Gathering(3, fetch, 10)
    results = await asyncio.gather(*(gathering.need(member) for member in (2, 0, 1)))
    assert fetch.asked == [[0, 1, 2]] and results == ["result 2", "result 0", "result 1"]


async def test_a_fetch_ends_with_the_last_who_waits_for_it() -> None:
    fetch = Fetch()
    gathering = Gathering(2, fetch, 10)
    first, second = (asyncio.ensure_future(gathering.need(member)) for member in (0, 1))
    await fetch.begun.wait()
    await cancelled(first)
    assert not fetch.cancelled
    await cancelled(second)
    await asyncio.sleep(0)
    assert fetch.cancelled


async def test_who_left_before_the_fetch_is_not_asked_for() -> None:
    fetch = Fetch()
    fetch.answer.set()
    gathering = Gathering(3, fetch, 10)
    left = asyncio.ensure_future(gathering.need(0))
    await asyncio.sleep(0)
    await cancelled(left)
    gathering.known()
    assert await gathering.need(2) == "result 2" and fetch.asked == [[2]]


async def test_whoever_comes_after_a_fetch_is_answered_without_the_others_as_well() -> None:
    fetch = Fetch()
    fetch.answer.set()
    gathering = Gathering(9, fetch, 0.0)
    async with asyncio.timeout(10):
        for member in (4, 2, 7):
            assert await gathering.need(member) == f"result {member}"
    assert fetch.asked == [[4], [2], [7]]


async def test_one_fault_or_one_yes_ends_the_other_works() -> None:
    ended = []

    async def endless(name: str) -> bool:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
        return False

    async def says(what: Any) -> bool:
        if isinstance(what, Exception):
            raise what
        return bool(what)

    for run in (together, any_of):
        with pytest.raises(ConnectionError):
            async with asyncio.timeout(10):
                await run([endless("before"), says(ConnectionError()), endless("after")])
    assert await any_of([endless("before"), says(False), says(True), endless("after")])
    assert sorted(ended) == ["after"] * 3 + ["before"] * 3
    assert await any_of([says(False), says(False)]) is False and await together([]) == []
