"""Hit ratio of the in-process memory beside other eviction policies and the optimum, and what an insertion costs.

    python benchmarks/eviction.py mooncake_conversation_trace.jsonl.gz ... --out benchmarks/results/eviction

Traces given on the command line are Mooncake's (JSON lines with `hash_ids`); synthetic ones are always run. Items are
of one size and cost in the first table; of many in the second. Writes OUT.json, OUT.md and OUT.png.
"""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import heapq
import pathlib
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from eviction_peers import ONLINE, belady
from eviction_plot import plot
from eviction_traces import recorded, synthetic, zipf
from record import heading, keep, page, parser_of, table

from cachelayer.exact.memory.invariants import check
from cachelayer.exact.memory.table import Memory, Slot, weight_of

UNIT = 1 << 20
"""Weight of an item where all are alike: so heavy that the memory's own overhead does not count."""
Sizes = dict[int, tuple[int, float]]


@functools.cache
def digest(key: int) -> int:
    return random.Random(key).getrandbits(128)


def cachelayer(
    trace: Sequence[int], capacity: int, sizes: Sizes | None = None, timed: bool = True
) -> list[int]:
    """Positions in the trace of the hits. Hits go past the memory, through a table of slots, as in the layer.

    `sizes` maps a key to its bytes and cost; `timed` False leaves out the time that a hit leaves in the slot.
    """
    table: dict[int, Slot] = {}
    budget = capacity if sizes else capacity * UNIT + UNIT - 1

    def gone(slot: Slot, why: str) -> None:
        del table[slot.id]

    memory = Memory(budget, max_item_bytes=budget, on_evict=gone)
    hits: list[int] = []
    now = 1000.0
    for position, key in enumerate(trace):
        now += 0.01
        slot = table.get(key)
        if slot is not None:
            slot.hits += 1
            if timed:
                slot.used = now
            hits.append(position)
            continue
        weight, cost = sizes[key] if sizes else (UNIT, 1.0)
        slot = Slot(digest(key), b"", None, weight, cost=cost, id=key)
        table[key] = slot
        if not memory.put(slot, now):
            del table[key]
    check(memory)
    return hits


def cell(job: tuple[str, list[int], float]) -> dict[str, Any]:
    """Hit ratios in percent of every policy on one trace at one size."""
    name, trace, share = job
    capacity = max(4, int(len(set(trace)) * share))
    hits = {policy: run(trace, capacity) for policy, run in ONLINE.items()}
    hits["cachelayer"] = len(cachelayer(trace, capacity))
    hits["cachelayer, hits untimed"] = len(cachelayer(trace, capacity, timed=False))
    hits["Belady"] = belady(trace, capacity)
    return {
        "trace": name,
        "share": share,
        "slots": capacity,
        **{policy: round(100 * n / len(trace), 2) for policy, n in hits.items()},
    }


def weighted(trace: list[int], budget: int, sizes: Sizes, policy: str) -> tuple[float, float]:
    """Hit ratio, and share of the cost saved, in percent, with items of unequal size and cost."""
    if policy.startswith("cachelayer"):
        known = sizes if policy == "cachelayer" else {key: (size, 0.0) for key, (size, _) in sizes.items()}
        hits = cachelayer(trace, budget, sizes=known)
    else:
        hits = greedy_dual(trace, budget, sizes, policy)
    total = sum(sizes[key][1] for key in trace)
    return 100 * len(hits) / len(trace), 100 * sum(sizes[trace[i]][1] for i in hits) / total


def greedy_dual(trace: Sequence[int], budget: int, sizes: Sizes, policy: str) -> list[int]:
    """LRU by bytes, or GDSF (Cherkasova, HPL-98-69): the least L + uses * cost / bytes goes, L being the latest's."""
    uses: dict[int, int] = {}
    value: dict[int, float] = {}
    heap: list[tuple[float, int]] = []
    inflation, held = 0.0, 0
    hits: list[int] = []
    for position, key in enumerate(trace):
        size, cost = sizes[key]
        if key in value:
            hits.append(position)
        else:
            held += size
            uses[key] = 0
        uses[key] += 1
        value[key] = float(position) if policy == "LRU" else inflation + uses[key] * cost / size
        heapq.heappush(heap, (value[key], key))
        while held > budget:
            worth, victim = heapq.heappop(heap)
            if value.get(victim) == worth:
                inflation = worth
                del value[victim]
                held -= sizes[victim][0]
    return hits


def unequal(n: int, seed: int) -> list[dict[str, Any]]:
    """LLM-like answers: sizes and costs lognormal, apart from each other, or cost in proportion to size."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in ("cost apart from size", "cost in proportion to size"):
        items = n // 4
        size = np.clip(rng.lognormal(7.0, 1.0, items), 200, 200_000).astype(int)
        cost = rng.lognormal(0.0, 1.5, items) if name.startswith("cost apart") else size / 1000 + 0.05
        sizes = {i: (int(size[i]) + 1000, float(cost[i])) for i in range(items)}
        trace = zipf(n, items, 0.9, rng).tolist()
        for share in (0.02, 0.1):
            budget = int(sum(s for s, _ in sizes.values()) * share)
            for policy in ("LRU", "GDSF", "cachelayer, costs unknown", "cachelayer"):
                ratio, saved = weighted(trace, budget, sizes, policy)
                rows.append(
                    {
                        "items": name,
                        "share": share,
                        "policy": policy,
                        "hit %": round(ratio, 2),
                        "saved %": round(saved, 2),
                    }
                )
    return rows


def put_cost(slots: int) -> dict[str, Any]:
    """Microseconds per insertion, eviction included, with `slots` held; and the longest one by CPU time."""
    rng, n = random.Random(1), 60_000
    weight = weight_of(bytes(600), 1073)
    memory = Memory(slots * weight, max_item_bytes=1 << 20)

    def slot(i: int) -> Slot:
        now = 0.001 * i
        return Slot(
            rng.getrandbits(128), b"%d" % i * 100, None, weight_of(bytes(600), 1073),
            1.0, now, now + 86_400, now + 86_400, (), b"scope", i,
        )  # fmt: skip

    for i in range(slots):
        memory.put(slot(i), 0.001 * i)
    coming = [slot(i) for i in range(slots, slots + n)]
    gc.collect()
    gc.disable()
    wall, cpu = (
        timed_puts(memory, coming[half::2], clock)
        for half, clock in ((0, time.perf_counter_ns), (1, time.thread_time_ns))
    )
    gc.enable()
    return {
        "slots": len(memory),
        "p50_us": round(statistics.median(wall), 2),
        "p99_us": round(wall[int(0.99 * len(wall))], 2),
        "longest_cpu_us": round(cpu[-1], 1),
    }


def timed_puts(memory: Memory, coming: list[Slot], clock: Callable[[], int]) -> list[float]:
    """Microseconds that each insertion took by `clock`, ascending; reading the clock is part of them."""
    took = []
    for new in coming:
        start = clock()
        memory.put(new, new.created)
        took.append((clock() - start) / 1000)
    return sorted(took)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """How far cachelayer is from LRU and from the best online policy, at worst."""
    against_lru = min(rows, key=lambda row: row["cachelayer"] - row["LRU"])
    best = {id(row): max(row[policy] for policy in ONLINE) for row in rows}
    behind = sorted(rows, key=lambda row: row["cachelayer"] - best[id(row)])
    lines = [
        f"* least lead over LRU: {against_lru['cachelayer'] - against_lru['LRU']:+.2f} points "
        f"({against_lru['trace']}, {against_lru['share']:.1%})"
    ]
    return lines + [
        f"* behind the best online policy: {row['cachelayer'] - best[id(row)]:+.2f} points "
        f"({row['trace']}, {row['share']:.1%})"
        for row in behind[:8]
    ]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("traces", nargs="*", type=pathlib.Path, help="Mooncake traces, .jsonl or .jsonl.gz")
    parser.add_argument(
        "--out", type=pathlib.Path, help="path without suffix; prints only where it is not given"
    )
    parser.add_argument("--accesses", type=int, default=200_000, help="length of the synthetic traces")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    traces = {
        path.name.split(".")[0].replace("_trace", "").replace("_", " "): recorded(path)
        for path in args.traces
    }
    traces |= dict(synthetic(args.accesses, args.seed))
    jobs = [(name, trace, share) for name, trace in traces.items() for share in args.shares]
    about = heading("python benchmarks/eviction.py " + " ".join(path.name for path in args.traces))
    with concurrent.futures.ProcessPoolExecutor(args.processes) as pool:
        rows = list(pool.map(cell, jobs))
    costs = [put_cost(slots) for slots in (1_000, 10_000, 100_000)]
    result = {
        **about,
        "accesses": {name: [len(trace), len(set(trace))] for name, trace in traces.items()},
        "hit_ratio": rows,
        "unequal": unequal(args.accesses // 2, args.seed),
        "put": costs,
    }
    text = page(
        "Eviction",
        result,
        "\n".join(summary(rows)).strip("\n"),
        *("### hit ratio, %, items alike", table(rows, str)),
        *("### items of unequal size and cost", table(result["unequal"], str)),
        *("### one insertion, its eviction included", table(costs, str)),
    )
    print(text)
    keep(args.out, result, text)
    if args.out:
        plot(rows, args.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
