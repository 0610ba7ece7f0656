"""Invalidating one document among very many entries, for `partial.py`: in process, and through Redis."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from stall import Stall

from cachelayer import Budgets, CacheLayer, Policy

GIB = 1024**3
TIMES = 9
"""Documents with few dependants; the row told is the median one."""
TOGETHER = 50
"""Calls under way at once while Redis is filled."""


def wrapped(layer: CacheLayer, many: int, few: int) -> Any:
    """A function whose first answers were built on the document "many", some others on "few 0", "few 1" ..."""

    async def answer(n: int) -> str:
        if n < many:
            layer.used(documents=["many"])
        elif n < many + few * TIMES:
            layer.used(documents=[f"few {(n - many) // few}"])
        return f"answer {n}"

    return layer.step("answer", answer)


async def fill(layer: CacheLayer, answer: Any, entries: int, say: Any) -> None:
    for n in range(entries):
        await answer(n)
        if n % 100_000 == 99_999:
            say(f"  {n + 1} entries")
        if n % 2_000 == 0:
            await layer.flush()


async def in_process(entries: int, many: int, few: int, say: Any) -> list[dict[str, Any]]:
    """Rows for `few` and `many` dependants among `entries`."""
    policy = Policy(max_bytes=3 * GIB, ttl="10h")
    rows = []
    async with CacheLayer(semantic=False, policy=policy) as layer:
        await fill(layer, wrapped(layer, many, few), entries, say)
        tried = [await _one(layer, f"few {n}", few, entries, "in process") for n in range(TIMES)]
        rows += [sorted(tried, key=lambda row: row["ms"])[TIMES // 2]]
        rows.append(await _one(layer, "many", many, entries, "in process"))
    return rows


async def through_redis(
    url: str, entries: int, many: int, few: int, say: Any, ready: Any
) -> list[dict[str, Any]]:
    """The same for a layer whose entries are in Redis too, and for another layer that holds copies of them.

    The filling goes through the layer, `TOGETHER` calls at a time, so that what they read and write is pipelined;
    `ready()` is called when it is done.
    """
    policy = Policy(max_bytes=3 * GIB, ttl="10h", budgets=Budgets(store="5s"))
    async with (
        CacheLayer(semantic=False, policy=policy, store=url) as here,
        CacheLayer(semantic=False, policy=policy, store=url) as there,
    ):
        answer, began = wrapped(here, many, few), time.perf_counter()
        await together(here, answer, range(entries), say)
        written, took = here.stats()["write_back"], time.perf_counter() - began
        assert written["done"] == entries and not written["dropped"], written
        say(f"filled in {took:.0f} s")
        await asyncio.to_thread(ready)
        dependants, copies = range(many + few * TIMES), min(many, 20_000)
        await together(
            here, answer, dependants, say
        )  # memory is emptied where Redis was silent: read them again
        await together(there, wrapped(there, many, few), (*range(copies), *dependants[many:]), say)
        told = {"entries in memory here": here.stats()["entries"], "filled in s": round(took)}
        tried = [await _shared(here, there, f"few {n}", few, few, entries) for n in range(TIMES)]
        rows = [sorted(tried, key=lambda row: row["ms"])[TIMES // 2]]
        rows.append(await _shared(here, there, "many", many, copies, entries))
        return [{**row, **told} for row in rows]


async def together(layer: CacheLayer, answer: Any, numbers: Sequence[int], say: Any) -> None:
    """Ask for `numbers`, `TOGETHER` at a time."""
    for start in range(0, len(numbers), TOGETHER):
        await asyncio.gather(*map(answer, numbers[start : start + TOGETHER]))
        await layer.flush()
        if start % 100_000 == 0:
            say(f"  {start} entries")


async def _shared(
    here: CacheLayer, there: CacheLayer, name: str, dependants: int, held: int, entries: int
) -> dict[str, Any]:
    before = there.stats()["entries"]
    row = await _one(here, name, dependants, entries, "through Redis")
    started = time.perf_counter()
    while there.stats()["entries"] > before - held:  # noqa: ASYNC110 - no event tells what the other heard
        await asyncio.sleep(0.001)
    row["other layer has none ms"] = round(row["ms"] + 1e3 * (time.perf_counter() - started), 2)
    row["copies there"] = held
    return row


async def _one(layer: CacheLayer, name: str, dependants: int, entries: int, where: str) -> dict[str, Any]:
    await asyncio.sleep(0.1)
    with Stall() as stall:
        started, cpu = time.perf_counter(), time.thread_time()
        gone = await layer.invalidate(documents=[name])
        took, cpu = time.perf_counter() - started, time.thread_time() - cpu
    assert gone == dependants, f"{gone} of {dependants} went"
    return {
        "where": where, "entries": entries, "dependants": dependants, "ms": round(1e3 * took, 2),
        "cpu ms": round(1e3 * cpu, 2), "longest callback ms": round(1e3 * stall.longest, 2),
    }  # fmt: skip
