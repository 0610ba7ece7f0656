"""A stale stream stands in for one whose source fails before its first chunk, as any answer does whose call fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from cachelayer import CacheLayer, Policy, Source
from cachelayer.testing import ManualClock

CHUNKS = ["a", "b", "c"]


class Backend:
    """Streams that fail before a chunk; `waits` before its first one until it may go on."""

    def __init__(self) -> None:
        self.fails_at, self.waits, self.calls, self.left = -1, False, 0, asyncio.Event()
        self.go, self.asked = asyncio.Event(), asyncio.Event()

    def plain(self, question: str) -> Iterator[str]:
        self.calls += 1
        for n, chunk in enumerate(CHUNKS):
            if n == self.fails_at:
                raise ConnectionError("down")
            yield chunk

    async def awaited(self, question: str) -> AsyncIterator[str]:
        try:
            if self.waits:
                self.asked.set()
                await self.go.wait()
            for chunk in self.plain(question):
                yield chunk
        finally:
            self.left.set()


def made(clock: ManualClock, **policy: Any) -> CacheLayer:
    return CacheLayer(clock=clock, semantic=False, policy=Policy(ttl=10, ttl_jitter=0, **policy))


async def all_of(chunks: Any) -> list[str]:
    return [chunk async for chunk in chunks] if isinstance(chunks, AsyncIterator) else list(chunks)


async def first_and_expired(stream: Any, clock: ManualClock) -> None:
    assert [chunk async for chunk in stream("q")] == CHUNKS
    await asyncio.sleep(0)
    clock.advance(30)


@pytest.mark.parametrize("waits", [False, True])
async def test_it_does_for_all_who_wait_for_it(waits: bool) -> None:
    backend, clock = Backend(), ManualClock()
    ask = made(clock, stale_if_error=60).wrap(backend.awaited, name="ask")
    await first_and_expired(ask, clock)
    backend.fails_at, backend.waits = 0, waits
    asking = [asyncio.create_task(ask.outcome("q")) for _ in range(3)]
    if waits:
        await backend.asked.wait()
        backend.go.set()
    outcomes = await asyncio.gather(*asking)
    assert [await all_of(one.answer) for one in outcomes] == [CHUNKS] * 3
    assert outcomes[0].source is Source.STALE
    assert ask.function.stats.backend_errors == backend.calls - 1
    clock.advance(60)
    with pytest.raises(ConnectionError):
        await all_of(ask("q"))


async def test_it_does_for_plain_generators_and_those_that_are_awaited() -> None:
    backend, clock = Backend(), ManualClock()
    ask = made(clock, stale_if_error=60).wrap(backend.plain, name="ask")
    assert list(ask("q")) == CHUNKS
    clock.advance(30)
    backend.fails_at = 0
    for outcome in (ask.outcome("q"), await ask.aio.outcome("q")):
        assert outcome.source is Source.STALE and list(outcome.answer) == CHUNKS
    assert ask.function.stats.backend_errors == 2
    backend.fails_at = -1
    fresh = ask.outcome("q")
    assert fresh.source is Source.BACKEND and list(fresh.answer) == CHUNKS
    clock.advance(100)
    backend.fails_at = 0
    with pytest.raises(ConnectionError):
        list(ask("q"))


@pytest.mark.parametrize("plain", [False, True])
async def test_it_does_not_for_one_that_has_begun(plain: bool) -> None:
    backend, clock = Backend(), ManualClock()
    ask: Any = made(clock, stale_if_error=60).wrap(backend.plain if plain else backend.awaited, name="ask")
    stream = ask.aio if plain else ask
    assert await all_of((await stream.outcome("q")).answer) == CHUNKS
    await asyncio.sleep(0)
    clock.advance(30)
    backend.fails_at = 1
    outcome = await stream.outcome("q")
    first = next(outcome.answer) if plain else await anext(outcome.answer)
    with pytest.raises(ConnectionError):
        await all_of(outcome.answer)
    assert outcome.source is Source.BACKEND and first == "a"


async def test_who_gives_up_waiting_for_its_first_chunk_leaves_its_source() -> None:
    backend, clock = Backend(), ManualClock()
    ask = made(clock, stale_if_error=60).wrap(backend.awaited, name="ask")
    await first_and_expired(ask, clock)
    backend.waits = True
    backend.left.clear()
    asking = asyncio.create_task(ask.outcome("q"))
    await backend.asked.wait()
    asking.cancel()
    await asyncio.wait_for(backend.left.wait(), 5)
    backend.waits = False
    fresh = await ask.outcome("q")
    assert fresh.source is Source.BACKEND and await all_of(fresh.answer) == CHUNKS


async def test_a_stream_that_none_may_stand_in_for_is_handed_out_before_its_first_chunk() -> None:
    backend, clock = Backend(), ManualClock()
    ask = made(clock).wrap(backend.awaited, name="ask")
    await first_and_expired(ask, clock)
    backend.waits = True
    outcome = await asyncio.wait_for(ask.outcome("q"), 5)
    backend.go.set()
    assert await all_of(outcome.answer) == CHUNKS


@pytest.mark.parametrize("plain", [False, True])
async def test_one_that_grows_too_large_while_its_first_chunk_is_waited_for_is_read_from_its_beginning(
    plain: bool,
) -> None:
    """Its first chunk had been forgotten by then, and its caller was given the last one in its place."""
    chunks = ["first" * 9, "second" * 9, "third" * 9]

    async def awaited(question: str) -> AsyncIterator[str]:
        await asyncio.sleep(0)
        for chunk in chunks:
            yield chunk

    clock = ManualClock()
    layer = made(clock, stale_if_error=60, max_bytes=2**20, max_item_bytes=2000)
    ask = layer.wrap((lambda question: iter(chunks)) if plain else awaited, name="ask")
    whole, chunks[:] = chunks[:], ["small"]
    assert await all_of(ask("q")) == ["small"]
    await asyncio.sleep(0)
    clock.advance(30)
    chunks[:] = [chunk * 50 for chunk in whole]
    assert await all_of(ask("q")) == chunks
