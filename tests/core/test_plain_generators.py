"""Plain generators that a loop asks for: kept and refreshed as those that a thread asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from cachelayer import CacheLayer, Policy, Source
from cachelayer.testing import ManualClock

CHUNKS = 40


async def test_a_plain_generator_is_kept_and_refreshed_where_a_loop_asks_for_it() -> None:
    clock, calls = ManualClock(), 0
    policy = Policy(ttl=10, stale_while_revalidate=99, ttl_jitter=0)
    async with CacheLayer(semantic=False, clock=clock, policy=policy) as layer:

        @layer.cached
        def count(question: str) -> Iterator[str]:
            nonlocal calls
            calls += 1
            yield from (f"{calls}.{number}" for number in range(CHUNKS))

        assert [len(list(await count.aio("a"))) for _ in range(2)] == [CHUNKS, CHUNKS] and calls == 1
        clock.advance(30)
        assert next(await count.aio("a")) == "1.0"  # stale
        while layer.stats()["flights"]:
            await asyncio.sleep(0)
        fresh = await count.aio.outcome("a")
        assert (fresh.source, list(fresh.answer)[-1], calls) == (Source.MEMORY, f"2.{CHUNKS - 1}", 2)


async def test_readers_on_a_loop_share_one_plain_generator() -> None:
    calls = 0
    async with CacheLayer(semantic=False) as layer:

        @layer.cached
        def count(question: str) -> Iterator[int]:
            nonlocal calls
            calls += 1
            yield from range(CHUNKS)

        readers = await asyncio.gather(*(count.aio("a") for _ in range(4)))
        together = [list(chunks) for chunks in zip(*readers, strict=True)]
        assert together == [[number] * 4 for number in range(CHUNKS)] and calls == 1
        assert layer.stats()["flights"] == 0


def test_plain_generators_that_nobody_reads_leave_no_flight_behind() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    def count(question: str) -> Iterator[int]:
        yield from range(CHUNKS)

    for number in range(9):
        count.outcome(f"question {number}")
    assert layer.stats()["flights"] == 0
