"""Several processes on one Redis: a stampede, mixed load with invalidations, and the death of a cluster's primary.

    python benchmarks/redis_fleet.py                                       # tables on the terminal
    python benchmarks/redis_fleet.py --out benchmarks/results/redis_fleet  # also .json and .md
    python benchmarks/redis_fleet.py --only stampede --seconds 5

Needs redis-server and redis-cli on PATH; starts servers of its own. Every value is the moment at which its computation
began; one that was served although an invalidation of its tag, called after that moment, had returned more than 100 ms
before the read began counts as outdated. In the failover all answers come from the cluster: the in-process tier is off.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from record import heading, keep, page, parser_of, word_of
from redis_floor import redis_cluster, redis_server

from cachelayer import Budgets, CacheLayer, Policy

PROCESSES, TASKS, KEYS = 4, 64, 200
GRACE = 0.1
Row = dict[str, Any]


def quantile(sorted_values: list[float], q: float) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(q * len(sorted_values)))]


# what one process does ---------------------------------------------------------------------------------------


async def stampede(url: str, seconds: float, number: int) -> Row:
    """64 callers ask the same, once all processes stand ready."""
    calls = 0
    async with CacheLayer(store=url, semantic=False, policy=Policy(budgets=Budgets(store="2s"))) as layer:

        @layer.cached(name="fleet.stampede")
        async def ask(question: str) -> str:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0.3)
            return question

        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        await asyncio.gather(*(ask("the same") for _ in range(TASKS)))
    return {"calls": calls}


async def mixed(url: str, seconds: float, number: int) -> Row:
    """Reads, popular keys most, and now and then an invalidation by tag, all of them written down."""
    rng, latest, invalidated = random.Random(number), {}, []
    reads = 0
    async with CacheLayer(store=url, semantic=False, policy=Policy(budgets=Budgets(store="1s"))) as layer:

        @layer.cached(name="fleet.mixed", tags=["key:{key}"])
        async def ask(key: int) -> float:
            began = time.time()
            await asyncio.sleep(0.005 * rng.random())
            return began

        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        end = time.time() + seconds

        turn = time.time()

        async def turns() -> None:
            nonlocal turn
            while time.time() < end:
                await asyncio.sleep(0.005)
                turn = time.time()

        async def caller() -> None:
            nonlocal reads
            while time.time() < end:
                key = int(KEYS * rng.random() ** 2)
                if rng.random() < 0.002:
                    called = time.time()
                    await layer.invalidate(tags=[f"key:{key}"])
                    invalidated.append((key, called, time.time()))
                else:
                    read = time.time()
                    value = await ask(key)
                    latest[key, value] = read, read - turn  # reads of one value begin in order, nearly
                    reads += 1
                await asyncio.sleep(0.0005)

        await asyncio.gather(turns(), *(caller() for _ in range(16)))
        stats = layer.stats()["functions"]["fleet.mixed"]
    told = [(key, value, *read) for (key, value), read in latest.items()]
    return {"reads": reads, "served": told, "invalidated": invalidated, "hits": stats["hits"]}


ROLES = {"stampede": stampede, "mixed": mixed}


# what they do together ---------------------------------------------------------------------------------------


def together(role: str, url: str, seconds: float) -> list[Row]:
    """The reports of all processes, started at once."""
    command = [sys.executable, __file__, "--role", role, "--url", url, "--seconds", str(seconds), "--number"]
    children = [
        subprocess.Popen([*command, str(n)], stdin=-1, stdout=-1, text=True) for n in range(PROCESSES)
    ]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    return [json.loads(child.communicate(timeout=seconds + 120)[0]) for child in children]


def run_stampede(seconds: float) -> dict[str, Row]:
    with redis_server() as port:
        reports = together("stampede", f"redis://127.0.0.1:{port}/0", seconds)
    return {f"{PROCESSES} x {TASKS} callers": {"backend_calls": sum(report["calls"] for report in reports)}}


def run_mixed(seconds: float) -> dict[str, Row]:
    with redis_server() as port:
        reports = together("mixed", f"redis://127.0.0.1:{port}/0", seconds)
    by_key: dict[int, list[tuple[float, float]]] = {}
    for report in reports:
        for key, called, returned in report["invalidated"]:
            by_key.setdefault(key, []).append((called, returned))
    late = [
        (read - returned, stood)
        for report in reports
        for key, value, read, stood in report["served"]
        for called, returned in by_key.get(key, ())
        if value < called and returned < read
    ]
    row = {
        "seconds": seconds,
        "reads": sum(report["reads"] for report in reports),
        "invalidations": sum(map(len, by_key.values())),
        "outdated_after_100_ms": sum(lag > GRACE for lag, _ in late),
        "of these, loop stood still > 100 ms": sum(lag > GRACE and stood > GRACE for lag, stood in late),
        "latest_outdated_read_ms": round(1e3 * max((lag for lag, _ in late), default=0.0), 1),
    }
    return {f"{PROCESSES} processes": row}


async def failover(url: str, seconds: float, kill: Any) -> dict[str, Row]:
    """Reads by 32 tasks; a primary is killed after a third of the time."""
    took: list[tuple[float, float]] = []
    errors = calls = 0
    policy = Policy(max_bytes=0, budgets=Budgets(store="20ms"))
    async with CacheLayer(store=url, semantic=False, policy=policy) as layer:

        @layer.cached(name="fleet.failover")
        async def ask(key: int) -> str:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0.001)
            return "x" * 800

        for key in range(KEYS):
            await ask(key)
        await layer.flush()
        rng, started, calls = random.Random(1), time.monotonic(), 0

        async def caller() -> None:
            nonlocal errors
            while (at := time.monotonic() - started) < seconds:
                (answer,) = await asyncio.gather(ask(rng.randrange(KEYS)), return_exceptions=True)
                errors += isinstance(answer, BaseException)
                took.append((at, time.monotonic() - started - at))
                await asyncio.sleep(0.002)

        async def killer() -> None:
            await asyncio.sleep(seconds / 3)
            kill()

        await asyncio.gather(killer(), *(caller() for _ in range(32)))
    death = seconds / 3
    spans = {
        "before": (1.0, death),
        "the 6 s after": (death, death + 6),
        "from then on": (death + 6, seconds),
    }
    rows: dict[str, Row] = {}
    for name, (first, last) in spans.items():
        part = sorted(1e3 * lasted for at, lasted in took if first <= at < last)
        rows[name] = {
            "p50_ms": round(quantile(part, 0.5), 2), "p99_ms": round(quantile(part, 0.99), 2),
            "p99_of_a_second_ms": round(p99_of_a_second(took, first, last), 2), "requests": len(part),
        }  # fmt: skip
    rows["the 6 s after"]["caller_errors"] = errors
    after, before = rows["from then on"], rows["before"]
    after["p99 / before"] = round(after["p99_ms"] / before["p99_ms"], 2)
    after["of a second / before"] = round(after["p99_of_a_second_ms"] / before["p99_of_a_second_ms"], 2)
    return rows


def p99_of_a_second(took: list[tuple[float, float]], first: float, last: float) -> float:
    """The median of the p99 of each second, in ms: one burst of a neighbour's does not decide it."""
    seconds = [
        sorted(1e3 * lasted for at, lasted in took if second <= at < second + 1)
        for second in range(math.ceil(first), int(last))
    ]
    return statistics.median(quantile(part, 0.99) for part in seconds if part)


def run_failover(seconds: float) -> dict[str, Row]:
    with redis_cluster() as (url, primaries):
        return asyncio.run(failover(url, seconds, primaries[0].kill))


def run_control(seconds: float) -> dict[str, Row]:
    """The same with nobody's death: what the machine does by itself."""
    with redis_cluster() as (url, _):
        return asyncio.run(failover(url, seconds, lambda: None))


PARTS = {
    "stampede": run_stampede,
    "mixed load with invalidations": run_mixed,
    "death of a primary": run_failover,
    "primary spared (control)": run_control,
}


def table(results: dict[str, dict[str, Row]]) -> Iterator[str]:
    for part, rows in results.items():
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        yield from (f"### {part}", "", f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|")
        for name, row in rows.items():
            yield f"| {name} | {' | '.join(str(row.get(column, '')) for column in columns)} |"
        yield ""


def main() -> None:
    """Run the parts asked for, or play one process's role."""
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.md")
    parser.add_argument("--only", type=word_of(PARTS), help="run the parts whose name contains this")
    parser.add_argument("--seconds", type=float, default=30.0, help="of load, in each part (default 30)")
    for hidden in ("--role", "--url", "--number"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        report = asyncio.run(ROLES[options.role](options.url, options.seconds, int(options.number)))
        print(json.dumps(report))
        return
    about, results = heading(f"python benchmarks/redis_fleet.py --seconds {options.seconds:g}"), {}
    for name, part in PARTS.items():
        if options.only is None or options.only in name:
            print(f"-- {name}", file=sys.stderr, flush=True)
            results[name] = part(options.seconds)
    text = page("A fleet on one Redis", about, "\n".join(table(results)))
    print(text)
    keep(options.out, {"about": about, "results": results}, text)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
