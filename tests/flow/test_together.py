"""One fetch for what several callers need: each has its own result, whatever the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from cachelayer.flow.together import Gathering


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
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not fetch.cancelled
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    await asyncio.sleep(0)
    assert fetch.cancelled


async def test_who_left_before_the_fetch_is_not_asked_for() -> None:
    fetch = Fetch()
    fetch.answer.set()
    gathering = Gathering(3, fetch, 10)
    left = asyncio.ensure_future(gathering.need(0))
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    gathering.known()
    assert await gathering.need(2) == "result 2" and fetch.asked == [[2]]
