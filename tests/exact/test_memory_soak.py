"""Many operations in a row: the memory ends intact, within its budget and no larger than it says."""

from __future__ import annotations

import gc
import random
import tracemalloc

import pytest

from cachelayer.exact.memory.invariants import check
from cachelayer.exact.memory.table import Memory, Raws, Slot, weight_of

BUDGET = 1 << 20


def churn(memory: Memory, raws: Raws, operations: int, seed: int) -> int:
    """Mixed traffic over 5,000 requests; returns the number of hits. Every hit is checked."""
    rng, hits, now = random.Random(seed), 0, 0.0
    for i in range(operations):
        now += 0.01
        key = int(rng.paretovariate(0.7)) % 5_000
        canonical, act = b"%d" % key * 10, rng.random()
        pair = raws.get(key)
        if pair is not None and pair[0] == canonical and pair[1].fresh_until > now:
            pair[1].hits += 1
            pair[1].used = now
            hits += 1
            assert pair[1].answer[0] == key
        elif (slot := memory.get(key * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, canonical)) is not None:
            assert slot.answer[0] == key
            memory.link(slot, raws, key, canonical)
        else:
            nbytes, ttl = rng.choice((100, 1_000, 1_000, 9_000)), rng.choice((5.0, 600.0))
            tags = (f"tag {key % 50}",) if act < 0.3 else ()
            slot = Slot(
                key * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128, canonical, (key, bytes(nbytes)),
                weight_of(canonical, nbytes + 200, tags), cost=rng.expovariate(1.0), created=now,
                fresh_until=now + ttl, stale_until=now + ttl, tags=tags, scope=b"scope %d" % (key % 7), id=i,
            )  # fmt: skip
            memory.put(slot, now)
        if act > 0.9995:
            for slot in memory.by_tag(f"tag {key % 50}"):
                memory.remove(slot)
    return hits


def soak(operations: int) -> None:
    memory, raws = Memory(BUDGET, max_item_bytes=BUDGET // 8), {}
    hits = churn(memory, raws, operations // 2, 1)
    check(memory)
    gc.collect()
    tracemalloc.start()
    hits += churn(memory, raws, operations // 2, 2)
    gc.collect()
    growth = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    check(memory)
    # At most everything held was made anew while traced: nothing else may have grown.
    assert growth <= 1.05 * BUDGET
    assert operations * 0.3 < hits < operations
    assert {id(pair[1]) for pair in raws.values()} <= {id(slot) for slot in memory}
    memory.clear()
    check(memory)
    assert memory.bytes == 0 and not raws


def test_fifty_thousand_operations_leave_the_memory_intact() -> None:
    soak(50_000)


@pytest.mark.soak
def test_a_million_operations_leave_the_memory_intact() -> None:
    soak(1_000_000)
