r"""Candidate search through the index, beside bare FAISS indexes of the same vectors, in the same run.

    OMP_NUM_THREADS=1 python benchmarks/search.py --data DIR [DIR ...] --vectors V.npy \
        --graphs DIR --out benchmarks/results/search

One task: every system answers the same changing queries in turn; p50 and p99 of single calls. Many tasks: each system
in turn for a second, several rounds, median; bare indexes are called one by one on the loop, the index through
`Searches`. Recall@8 is against exact search. Vectors are real: int8 MiniLM over the texts of --data.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import corpus
import faiss
import numpy as np
from bare_faiss import K, Search, Vectors, bare
from numpy.typing import NDArray
from record import heading, keep, page, parser_of, table

from cachelayer.semantic.index.faiss_cpu import FaissIndex
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.semantic.index.searches import Searches

QUERIES = 1000


def one_task(systems: dict[str, Search], queries: Vectors) -> dict[str, tuple[float, float]]:
    """(p50, p99) in microseconds; systems take turns in random order, query by query."""
    took: dict[str, list[float]] = {name: [] for name in systems}
    order = list(systems)
    for i in range(len(queries)):
        random.shuffle(order)
        for name in order:
            begun = time.perf_counter()
            systems[name](queries[i : i + 1])
            took[name].append(time.perf_counter() - begun)
    return {name: corpus.percentiles(values[50:]) for name, values in took.items()}


async def many_tasks(
    search: Callable[[Vectors], Awaitable[object]], queries: Vectors, tasks: int, seconds: float
) -> float:
    """Lookups per second of `tasks` tasks."""
    done, end = 0, time.perf_counter() + seconds

    async def worker(number: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await search(queries[(number * 31 + done) % len(queries)])
            done += 1
            await asyncio.sleep(0)

    begun = time.perf_counter()
    await asyncio.gather(*(worker(i) for i in range(tasks)))
    return done / (time.perf_counter() - begun)


def throughput(
    systems: dict[str, Search], index: FaissIndex, queries: Vectors, args: argparse.Namespace
) -> dict[str, float]:
    rates: dict[str, list[float]] = {}

    async def rounds() -> None:
        for _ in range(args.rounds):
            for name, search in systems.items():

                async def direct(q: Vectors, search: Search = search) -> object:
                    return search(q[None])

                rates.setdefault(name, []).append(await many_tasks(direct, queries, args.tasks, args.seconds))
            for name, workers in (("index, 1 worker", 1), ("index", None)):
                door = Searches(index, workers=workers)

                async def through(q: Vectors, door: Searches = door) -> object:
                    return await door.search(b"p", q, K)

                rates.setdefault(name, []).append(
                    await many_tasks(through, queries, args.tasks, args.seconds)
                )
                await door.aclose()

    asyncio.run(rounds())
    return {name: statistics.median(values) for name, values in rates.items()}


def recall(search: Search, exact: NDArray[np.int64], queries: Vectors) -> float:
    found = [search(q[None])[1][0] for q in queries]
    return float(
        np.mean(
            [
                len(set(f.tolist()) & set(e.tolist())) / K
                for f, e in zip(found, exact[: len(found)], strict=True)
            ]
        )
    )


def measure(size: int, rows: Vectors, queries: Vectors, args: argparse.Namespace) -> dict[str, object]:
    _, exact = faiss.knn(queries, rows, K, metric=faiss.METRIC_INNER_PRODUCT)
    index, packed = FaissIndex(rows.shape[1]), PackedIndex(rows.shape[1])
    for each in (index, packed):
        each.add(b"p", np.arange(size, dtype=np.int64), rows)
    begun = time.perf_counter()
    index.maintain()
    promoted = time.perf_counter() - begun
    sieve = index._partitions[b"p"].view.sieve
    systems = bare(rows, sieve.compared if sieve else 0, args.graphs)
    ours = {
        "index": lambda q: index.search(b"p", q, K),
        "packed (no FAISS)": lambda q: packed.search(b"p", q, K),
    }
    alone = one_task({**systems, **ours}, queries)
    rates = throughput(systems, index, queries, args)
    names = {**systems, **ours}
    got = {name: recall(search, exact, queries[:500]) for name, search in names.items()}
    good = [name for name in systems if got[name] >= min(got["index"], 0.995) - 0.002]
    floor = min(good, key=lambda name: alone[name][0])
    table = [
        {
            "system": name,
            "p50 us": alone.get(name, (float("nan"), 0))[0],
            "p99 us": alone.get(name, (0, float("nan")))[1],
            f"lookups/s, {args.tasks} tasks": rates.get(name, float("nan")),
            "recall@8": got.get(name, got["index"]),
        }
        for name in {**names, **rates}
    ]
    ratios = {
        "floor": floor,
        "p50: index / floor": alone["index"][0] / alone[floor][0],
        "rate: index / bare HNSW": rates["index"] / rates.get("bare HNSW32", float("nan")),
        "rate: index / bare flat": rates["index"] / rates["bare flat"],
        "promotion, s in the background": promoted,
    }
    return {"entries": size, "table": table, "ratios": ratios}


def stalls(rows: Vectors) -> dict[str, float]:
    """CPU milliseconds of the loop's thread in one callback, while entries arrive one by one and a thread maintains."""
    index, took = FaissIndex(rows.shape[1]), []

    async def scenario() -> None:
        loop, tending = asyncio.get_running_loop(), None
        for number in range(len(rows)):
            begun = time.thread_time()
            index.add(b"p", np.array([number], np.int64), rows[number : number + 1])
            if index.due and (tending is None or tending.done()):
                tending = loop.run_in_executor(None, index.maintain)
            took.append(time.thread_time() - begun)
            await asyncio.sleep(0.05 if number % 64 == 0 else 0)  # as embedding would take
        index.close()
        if tending is not None:
            await tending

    asyncio.run(scenario())
    return {
        "longest": max(took) * 1e3,
        "p99.9": float(np.percentile(took, 99.9)) * 1e3,
        "p50": statistics.median(took) * 1e3,
    }


def bookkeeping(scopes: int, entries: int, width: int) -> float:
    """Resident bytes per entry beyond its vector, in a process of its own; entries arrive one by one."""
    index = PackedIndex(width)
    row = np.zeros((1, width), np.float32)
    row[0, 0] = 1
    keys = [b"scope %020d" % i for i in range(scopes)]
    index.add(b"warm", np.array([1 << 40]), row)
    before, number = _resident(), 0
    for _ in range(entries):
        for key in keys:
            index.add(key, np.array([number], np.int64), row)
            number += 1
    return (_resident() - before) / number - 4 * width


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--data", nargs="+", type=Path, default=[], help="files or folders of .jsonl.gz with texts"
    )
    parser.add_argument("--vectors", type=Path, help="where to keep the vectors of --data (.npy)")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 10_000, 100_000])
    parser.add_argument("--graphs", type=Path, help="where to keep the bare HNSW graphs between runs")
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--stalls", type=int, default=100_000, help="entries of the stall measurement")
    parser.add_argument("--seconds", type=float, default=1.0, help="per system and round, many tasks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--bookkeeping", nargs=3, type=int, metavar=("SCOPES", "ENTRIES", "WIDTH"), help="only this"
    )
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.md")
    args = parser.parse_args()
    if args.bookkeeping:
        print(json.dumps(bookkeeping(*args.bookkeeping)))
        return
    faiss.omp_set_num_threads(1)
    pool = corpus.vectors(args.data, args.vectors, max(args.sizes) + QUERIES)
    pool = pool[np.random.default_rng(0).permutation(len(pool))]
    queries, rows = pool[:QUERIES].copy(), pool[QUERIES:]
    result = heading("python benchmarks/search.py " + " ".join(_shown(args)))
    result["sizes"] = [measure(n, rows[:n], queries, args) for n in args.sizes]
    result["bookkeeping, bytes per entry"] = {
        f"{scopes:,} scopes of {entries:,} ({width} dimensions)": _in_a_process_of_its_own(
            scopes, entries, width
        )
        for scopes, entries, width in ((1, 100_000, 384), (100_000, 10, 16), (20_000, 10, 384))
    }
    longest = min(max(args.sizes), args.stalls)
    result["stalls"] = {"entries": longest, **stalls(rows[:longest])}
    text = _markdown(result)
    print(text)
    keep(args.out, result, text)


def _shown(args: argparse.Namespace) -> list[str]:
    return ["--data ...", f"--tasks {args.tasks} --seconds {args.seconds:g} --rounds {args.rounds}"]


def _in_a_process_of_its_own(*numbers: int) -> float:
    command = [sys.executable, __file__, "--bookkeeping", *map(str, numbers)]
    return float(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout))


def _markdown(result: dict[str, Any]) -> str:
    lines: list[str] = []
    for size in result["sizes"]:
        lines += ["", f"## {size['entries']:,} entries", "", table(size["table"]), ""]
        lines += [
            f"- {name}: {value if isinstance(value, str) else round(value, 2)}"
            for name, value in size["ratios"].items()
        ]
    lines += ["", "## Bookkeeping, resident bytes per entry beyond its vector", ""]
    lines += [f"- {name}: {value:.0f}" for name, value in result["bookkeeping, bytes per entry"].items()]
    stall = dict(result["stalls"])
    lines += [
        "",
        f"## One insertion on the loop while {stall.pop('entries'):,} arrive and a thread promotes, CPU ms",
        "",
    ]
    lines += [f"- {name}: {value:.3f}" for name, value in stall.items()]
    return page("Candidate search", result, "\n".join(lines).lstrip("\n"))


if __name__ == "__main__":
    main()
