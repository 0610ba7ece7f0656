"""Reports of answers that are not in memory: still read, or evicted by now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from cachelayer import CacheLayer, Source


async def test_a_stream_that_is_reported_while_it_is_read_is_not_kept() -> None:
    layer, made, go = CacheLayer(semantic=False), [], asyncio.Event()

    @layer.cached
    async def tell(topic: str) -> AsyncIterator[str]:
        made.append(topic)
        yield topic
        await go.wait()
        yield f"told {len(made)}"

    for tenant, number in ((None, 2), ("globex", 1)):  # another tenant's is none of theirs
        made.clear()
        go.clear()
        with layer.scope(tenant="acme"):
            outcome = await tell.outcome(f"{tenant}")
        assert await anext(outcome.answer) == f"{tenant}"
        with layer.scope(tenant=tenant):
            await layer.report_wrong(outcome)
        go.set()
        assert [one async for one in outcome.answer] == ["told 1"]
        with layer.scope(tenant="acme"):
            assert [one async for one in tell(f"{tenant}")] == [f"{tenant}", f"told {number}"]


async def test_what_was_built_on_a_wrong_answer_goes_though_that_one_was_evicted() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached(max_bytes=65536)
    async def found(topic: str) -> str:
        return topic * 1000

    @layer.cached
    async def answer(topic: str) -> str:
        return f"{topic}: {len(await found(topic))}"

    outcome = await found.outcome("a")
    await answer("a")
    for other in range(400):
        await found(f"other {other}")
    assert (await found.explain("a")).verdict == "miss"
    assert await layer.report_wrong(outcome)
    assert (await answer.outcome("a")).source is Source.BACKEND
