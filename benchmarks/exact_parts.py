"""Requests, floors and timing for `exact.py`."""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import orjson
import xxhash

Call = Callable[[Any], Awaitable[Any]]
WORDS = "cache latency token vector prompt model answer index shard batch stream prefix queue budget policy".split()
ENTRIES = 10_000


def request(i: int) -> dict[str, Any]:
    """A chat request with about 600 characters of text."""
    rng = random.Random(i)
    text = " ".join(rng.choice(WORDS) for _ in range(80))[:560]
    messages = [{"role": "system", "content": "Answer in one short paragraph."}]
    messages.append({"role": "user", "content": f"Ticket {i}: {text}"})
    return {
        "model": "m",
        "messages": messages,
        "temperature": 0.0,
        "top_p": 1.0,
        "max_tokens": 256,
        "seed": 7,
    }


def answer(i: int) -> str:
    """About 800 characters."""
    return f"[{i}] " + " ".join(WORDS) * 8


def zipf(n: int, draws: int) -> list[int]:
    """Popular ones first, shuffled."""
    rng = random.Random(1)
    ids = rng.choices(range(n), [1 / (k + 1) ** 1.1 for k in range(n)], k=draws)
    places = list(range(n))
    rng.shuffle(places)
    return [places[i] for i in ids]


async def serial(call: Call, items: Sequence[Any]) -> tuple[float, float, float]:
    """(p50, p99, operations per second) of one task; microseconds."""
    clock, took = time.perf_counter_ns, []
    begun = clock()
    for item in items:
        started = clock()
        await call(item)
        took.append(clock() - started)
    wall = (clock() - begun) / 1e9
    took.sort()
    return took[len(took) // 2] / 1e3, took[int(len(took) * 0.99)] / 1e3, len(items) / wall


async def tasks_64(call: Call, items: Sequence[Any]) -> tuple[float, float, float]:
    """Operations per second of 64 tasks; the latencies are those of one task's calls."""
    clock = time.perf_counter_ns

    async def worker(part: Sequence[Any]) -> None:
        for item in part:
            await call(item)

    begun = clock()
    await asyncio.gather(*(worker(items[k::64]) for k in range(64)))
    return 0.0, 0.0, len(items) / ((clock() - begun) / 1e9)


async def compare(
    systems: dict[str, Call], items: Sequence[Any], run: Any = serial, repeats: int = 7
) -> dict[str, dict[str, float]]:
    """Every system on the same items, alternating, so that what disturbs the machine disturbs all."""
    measured: dict[str, list[tuple[float, float, float]]] = {name: [] for name in systems}
    for call in systems.values():
        await run(call, items)
    for _ in range(repeats):
        for name, call in systems.items():
            gc.collect()
            measured[name].append(await run(call, items))
    names = ("p50_us", "p99_us", "ops_s")
    return {
        system: {name: round(statistics.median(r[i] for r in rows), 3) for i, name in enumerate(names)}
        for system, rows in measured.items()
    }


async def spread(data: dict[bytes, str], **body: Any) -> Any:
    return data.get(key_of(body))


def key_of(body: dict[str, Any]) -> bytes:
    return xxhash.xxh3_128_digest(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))


async def floor_backend(body: dict[str, Any]) -> str:
    """A backend that costs nothing."""
    return answer(0)
