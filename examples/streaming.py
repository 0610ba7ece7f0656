"""Streams are recorded while they pass, shared while they run, and replayed afterwards. Runs offline:

python examples/streaming.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from cachelayer import CacheLayer

layer = CacheLayer(semantic=False)
calls = 0


@layer.cached
async def write(prompt: str) -> AsyncIterator[str]:
    """Stands in for a model that streams."""
    global calls  # a counter for this page only
    calls += 1
    for word in f"Here is what I know about {prompt}.".split():
        await asyncio.sleep(0.05)
        yield word + " "


async def read(name: str, wait: float) -> None:
    """One reader: how long until the first and the last word."""
    await asyncio.sleep(wait)
    started = time.perf_counter()
    first, text = 0.0, ""
    async for word in write("caches"):
        first = first or time.perf_counter() - started
        text += word
    took = time.perf_counter() - started
    print(f"{name:28} first word {first * 1e3:6.1f} ms, last {took * 1e3:6.1f} ms: {text}")


async def main() -> None:
    """Two readers at once, one who joins half-way, one who comes afterwards: one call."""
    await asyncio.gather(read("the first", 0), read("at the same time", 0), read("half-way", 0.2))
    await read("afterwards", 0)
    print(f"backend calls: {calls}")


if __name__ == "__main__":
    asyncio.run(main())
