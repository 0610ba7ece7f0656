"""Exact caching in process, beside its floors and, where they are installed, other caches.

    python benchmarks/exact.py                       # table on the terminal
    python benchmarks/exact.py --out benchmarks/results/exact   # also .json and .md

Every figure is the median over repeats of the p50 (and p99) of single awaited calls, key derivation from the request
included; ratios are taken between systems measured alternately in the same run. Peers (cachetools, async_lru, aiocache,
cashews) appear where they can be imported; each gets its best case: capacity to spare and a fast canonical key.
"""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import exact_peers
from exact_parts import (
    ENTRIES,
    Call,
    answer,
    compare,
    floor_backend,
    key_of,
    request,
    serial,
    spread,
    tasks_64,
    zipf,
)
from record import heading, keep, page, parser_of, word_of
from stall import Stall

from cachelayer import CacheLayer, Policy


async def hits_chat(run: Any = serial) -> dict[str, Any]:
    """Exact hit of a chat request: as one dict, and as the keyword arguments of a chat function."""
    layer = CacheLayer(policy=Policy(max_bytes=1 << 30), semantic=False)
    requests = [request(i) for i in range(ENTRIES)]
    data = {key_of(r): answer(i) for i, r in enumerate(requests)}

    async def floor(body: dict[str, Any]) -> Any:
        return data.get(key_of(body))

    @layer.cached
    async def one(body: dict[str, Any]) -> str:
        return answer(0)

    @layer.cached
    async def chat(
        messages: list[dict[str, str]],
        model: str,
        temperature: float,
        top_p: float,
        max_tokens: int,
        seed: int,
    ) -> str:
        return answer(0)

    async def keywords(body: dict[str, Any]) -> str:
        return await chat(**body)

    async def keywords_floor(body: dict[str, Any]) -> Any:
        return await spread(data, **body)

    systems: dict[str, Call] = {"floor: orjson + xxh3 + dict": floor, "cachelayer, one argument": one}
    systems |= {"floor behind keyword arguments": keywords_floor, "cachelayer, keyword arguments": keywords}
    systems |= {name: make(floor_backend) for name, make in exact_peers.available().items()}
    return await compare(systems, [requests[i] for i in zipf(ENTRIES, 20_000)], run)


async def hits_text() -> dict[str, Any]:
    """Exact hit of one short string."""
    layer = CacheLayer(policy=Policy(max_bytes=1 << 30), semantic=False)
    texts = [f"How do I return product number {i}?" for i in range(ENTRIES)]
    data = dict.fromkeys(texts, "answer")

    async def floor(text: str) -> Any:
        return data.get(text)

    @layer.cached
    async def ask(question: str) -> str:
        return "answer"

    items = [texts[i] for i in zipf(ENTRIES, 20_000)]
    return await compare({"floor: awaited dict.get": floor, "cachelayer": ask}, items)


async def misses() -> dict[str, Any]:
    """Unique requests on a backend that does nothing, the write included; the backend's own time subtracted."""
    peers = exact_peers.available()
    names = ["backend alone", "cachelayer", *peers]
    samples: dict[str, list[float]] = {name: [] for name in names}
    serials = iter(range(10_000_000, 90_000_000))
    layer = CacheLayer(policy=Policy(max_bytes=1 << 30), semantic=False)
    systems: dict[str, Call] = {"backend alone": floor_backend, "cachelayer": layer.cached(floor_backend)}
    systems |= {name: make(floor_backend) for name, make in peers.items()}
    for _ in range(7):
        for name, call in systems.items():
            fresh = [request(next(serials)) for _ in range(1500)]
            gc.collect()
            samples[name].append((await serial(call, fresh))[0])
            await asyncio.sleep(0)
    base = statistics.median(samples["backend alone"])
    return {
        name: {"p50_us": round(statistics.median(took) - base, 3)} for name, took in samples.items() if took
    }


async def stampede() -> dict[str, Any]:
    """64 identical concurrent misses, of a value and of a stream: backend calls."""
    layer, calls = CacheLayer(semantic=False), {"value": 0, "stream": 0}

    @layer.cached
    async def value(question: str) -> str:
        calls["value"] += 1
        await asyncio.sleep(0.02)
        return "x"

    @layer.cached
    async def stream(question: str) -> AsyncIterator[str]:
        calls["stream"] += 1
        for i in range(8):
            await asyncio.sleep(0.002)
            yield f"{i}"

    async def read() -> list[str]:
        return [chunk async for chunk in stream("q")]

    await asyncio.gather(*(value("q") for _ in range(64)))
    await asyncio.gather(*(read() for _ in range(64)))
    return {name: {"backend_calls": n} for name, n in calls.items()}


async def replay() -> dict[str, Any]:
    """First and last of 32 chunks of a stored stream."""
    layer, clock = CacheLayer(semantic=False), time.perf_counter_ns

    @layer.cached
    async def stream(question: str) -> AsyncIterator[str]:
        for i in range(32):
            yield f"chunk {i} "

    first, last = [], []
    for _ in range(500):
        started = clock()
        chunks = stream("q")
        await anext(chunks)
        first.append(clock() - started)
        async for _ in chunks:
            pass
        last.append(clock() - started)
    return {
        "first chunk": {"p50_us": round(statistics.median(first[1:]) / 1e3, 3)},
        "last of 32": {"p50_us": round(statistics.median(last[1:]) / 1e3, 3)},
    }


async def stalls() -> dict[str, Any]:
    """Longest single callback on the loop, in thread CPU time, under 64 tasks with constant eviction."""
    layer = CacheLayer(policy=Policy(max_bytes=8 << 20), semantic=False)

    @layer.cached
    async def ask(body: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return answer(1)

    async def worker(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(600):
            await ask(request(int(20_000 * rng.random() ** 2)))

    await asyncio.gather(*(worker(-seed) for seed in range(8)))
    gc.collect()
    gc.freeze()
    try:
        with Stall() as stall:
            await asyncio.gather(*(worker(seed) for seed in range(64)))
    finally:
        gc.unfreeze()
    stats = layer.stats()
    return {
        "64 tasks, evicting": {
            "longest_callback_ms": round(stall.longest * 1e3, 3),
            "entries": stats["entries"],
        }
    }


PARTS = {
    "exact hit, 600-character chat request": hits_chat,
    "exact hit, one short string": hits_text,
    "the same chat hits, 64 tasks": lambda: hits_chat(tasks_64),
    "miss overhead": misses,
    "stampede of 64": stampede,
    "replayed stream": replay,
    "longest callback": stalls,
}


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Markdown, a section a part, ratios against the first row where that is a floor."""
    lines = []
    for part, rows in results.items():
        columns = list(next(iter(rows.values())))
        floor = next(iter(rows.values())).get(columns[0]) if next(iter(rows)).startswith("floor") else None
        lines += [
            f"### {part}",
            "",
            "| | " + " | ".join(columns) + " | x floor |",
            "|---" * (len(columns) + 2) + "|",
        ]
        for name, row in rows.items():
            ratio = f"{row[columns[0]] / floor:.2f}" if floor else ""
            lines.append(f"| {name} | " + " | ".join(f"{row[c]:,}" for c in columns) + f" | {ratio} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Run the parts asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.md")
    parser.add_argument("--only", type=word_of(PARTS), help="run the parts whose name contains this")
    options = parser.parse_args()
    command = "python benchmarks/exact.py" + (f" --only {options.only}" if options.only else "")
    about, results = heading(command), {}
    for name, part in PARTS.items():
        if options.only is None or options.only in name:
            print(f"-- {name}", file=sys.stderr, flush=True)
            results[name] = asyncio.run(part())
    text = page("Exact caching in process", about, table(results))
    print(text)
    keep(options.out, {"about": about, "results": results}, text)


if __name__ == "__main__":
    main()
