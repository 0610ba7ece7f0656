"""A call that fails for many: each is told where it failed, and nothing of where the others were.

The exception is the backend's own, one object for all, as where many await one asyncio task: what is no copy needs no
class that can be copied, and is what `except` and `is` know it by.
"""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from collections.abc import AsyncIterator, Iterator

import pytest

from cachelayer import CacheLayer
from cachelayer.flow.singleflight import SingleFlight
from cachelayer.testing import ManualClock

CALLERS = 4


class Down(Exception):
    """Cannot be made without its argument by name, as the openai client's own."""

    def __init__(self, *, status: int) -> None:
        super().__init__("down")
        self.status = status


def told(fault: Down) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(fault.__traceback__)]


async def test_each_reader_of_a_stream_that_fails_is_told_of_the_source_and_of_no_other_reader() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    async def failing(question: str) -> AsyncIterator[str]:
        yield "a"
        await asyncio.sleep(0)
        raise Down(status=503)

    async def reader() -> list[str]:
        with pytest.raises(Down) as down:
            [chunk async for chunk in failing("why?")]
        return told(down.value)

    async with layer:
        frames = await asyncio.gather(*(reader() for _ in range(CALLERS)))
    assert all(names.count("reader") == 1 and names[-1] == "failing" for names in frames)


async def test_each_reader_of_a_plain_generator_that_fails_is_told_of_itself_alone() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    def lines(question: str) -> Iterator[str]:
        yield "a"
        raise Down(status=503)

    async with layer:
        readers = [lines("why?") for _ in range(CALLERS)]
        assert [next(reader) for reader in readers] == ["a"] * CALLERS
        frames = []
        for reader in readers:
            with pytest.raises(Down) as down:
                next(reader)
            frames.append(told(down.value))
    assert all(names.count("_read") == 1 and names[-1] == "lines" for names in frames)


def test_each_thread_that_shares_a_call_that_fails_is_told_of_itself_alone() -> None:
    flights, frames = SingleFlight(ManualClock()), []

    def fails() -> None:
        while len(flights._flights["key"].waiters or ()) < CALLERS - 1:
            os.sched_yield()
        raise Down(status=503)

    def caller() -> None:
        with pytest.raises(Down) as down:
            flights.ride_sync("key", fails, 60.0, 60.0)
        frames.append(told(down.value))

    threads = [threading.Thread(target=caller) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(frames) == CALLERS
    assert all(names.count("caller") == 1 and names[-1] == "fails" for names in frames)
