"""How streams reach their readers is told once a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from turns import cancelled

from cachelayer import CacheLayer


async def test_a_reader_who_waits_with_a_limit_and_comes_back_is_timed_as_one() -> None:
    layer, waited = CacheLayer(semantic=False), asyncio.Event()
    layer.metrics()

    @layer.cached(name="tell")
    async def tell(question: str) -> AsyncIterator[str]:
        for word in ("one", "two", "three"):
            yield word
            waited.set()
            await gate.wait()
            gate.clear()

    gate = asyncio.Event()
    stream = tell("what?")
    assert await anext(stream) == "one"
    for word in ("two", "three"):
        await waited.wait()
        waited.clear()
        patience = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        await cancelled(patience)
        gate.set()
        assert await anext(stream) == word
    gate.set()
    assert [word async for word in stream] == []
    text = layer.metrics().render()[1].decode()
    for name, counted in (("first_token", 1), ("token_gap", 2), ("stream", 1)):
        assert f'cachelayer_{name}_seconds_count{{function="tell",result="miss"}} {counted}.0' in text
    await layer.aclose()
