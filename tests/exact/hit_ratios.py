"""Traffic of known shape, and how often it hits: the eviction policy alone, the memory around it, and LRU."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from itertools import chain, islice

from cachelayer.exact.memory.eviction import Eviction
from cachelayer.exact.memory.slot import GROUP_OVERHEAD, Slot
from cachelayer.exact.memory.table import Memory


def slot_of(key: int, weight: int = 1000, cost: float = 0.0) -> Slot:
    digest = int.from_bytes(blake2b(b"%d" % key, digest_size=16).digest(), "little")
    return Slot(digest, b"", None, weight, cost=cost, id=key)


class Cache:
    """The policy alone, with a table of its own; hits leave their time unless `timed` is False."""

    def __init__(self, capacity: int, *, timed: bool = True) -> None:
        self.policy, self.capacity, self.timed = Eviction(capacity), capacity, timed
        self.table: dict[int, Slot] = {}
        self.bytes = self.hits = self.now = 0

    def ask(self, key: int, weight: int = 1000, cost: float = 0.0) -> bool:
        self.now += 1
        slot = self.table.get(key)
        if slot is not None:
            slot.hits += 1
            slot.used = float(self.now) if self.timed else 0.0
            self.hits += 1
            return True
        while self.bytes + weight > self.capacity:
            victim = self.policy.evict(float(self.now))
            assert victim is not None
            self.bytes -= self.table.pop(victim.id).weight
        self.table[key] = slot = slot_of(key, weight, cost)
        self.bytes += weight
        self.policy.add(slot, float(self.now))
        return False

    def check(self) -> None:
        assert all(holds for _, holds in self.policy.invariants(list(self.table.values())))


def hit_ratio(trace: Iterable[int], slots: int, *, timed: bool = True) -> float:
    cache, n = Cache(slots * 1000, timed=timed), 0
    for n, key in enumerate(trace, 1):  # noqa: B007
        cache.ask(key)
    cache.check()
    return cache.hits / n


def memory_ratio(trace: Iterable[int], slots: int) -> float:
    """Of a memory with as much room."""
    memory, hits, n = Memory(slots * 1000 + GROUP_OVERHEAD, max_item_bytes=2000), 0, 0
    for n, key in enumerate(trace, 1):
        slot = slot_of(key)
        found = memory.get(slot.digest, b"") is not None
        hits += found or not memory.put(slot, float(n))
    return hits / n


def lru_ratio(trace: Iterable[int], slots: int) -> float:
    held: OrderedDict[int, None] = OrderedDict()
    hits = n = 0
    for n, key in enumerate(trace, 1):  # noqa: B007
        if key in held:
            held.move_to_end(key)
            hits += 1
        else:
            held[key] = None
            if len(held) > slots:
                held.popitem(last=False)
    return hits / n


def zipf(n: int, items: int, exponent: float, seed: int = 1) -> list[int]:
    weights = [1.0 / (rank + 1) ** exponent for rank in range(items)]
    return random.Random(seed).choices(range(items), weights, k=n)


def drifting(n: int) -> list[int]:
    return [key + i // 10 for i, key in enumerate(zipf(n, 1_000, 1.0))]


def scanned(n: int) -> list[int]:
    popular, scan = iter(zipf(n // 2, 2_000, 0.9)), iter(range(10**6, 10**6 + n))
    return list(chain.from_iterable([*islice(popular, 500), *islice(scan, 500)] for _ in range(n // 1000)))


TRACES = {
    "popular": zipf(30_000, 5_000, 0.9),
    "drifting": drifting(30_000),
    "scanned": scanned(30_000),
}
