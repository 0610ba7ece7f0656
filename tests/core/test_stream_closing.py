"""A stream that is closed while somebody waits for its next chunk ends for them; and waiting leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest
from turns import cancelled, given_up, turns

from cachelayer import CacheLayer
from cachelayer.testing import WordEmbedder


class Slow:
    """One chunk, and another when it is let."""

    def __init__(self, *, fails: bool = False) -> None:
        self.go, self.fails, self.closed = asyncio.Event(), fails, asyncio.Event()

    async def stream(self, question: str) -> AsyncIterator[str]:
        try:
            yield "one"
            await self.go.wait()
            if self.fails:
                raise ConnectionError("cut")
            yield "two"
        finally:
            self.closed.set()


async def rest(chunks: AsyncIterator[str]) -> list[str]:
    return [chunk async for chunk in chunks]


async def waiting(*tasks: asyncio.Task[Any]) -> None:
    await turns(20)
    assert not any(task.done() for task in tasks)


@pytest.mark.parametrize("others", [0, 1])
async def test_it_ends_at_once_for_who_waits_and_goes_on_for_others(others: int) -> None:
    slow = Slow()
    ask = CacheLayer(semantic=False).wrap(slow.stream, name="ask")
    mine, *theirs = (ask("q") for _ in range(1 + others))
    assert [await anext(one) for one in (mine, *theirs)] == ["one"] * (1 + others)
    reading, *still = (asyncio.create_task(rest(one)) for one in (mine, *theirs))
    await waiting(reading, *still)
    await mine.aclose()
    assert await asyncio.wait_for(reading, 5) == []
    if not others:
        await asyncio.wait_for(slow.closed.wait(), 5)
    slow.go.set()
    assert [await one for one in still] == [["two"]] * others


async def test_a_reader_that_is_closed_and_cancelled_is_cancelled() -> None:
    slow = Slow()
    mine = CacheLayer(semantic=False).wrap(slow.stream, name="ask")("q")
    await anext(mine)
    reading = asyncio.create_task(rest(mine))
    await waiting(reading)
    await mine.aclose()
    await cancelled(reading)


@pytest.mark.parametrize("fails", [False, True])
async def test_of_tasks_that_share_one_reader_all_are_told_its_end(fails: bool) -> None:
    slow = Slow(fails=fails)
    mine = CacheLayer(semantic=False).wrap(slow.stream, name="ask")("q")
    await anext(mine)
    workers = [asyncio.create_task(rest(mine)) for _ in range(3)]
    await waiting(*workers)
    slow.go.set()
    ends = await asyncio.gather(*workers, return_exceptions=True)
    assert sorted(map(repr, ends)) == (
        ["ConnectionError('cut')", "[]", "[]"] if fails else ["['two']", "[]", "[]"]
    )


async def test_one_that_is_closed_before_its_first_chunk_leaves_its_source() -> None:
    class Hangs(WordEmbedder):
        async def embed(self, texts: Any) -> Any:
            closing.set()
            await asyncio.Event().wait()

    slow, closing = Slow(), asyncio.Event()
    async with CacheLayer(embedder=Hangs()) as layer:
        mine = layer.wrap(slow.stream, name="ask")("What is it?")
        reading = asyncio.create_task(rest(mine))
        await closing.wait()
        await mine.aclose()
        assert await asyncio.wait_for(reading, 5) == []
        await asyncio.wait_for(slow.closed.wait(), 5)


async def test_who_looks_again_and_again_for_a_chunk_leaves_nothing_behind() -> None:
    mine = CacheLayer(semantic=False).wrap(Slow().stream, name="ask")("q")
    await anext(mine)
    before = futures()
    for _ in range(200):
        looking = asyncio.ensure_future(anext(mine))
        await asyncio.sleep(0)
        await given_up(looking)
    assert futures() - before < 20


def futures() -> int:
    gc.collect()
    return sum(isinstance(one, asyncio.Future) for one in gc.get_objects())
