"""Timing, tables, and the measurements behind decisions, for `redis_tier.py`."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from redis_floor import Bare, bare

from cachelayer.exact.redis import RedisStore
from cachelayer.exact.redis.pipe import Pipe, pack, word
from cachelayer.flow.deadlines import Deadlines
from cachelayer.types import Record

Call = Callable[[int], Awaitable[Any]]
Rows = dict[str, dict[str, float]]
Timing = tuple[float, float, float]
REPEATS = 9


async def serial(call: Call, n: int) -> Timing:
    """(p50, p99, operations per second) of one task; microseconds."""
    clock, took = time.perf_counter_ns, []
    for i in range(n):
        started = clock()
        await call(i)
        took.append(clock() - started)
    took.sort()
    return took[n // 2] / 1e3, took[int(n * 0.99)] / 1e3, n / (sum(took) / 1e9)


async def tasks_64(call: Call, n: int) -> Timing:
    """The same of 64 tasks at once."""
    clock = time.perf_counter_ns
    took: list[int] = []

    async def worker(first: int) -> None:
        for i in range(first, n, 64):
            started = clock()
            await call(i)
            took.append(clock() - started)

    begun = clock()
    await asyncio.gather(*(worker(k) for k in range(64)))
    wall = (clock() - begun) / 1e9
    took.sort()
    return took[len(took) // 2] / 1e3, took[int(len(took) * 0.99)] / 1e3, n / wall


async def alternate(systems: dict[str, Call], n: int, run: Any, repeats: int = REPEATS) -> Rows:
    """Every system on the same work, taking turns, so that what disturbs the machine disturbs all.

    `cpu_us` is this process's own time for one operation, which neighbours on a shared machine disturb least.
    """
    seen: dict[str, list[tuple[float, ...]]] = {name: [] for name in systems}
    for call in systems.values():
        await run(call, n)
    for _ in range(repeats):
        for name, call in systems.items():
            gc.collect()
            spent = time.process_time()
            timing = await run(call, n)
            seen[name].append((*timing, (time.process_time() - spent) / n * 1e6))
    columns = ("p50_us", "p99_us", "ops_s", "cpu_us")
    return {
        system: {name: round(statistics.median(row[i] for row in rows), 2) for i, name in enumerate(columns)}
        for system, rows in seen.items()
    }


@contextlib.asynccontextmanager
async def peer(port: int) -> AsyncIterator[Any]:
    """redis-py's asyncio client, or None if it is not installed."""
    try:
        from redis.asyncio import Redis
    except ImportError:
        yield None
        return
    client = Redis(port=port)
    yield client
    await client.aclose()


def reads(store: RedisStore, records: Sequence[Record]) -> Call:
    return lambda i: store.get(records[i].key, records[i].canonical)


async def seals(url: str, records: Sequence[Record]) -> Rows:
    """What signing, encrypting and compressing cost a hit of 1.6 kB, 64 tasks."""
    kinds: dict[str, dict[str, Any]] = {
        "floor: plain": {},
        "signed": {"signing_keys": [b"s" * 32]},
        "compressed": {"compress_above": 0},
    }
    with contextlib.suppress(ImportError):
        import cryptography  # noqa: F401

        kinds["encrypted"] = {"encrypt_keys": [b"e" * 32]}
    stores = {
        name: RedisStore(url, prefix=f"seal{n}", **kind) for n, (name, kind) in enumerate(kinds.items())
    }
    systems: dict[str, Call] = {}
    for name, store in stores.items():
        await store.start()
        now = time.time()
        await store.put([dataclasses.replace(one, created=now) for one in records])
        systems[name] = reads(store, records)
    rows = await alternate(systems, len(records), tasks_64)
    for store in stores.values():
        await store.aclose()
    return rows


async def bundles(port: int, records: Sequence[Record]) -> Rows:
    """64 tasks read the same entries over one connection, as MGETs of a tick and as GETs of a tick."""
    loop = asyncio.get_running_loop()
    _, pipe = await loop.create_connection(lambda: Pipe(loop, lambda message: None), "127.0.0.1", port)
    names = [b"floor:" + one.key.hex().encode() for one in records]
    words, commands = [word(name) for name in names], [pack(b"GET", name) for name in names]
    systems: dict[str, Call] = {
        "GETs": lambda i: pipe.send(commands[i]),
        "one MGET": lambda i: pipe.get(words[i]),
    }
    rows = await alternate(systems, len(records), tasks_64)
    pipe.transport.abort()
    return rows


async def news(port: int) -> Rows:
    """From a write to the word of it in another process: microseconds."""
    writer = await bare(port)
    rows: Rows = {}
    for name in ("client-side tracking, broadcast", "publish and subscribe", "a stream, blocking read"):
        listener = await bare(port)
        rows[name] = await _hear(name, writer, listener)
        listener.transport.close()
    writer.transport.close()
    return rows


async def _hear(name: str, writer: Bare, listener: Bare) -> dict[str, float]:
    heard = asyncio.Event()
    listener.pushed = lambda message: heard.set()
    if name.startswith("client"):
        await listener.command("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "news:")
    elif name.startswith("publish"):
        listener.transport.write(pack(b"SUBSCRIBE", b"news"))
        await heard.wait()
    took = []
    for n in range(1500):
        heard.clear()
        asked = None
        if name.startswith("a stream"):
            asked = listener.command("XREAD", "BLOCK", 0, "STREAMS", "newstream", "$")
        if asked is not None:
            await asyncio.sleep(0.001)
            asked.add_done_callback(lambda future: heard.set())
        started = time.perf_counter_ns()
        if name.startswith("client"):
            done = writer.command("SET", f"news:{n % 50}", n)
        elif name.startswith("publish"):
            done = writer.command("PUBLISH", "news", n)
        else:
            done = writer.command("XADD", "newstream", "MAXLEN", "~", 1000, "*", "n", n)
        await heard.wait()
        took.append((time.perf_counter_ns() - started) / 1e3)
        await done
    took.sort()
    return {"p50_us": round(took[len(took) // 2], 1), "p99_us": round(took[int(len(took) * 0.99)], 1)}


async def epochs(port: int, records: Sequence[Record]) -> Rows:
    """An entry whose epochs are known, against one more round trip for its epochs; and what tracking costs reads."""
    plain, tracked = await bare(port), await bare(port)
    await tracked.command("CLIENT", "TRACKING", "ON", "OPTIN")
    every = await bare(port)
    await every.command("CLIENT", "TRACKING", "ON")
    names = [b"floor:" + one.key.hex().encode() for one in records]

    async def second(i: int) -> None:
        await plain.command(b"GET", names[i])
        await plain.command(b"MGET", b"epoch:one", b"epoch:two")

    systems: dict[str, Call] = {
        "GET, epochs known": lambda i: plain.command(b"GET", names[i]),
        "GET, then its epochs": second,
        "GET, connection opted in to tracking": lambda i: tracked.command(b"GET", names[i]),
        "GET, every key tracked": lambda i: every.command(b"GET", names[i]),
    }
    rows = await alternate(systems, len(records), tasks_64)
    for one in (plain, tracked, every):
        one.transport.close()
    return rows


async def budgets() -> Rows:
    """A future that is done at once, awaited under a time limit."""
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(1.0, TimeoutError)

    async def none(i: int) -> None:
        future = loop.create_future()
        loop.call_soon(future.set_result, None)
        await future

    async def timeout(i: int) -> None:
        async with asyncio.timeout(1.0):
            await none(i)

    async def deadline(i: int) -> None:
        future = loop.create_future()
        loop.call_soon(future.set_result, None)
        deadlines.watch(future)
        await future

    systems: dict[str, Call] = {
        "floor: no limit": none,
        "asyncio.timeout": timeout,
        "Deadlines.watch": deadline,
    }
    return await alternate(systems, 20_000, serial)


def table(results: dict[str, Rows]) -> str:
    """Markdown, a section a part, with ratios to the first row."""
    lines = []
    for part, rows in results.items():
        first = next(iter(rows.values()))
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        lines += [
            f"### {part}",
            "",
            f"| | {' | '.join(columns)} | x first |",
            "|---" * (len(columns) + 2) + "|",
        ]
        for name, row in rows.items():
            ratio = row[columns[0]] / first[columns[0]] if first[columns[0]] else 0.0
            cells = " | ".join(f"{row[column]:,}" if column in row else "" for column in columns)
            lines.append(f"| {name} | {cells} | {ratio:.2f} |")
        lines.append("")
    return "\n".join(lines)
