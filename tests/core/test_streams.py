"""Live streams: one call, everything in order for everyone, bounded, and kept only when it ended well."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest
from turns import given_up, turns

from cachelayer import CacheLayer, Policy, Source
from cachelayer.flow.recording import READ_AHEAD
from cachelayer.testing import ManualClock


class Source_:
    """A stream that gives a chunk for each permit."""

    def __init__(self, chunks: int = 5, *, size: int = 1, fail_at: int | None = None) -> None:
        self.chunks, self.size, self.fail_at = chunks, size, fail_at
        self.permits = asyncio.Semaphore(0)
        self.started = self.closed = self.given = 0

    async def stream(self, prompt: str) -> AsyncIterator[str]:
        self.started += 1
        try:
            for i in range(self.chunks):
                await self.permits.acquire()
                if i == self.fail_at:
                    raise ConnectionError("cut")
                self.given += 1
                yield f"{i}" * self.size
        finally:
            self.closed += 1

    def let(self, n: int = 10**6) -> None:
        for _ in range(min(n, 10**4)):
            self.permits.release()


def wrapped(source: Source_, **policy: Any) -> Any:
    return CacheLayer(policy=Policy(**policy), semantic=False).wrap(source.stream, name="stream")


async def test_64_readers_share_one_stream_and_late_ones_get_the_recorded_part() -> None:
    source = Source_()
    stream = wrapped(source)
    early = [asyncio.create_task(collect(stream("p"))) for _ in range(32)]
    source.let(3)
    await turns(20)
    late = [asyncio.create_task(collect(stream("p"))) for _ in range(32)]
    await turns(20)
    source.let()
    assert await asyncio.gather(*early, *late) == [["0", "1", "2", "3", "4"]] * 64
    assert source.started == 1
    assert await collect(stream("p")) == ["0", "1", "2", "3", "4"] and source.started == 1


async def collect(chunks: AsyncIterator[str]) -> list[str]:
    return [chunk async for chunk in chunks]


async def test_the_first_chunk_arrives_before_the_last_is_made() -> None:
    source = Source_()
    stream = wrapped(source)
    reader = stream("p")
    source.let(1)
    assert await anext(reader) == "0"
    source.let()
    assert await collect(reader) == ["1", "2", "3", "4"]


async def test_a_cut_stream_reaches_every_reader_and_is_not_kept() -> None:
    source = Source_(fail_at=2)
    stream = wrapped(source)
    source.let()

    async def read() -> tuple[list[str], str]:
        got = []
        with pytest.raises(ConnectionError) as cut:
            async for chunk in stream("p"):
                got.append(chunk)  # noqa: PERF401 - what came before the cut counts
        return got, str(cut.value)

    assert await asyncio.gather(read(), read()) == [(["0", "1"], "cut")] * 2
    await read()
    assert source.started == 2


async def test_a_source_that_ends_in_a_cancellation_of_its_own_loses_no_chunk() -> None:
    async def source(q: str) -> AsyncIterator[str]:
        yield "one"
        raise asyncio.CancelledError("its own")

    chunks = CacheLayer(semantic=False).cached(source)("a question")
    assert await anext(chunks) == "one"
    with pytest.raises(asyncio.CancelledError, match="its own"):
        await anext(chunks)


async def test_a_reader_that_leaves_hurts_nobody_and_the_last_one_closes_the_source() -> None:
    source = Source_()
    stream = wrapped(source)
    one, two = stream("p"), stream("p")
    source.let(2)
    assert await anext(one) == "0" and await anext(two) == "0"
    await one.aclose()
    assert await anext(two) == "1"
    await two.aclose()
    await turns(20)
    assert source.closed == 1
    source.let()
    assert len(await collect(stream("p"))) == 5 and source.started == 2


async def test_riders_have_the_whole_stream_though_its_leader_left_at_the_first_chunk() -> None:
    """They are told in one turn of the loop, and the first of them may be gone before the next has its reader."""
    source, gate = Source_(), asyncio.Event()

    async def ask(prompt: str) -> AsyncIterator[str]:
        await gate.wait()
        return source.stream(prompt)

    stream = CacheLayer(semantic=False).wrap(ask, name="stream")

    async def read(most: int) -> list[str]:
        got, chunks = [], await stream("p")
        async for chunk in chunks:
            got.append(chunk)
            if len(got) == most:
                await chunks.aclose()
        return got

    reads = [asyncio.create_task(read(most)) for most in (1, 9, 2)]
    await turns(20)
    source.let(1)
    gate.set()
    await turns(20)
    source.let()
    assert await asyncio.gather(*reads) == [["0"], ["0", "1", "2", "3", "4"], ["0", "1"]]
    assert source.started == 1


async def test_a_forgotten_reader_leaves_when_it_is_collected() -> None:
    source = Source_()
    stream = wrapped(source)
    source.let(1)
    reader = stream("p")
    await anext(reader)
    del reader
    gc.collect()
    await turns(20)
    assert source.closed == 1


async def test_a_cancelled_reader_task_leaves_the_others_alone() -> None:
    source = Source_()
    stream = wrapped(source)
    one, two = asyncio.create_task(collect(stream("p"))), asyncio.create_task(collect(stream("p")))
    source.let(2)
    await turns(20)
    await given_up(one)
    source.let()
    assert await two == ["0", "1", "2", "3", "4"] and source.started == 1


async def test_the_source_is_read_little_further_than_its_fastest_reader() -> None:
    source = Source_(chunks=1000)
    stream = wrapped(source)
    reader = stream("p")
    source.let()
    await anext(reader)
    await turns(20)
    assert source.given <= READ_AHEAD + 2


async def test_a_stream_past_the_limit_is_passed_on_and_neither_kept_nor_joined() -> None:
    source = Source_(chunks=64, size=1000)
    stream = wrapped(source, max_item_bytes=50_000)  # more than is ever read ahead
    source.let()
    reader = stream("p")
    for _ in range(40):
        await anext(reader)
    other = asyncio.create_task(collect(stream("p")))
    assert len(await collect(reader)) == 24
    assert len(await other) == 64 and source.started == 2
    await collect(stream("p"))
    assert source.started == 3


async def test_chunks_that_can_change_are_each_readers_own() -> None:
    async def stream(prompt: str) -> AsyncIterator[dict[str, list[int]]]:
        yield {"a": []}

    cached = CacheLayer(semantic=False).wrap(stream, name="s")
    async for chunk in cached("p"):
        chunk["a"].append(1)
    assert [chunk async for chunk in cached("p")] == [{"a": []}]


async def test_an_outcomes_answer_is_the_iterator() -> None:
    source = Source_(chunks=2)
    stream = wrapped(source)
    source.let()
    outcome = await stream.outcome("p")
    assert outcome.source is Source.BACKEND and await collect(outcome.answer) == ["0", "1"]
    again = await stream.outcome("p")
    assert again.source is Source.MEMORY and await collect(again.answer) == ["0", "1"]


async def test_the_tail_of_a_stream_past_the_limit_is_not_taken_for_the_whole() -> None:
    runs = []

    async def stream(prompt: str) -> AsyncIterator[str]:
        runs.append(prompt)
        for i in range(64):
            await asyncio.sleep(0)
            yield f"{i}" * 1000

    cached = CacheLayer(policy=Policy(max_item_bytes=50_000), semantic=False).wrap(stream, name="s")
    for _ in range(2):
        assert len(await collect(cached("p"))) == 64
    assert len(runs) == 2


async def test_the_owners_functions_read_one_list_of_a_streams_chunks() -> None:
    source, read = Source_(), []
    source.let()
    owners = {
        "cache_if": lambda chunks: read.append(chunks) or True,
        "ttl": lambda chunks: read.append(chunks) or 60,
    }
    stream = wrapped(source, **owners)
    assert await collect(stream("p")) == await collect(stream("p"))
    assert read[0] is read[1] and read[0] == ["0", "1", "2", "3", "4"] and source.started == 1


async def test_a_stream_that_its_owner_vetoes_is_not_kept_and_counted() -> None:
    source = Source_()
    source.let()
    layer = CacheLayer(policy=Policy(cache_if=lambda chunks: chunks[-1] != "4"), semantic=False)
    stream = layer.wrap(source.stream, name="stream")
    for started in (1, 2):
        assert len(await collect(stream("p"))) == 5 and source.started == started
        await turns(20)
    assert layer.stats()["functions"]["stream"]["not_stored"] == {"vetoed": 2}


@pytest.mark.parametrize("when", ["before", "in the same step", "after"])
async def test_a_stream_whose_only_caller_leaves_around_its_beginning_is_left(when: str) -> None:
    source, gate = Source_(3 * READ_AHEAD), asyncio.Event()
    source.let()
    loop = asyncio.get_running_loop()

    async def ask(prompt: str) -> AsyncIterator[str]:
        await gate.wait()
        if when == "in the same step":
            caller.cancel()
        elif when == "after":
            loop.call_soon(caller.cancel)
        return source.stream(prompt)

    layer = CacheLayer(semantic=False)
    caller = asyncio.create_task(layer.wrap(ask, name="stream")("p"))
    await turns(20)
    if when == "before":
        caller.cancel()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await turns(20)
    assert source.started == source.closed and layer.stats()["flights"] == 0


@pytest.mark.parametrize("size", [1, 9999], ids=["kept", "too large"])
async def test_a_long_stream_is_refreshed_to_its_end_though_nobody_reads_it_and_let_go_past_the_limit(
    size: int,
) -> None:
    clock, source = ManualClock(), Source_(3 * READ_AHEAD)
    source.let()
    policy = Policy(ttl=10, stale_while_revalidate=99, ttl_jitter=0, max_item_bytes=50_000)
    layer = CacheLayer(policy=policy, semantic=False, clock=clock)
    ask = layer.wrap(source.stream, name="stream")
    assert len([chunk async for chunk in ask("p")]) == 3 * READ_AHEAD
    clock.advance(30)
    source.size = size
    stale = await ask.outcome("p")
    assert stale.source is Source.STALE and len([chunk async for chunk in stale.answer]) == 3 * READ_AHEAD
    await layer.flush()
    await turns(20)
    assert source.started == source.closed == 2 and layer.stats()["flights"] == 0
    assert (await ask.outcome("p")).source is (Source.MEMORY if size == 1 else Source.STALE)
    await layer.aclose()
