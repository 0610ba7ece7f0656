"""The Redis tier beside bare pipelined GETs on the same server, in the same run.

    python benchmarks/redis_tier.py                                    # tables on the terminal
    python benchmarks/redis_tier.py --out benchmarks/results/redis     # also .json and .md
    python benchmarks/redis_tier.py --only hit

Needs redis-server on PATH and hiredis; starts a server of its own. `store` is RedisStore alone: a key and a canonical
request are given. `layer` is CacheLayer(store=url, policy=Policy(max_bytes=0)), without the in-process tier: the key is
derived from a chat request of 600 characters and the answer decoded; so are they in the second floor, a bare GET with
orjson and xxh3 around it. Answers are 800 characters. Every figure is the median over repeats; systems take turns
within one run. What several processes do together is in `redis_fleet.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import redis_layer
import redis_parts
from exact_parts import answer, key_of, request
from record import heading, keep, page, parser_of, word_of
from redis_floor import bare, redis_server
from redis_layer import ENTRIES, Call, Stage
from redis_parts import Rows, alternate, serial, tasks_64

from cachelayer.exact.redis import RedisStore
from cachelayer.types import Record


def record(i: int) -> Record:
    body, now = request(i), time.time()
    canonical = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return Record(
        key=key_of(body), canonical=canonical, payload=orjson.dumps(answer(i)), created=now, fresh_until=now + 3600,
        stale_until=now + 3600, tags=("kb",), scope=b"bench", function="bench.ask",
    )  # fmt: skip


@contextlib.asynccontextmanager
async def stage(port: int) -> AsyncIterator[Stage]:
    floor, store = await bare(port), RedisStore(f"redis://127.0.0.1:{port}/0")
    await store.start()
    records = [record(i) for i in range(ENTRIES)]
    for at in range(0, ENTRIES, 64):
        await store.put(records[at : at + 64])
        for one in records[at : at + 64]:
            await floor.command(b"SET", b"floor:" + one.key.hex().encode(), one.payload)
    try:
        yield Stage(port, floor, store, records)
    finally:
        await store.aclose()
        floor.transport.close()


async def hits(on: Stage, run: Any) -> Rows:
    """The store's hit, beside a GET of as many bytes, a GET of the payload alone, and redis-py."""
    names = [on.store._names.entry(one.key) for one in on.records]

    async def same_bytes(i: int) -> None:
        assert await on.floor.command(b"GET", names[i])

    async def payload(i: int) -> None:
        assert await on.floor.command(b"GET", b"floor:" + on.records[i].key.hex().encode())

    async def store(i: int) -> None:
        assert await on.store.get(on.records[i].key, on.records[i].canonical)

    async def bounded(i: int) -> None:
        assert await on.store.get(on.records[i].key, on.records[i].canonical, 1.0)

    systems: dict[str, Call] = {
        "floor: bare pipelined GET of the entry": same_bytes,
        "bare pipelined GET of the payload alone": payload,
        "store.get": store,
        "store.get with a budget": bounded,
    }
    async with redis_parts.peer(on.port) as client:
        if client is not None:
            systems["redis-py asyncio GET of the entry"] = lambda i: client.get(names[i])
        return await alternate(systems, ENTRIES, run)


async def misses(on: Stage) -> Rows:
    """Nothing is there; the write goes behind."""

    async def floor(i: int) -> None:
        await on.floor.command(b"GET", b"nothing:%032x" % i)

    async def store(i: int) -> None:
        assert await on.store.get(i.to_bytes(16, "big"), b"nothing") is None

    return await alternate(
        {"floor: bare GET of nothing": floor, "store.get of nothing": store}, ENTRIES, serial
    )


async def writes(on: Stage) -> Rows:
    """A batch of 64 entries, in the background; per entry."""
    entries = [on.records[at : at + 64] for at in range(0, ENTRIES, 64)]

    async def floor(i: int) -> None:
        names = (b"floor:" + one.key.hex().encode() for one in entries[i])
        asked = [
            on.floor.command(b"SET", name, one.payload) for name, one in zip(names, entries[i], strict=True)
        ]
        for reply in asked:
            await reply

    async def store(i: int) -> None:
        await on.store.put(entries[i])

    systems: dict[str, Call] = {"floor: 64 bare pipelined SETs": floor, "store.put of 64 that exist": store}
    rows = await alternate(systems, len(entries), serial)
    return {name: {"us_an_entry": round(row["p50_us"] / 64, 2)} for name, row in rows.items()}


PARTS: dict[str, Callable[[Stage], Awaitable[Rows]]] = {
    "hit, one task": lambda on: hits(on, serial),
    "hit, 64 tasks": lambda on: hits(on, tasks_64),
    "layer hit, one task": lambda on: redis_layer.layer_hits(on, serial),
    "layer hit, 64 tasks": lambda on: redis_layer.layer_hits(on, tasks_64),
    "second read, in-process tier on": redis_layer.second_reads,
    "miss": misses,
    "layer miss, caller's path": redis_layer.layer_misses,
    "stream replayed from Redis": redis_layer.streams,
    "write": writes,
    "seals": lambda on: redis_parts.seals(on.url, on.records[:1000]),
    "decision: one MGET a tick or as many GETs": lambda on: redis_parts.bundles(on.port, on.records),
    "decision: how a process hears of an invalidation": lambda on: redis_parts.news(on.port),
    "decision: epochs known or read with every entry": lambda on: redis_parts.epochs(on.port, on.records),
    "decision: a budget by timeout or by deadline": lambda on: redis_parts.budgets(),
}


async def measure(only: str | None) -> dict[str, Rows]:
    results: dict[str, Rows] = {}
    with redis_server() as port:
        async with stage(port) as on:
            for name, part in PARTS.items():
                if only is None or only in name:
                    print(f"-- {name}", file=sys.stderr, flush=True)
                    results[name] = await part(on)
    return results


def main() -> None:
    """Run the parts asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.md")
    parser.add_argument("--only", type=word_of(PARTS), help="run the parts whose name contains this")
    options = parser.parse_args()
    command = "python benchmarks/redis_tier.py" + (f" --only {options.only!r}" if options.only else "")
    about, results = heading(command), asyncio.run(measure(options.only))
    text = page("The Redis tier", about, redis_parts.table(results))
    print(text)
    keep(options.out, {"about": about, "results": results}, text)


if __name__ == "__main__":
    main()
