"""How much memory a full in-process tier takes, by tracemalloc, beside the budget it was given.

    python benchmarks/memory_growth.py --out benchmarks/results/memory_growth

Each case starts from nothing, inserts until the budget has been filled twice over, and counts what is allocated then:
answers, canonical and raw forms, slots, tables, indexes. Writes OUT.json and OUT.md.
"""

from __future__ import annotations

import gc
import itertools
import pathlib
import random
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

from record import heading, keep, page, parser_of, table

from cachelayer import CacheLayer, Policy
from cachelayer.exact.memory.invariants import check
from cachelayer.exact.memory.table import Memory, Slot, weight_of

Held = tuple[object, int, int]
"""What keeps the memory alive, entries held, bytes it says that it holds."""


def memory(budget: int, answer_bytes: int, tags: int) -> Held:
    """The memory alone: requests of 600 characters, one raw form each, an hour to live, hits now and then."""
    held, raws, rng = (
        Memory(budget, max_item_bytes=budget // 8),
        dict[int, tuple[bytes, Slot]](),
        random.Random(1),
    )
    inserted = i = 0
    while inserted < 2 * budget:
        i += 1
        now, canonical = 0.001 * i, b"%012d" % i * 50
        answer = f"{i:08d}" * (answer_bytes // 8)
        tagged = tuple(f"tag {(i + n) % 500}" for n in range(tags))
        slot = Slot(
            rng.getrandbits(128), canonical, answer, weight_of(canonical, sys.getsizeof(answer), tagged),
            1.0 + rng.random(), now, now + 3600.0, now + 3600.0, tagged, bytes(bytearray(b"scope")), i,
        )  # fmt: skip
        held.put(slot, now)
        raw = bytes(bytearray(canonical))
        held.link(slot, raws, hash(raw), raw)
        if i % 3 == 0:
            slot.hits += 1
            slot.used = now + 0.0005
        inserted += slot.weight
    check(held)
    return (held, raws), len(held), held.bytes


def layer(budget: int, answer_bytes: int, chat: bool) -> Held:
    """Through the decorator of a plain function: a question, or a chat request of about 600 characters."""
    cached = CacheLayer(policy=Policy(max_bytes=budget, semantic=False))
    numbers = itertools.count()

    @cached.cached(semantic=False)
    def ask(question: str) -> str:
        return f"{next(numbers):08d}" * (answer_bytes // 8)

    @cached.cached(semantic=False)
    def complete(messages: list[dict[str, str]], model: str = "m", temperature: float = 0.0) -> str:
        return f"{next(numbers):08d}" * (answer_bytes // 8)

    for i in range(2 * budget // (answer_bytes + 1000)):
        if chat:
            system = {"role": "system", "content": "You are a helpful assistant. " * 10}
            complete(
                messages=[system, {"role": "user", "content": f"{i:010d}" * 25}], model="m", temperature=0.0
            )
        else:
            ask(f"question {i:010d} " * 5)
    stats = cached.stats()
    return cached, stats["entries"], stats["bytes"]


def measure(name: str, fill: Callable[[int], Held], budget: int) -> dict[str, Any]:
    fill(1 << 20)  # what is made once per process (modules, caches of methods) is not growth
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    held, entries, says = fill(budget)
    gc.collect()
    growth, peak = (n - before for n in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    del held
    gc.collect()
    return {
        "case": name,
        "entries": entries,
        "says MiB": round(says / 2**20, 2),
        "growth MiB": round(growth / 2**20, 2),
        "growth / budget": round(growth / budget, 3),
        "peak / budget": round(peak / budget, 3),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--budget", type=float, default=64.0, help="MiB")
    parser.add_argument("--answer", type=int, default=1024, help="characters of an answer")
    parser.add_argument(
        "--out", type=pathlib.Path, help="path without suffix; prints only where it is not given"
    )
    args = parser.parse_args()
    budget, size = int(args.budget * 2**20), args.answer
    cases: dict[str, Callable[[int], Held]] = {
        "memory alone": lambda budget: memory(budget, size, tags=0),
        "memory alone, 3 tags an entry": lambda budget: memory(budget, size, tags=3),
        "layer, one string": lambda budget: layer(budget, size, chat=False),
        "layer, chat request": lambda budget: layer(budget, size, chat=True),
    }
    result = heading(f"python benchmarks/memory_growth.py --budget {args.budget:g} --answer {size}")
    rows = [measure(name, fill, budget) for name, fill in cases.items()]
    result |= {"budget MiB": args.budget, "rows": rows}
    text = page("Growth of a full in-process tier", result, table(rows, str), also=["budget MiB"])
    print(text)
    keep(args.out, result, text)


if __name__ == "__main__":
    main()
