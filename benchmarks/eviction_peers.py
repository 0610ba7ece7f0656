"""Eviction policies to compare with, on items of one size: each takes a trace and a capacity and returns its hits."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Sequence

Policy = Callable[[Sequence[int], int], int]


def lru(trace: Sequence[int], capacity: int) -> int:
    held: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for key in trace:
        if key in held:
            held.move_to_end(key)
            hits += 1
        else:
            held[key] = None
            if len(held) > capacity:
                held.popitem(last=False)
    return hits


def clock(trace: Sequence[int], capacity: int) -> int:
    """FIFO with a second chance for what was hit (Corbato 1968)."""
    held: OrderedDict[int, bool] = OrderedDict()
    hits = 0
    for key in trace:
        if key in held:
            held[key] = True
            hits += 1
            continue
        while len(held) >= capacity:
            victim, spared = held.popitem(last=False)
            if spared:
                held[victim] = False
        held[key] = False
    return hits


def sieve(trace: Sequence[int], capacity: int) -> int:
    """SIEVE (Zhang et al., NSDI 2024): a hand moves from old to new, survivors stay where they are."""
    visited: dict[int, bool] = {}
    newer: dict[int, int | None] = {}
    older: dict[int, int | None] = {}
    newest: int | None = None
    oldest: int | None = None
    hand: int | None = None
    hits = 0
    for key in trace:
        if key in visited:
            visited[key] = True
            hits += 1
            continue
        if len(visited) >= capacity:
            victim = hand if hand is not None else oldest
            while victim is None or visited[victim]:
                if victim is not None:
                    visited[victim] = False
                    victim = newer[victim]
                if victim is None:
                    victim = oldest
            before, after = older.pop(victim), newer.pop(victim)
            del visited[victim]
            hand = after
            if before is None:
                oldest = after
            else:
                newer[before] = after
            if after is None:
                newest = before
            else:
                older[after] = before
        visited[key], older[key], newer[key] = False, newest, None
        if newest is not None:
            newer[newest] = key
        newest = key
        oldest = key if oldest is None else oldest
    return hits


def s3_fifo(trace: Sequence[int], capacity: int) -> int:
    """S3-FIFO (Yang et al., SOSP 2023): a small queue of a tenth, a main queue with up to three lives, ghosts."""
    small: OrderedDict[int, None] = OrderedDict()
    main: OrderedDict[int, None] = OrderedDict()
    ghosts: OrderedDict[int, None] = OrderedDict()
    uses: dict[int, int] = {}
    small_size = max(1, capacity // 10)
    hits = 0
    for key in trace:
        if key in uses:
            uses[key] = min(uses[key] + 1, 3)
            hits += 1
            continue
        while len(uses) >= capacity:
            if len(small) >= small_size or not main:
                victim, _ = small.popitem(last=False)
                if uses[victim] > 1:
                    main[victim] = None
                    uses[victim] = 0
                else:
                    del uses[victim]
                    ghosts[victim] = None
                    if len(ghosts) > capacity - small_size:
                        ghosts.popitem(last=False)
            else:
                victim, _ = main.popitem(last=False)
                if uses[victim]:
                    uses[victim] -= 1
                    main[victim] = None
                else:
                    del uses[victim]
        uses[key] = 0
        if key in ghosts:
            del ghosts[key]
            main[key] = None
        else:
            small[key] = None
    return hits


def arc(trace: Sequence[int], capacity: int) -> int:
    """ARC (Megiddo and Modha, FAST 2003)."""
    once: OrderedDict[int, None] = OrderedDict()
    again: OrderedDict[int, None] = OrderedDict()
    once_gone: OrderedDict[int, None] = OrderedDict()
    again_gone: OrderedDict[int, None] = OrderedDict()
    target, hits = 0.0, 0

    def replace(returns: bool) -> None:
        if once and (len(once) > target or (returns and len(once) == target)):
            victim, _ = once.popitem(last=False)
            once_gone[victim] = None
        else:
            victim, _ = again.popitem(last=False)
            again_gone[victim] = None

    for key in trace:
        if key in once:
            del once[key]
            again[key] = None
            hits += 1
        elif key in again:
            again.move_to_end(key)
            hits += 1
        elif key in once_gone:
            target = min(capacity, target + max(1.0, len(again_gone) / len(once_gone)))
            replace(False)
            del once_gone[key]
            again[key] = None
        elif key in again_gone:
            target = max(0.0, target - max(1.0, len(once_gone) / len(again_gone)))
            replace(True)
            del again_gone[key]
            again[key] = None
        else:
            if len(once) + len(once_gone) == capacity:
                if len(once) < capacity:
                    once_gone.popitem(last=False)
                    replace(False)
                else:
                    once.popitem(last=False)
            elif len(once) + len(again) + len(once_gone) + len(again_gone) >= capacity:
                if len(once) + len(again) + len(once_gone) + len(again_gone) >= 2 * capacity:
                    again_gone.popitem(last=False)
                replace(False)
            once[key] = None
    return hits


class WTinyLfu:
    """W-TinyLFU (Einziger, Friedman and Manes, 2017) with the hill climbing of Caffeine (2018), counts exact."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.window: OrderedDict[int, None] = OrderedDict()
        self.probation: OrderedDict[int, None] = OrderedDict()
        self.protected: OrderedDict[int, None] = OrderedDict()
        self.size = max(1, capacity // 100)
        self.counts: dict[int, int] = {}
        self.counted = self.asked = self.hits = 0
        self.step, self.before = -0.0625 * capacity, 0.0

    def ask(self, key: int) -> bool:
        self._count(key)
        hit = self._touch(key)
        self.hits += hit
        if not hit:
            self.window[key] = None
            if len(self.window) > self.size:
                self._admit(self.window.popitem(last=False)[0])
        self.asked += 1
        if self.asked >= 10 * self.capacity:
            self._climb()
        return hit

    def _count(self, key: int) -> None:
        self.counts[key] = min(15, self.counts.get(key, 0) + 1)
        self.counted += 1
        if self.counted >= 10 * self.capacity:
            self.counts = {item: n >> 1 for item, n in self.counts.items() if n > 1}
            self.counted //= 2

    def _touch(self, key: int) -> bool:
        if key in self.window:
            self.window.move_to_end(key)
        elif key in self.protected:
            self.protected.move_to_end(key)
        elif key in self.probation:
            del self.probation[key]
            self.protected[key] = None
            if len(self.protected) > 0.8 * (self.capacity - self.size):
                self.probation[self.protected.popitem(last=False)[0]] = None
        else:
            return False
        return True

    def _admit(self, candidate: int) -> None:
        if len(self.window) + len(self.probation) + len(self.protected) < self.capacity:
            self.probation[candidate] = None
            return
        queue = self.probation or self.protected
        victim = next(iter(queue), None)
        if victim is not None and self.counts.get(candidate, 0) > self.counts.get(victim, 0):
            del queue[victim]
            self.probation[candidate] = None

    def _climb(self) -> None:
        ratio = self.hits / self.asked
        change = ratio - self.before
        step = self.step if change >= 0 else -self.step
        largest = 0.0625 * self.capacity
        self.step = (largest if step > 0 else -largest) if abs(change) >= 0.05 else 0.98 * step
        self.before, self.asked, self.hits = ratio, 0, 0
        self.size = int(min(0.8 * self.capacity, max(1, self.size + step)))
        while len(self.window) > self.size:
            self.probation[self.window.popitem(last=False)[0]] = None
        while len(self.window) < self.size and (queue := self.probation or self.protected):
            moved = queue.popitem(last=False)[0]
            self.window[moved] = None
            self.window.move_to_end(moved, last=False)


def w_tiny_lfu(trace: Sequence[int], capacity: int) -> int:
    cache = WTinyLfu(capacity)
    return sum(cache.ask(key) for key in trace)


def belady(trace: Sequence[int], capacity: int) -> int:
    """The optimum, which knows the future: what is asked for last goes first, newcomers included (Belady 1966)."""
    following = [0] * len(trace)
    latest: dict[int, int] = {}
    for i in range(len(trace) - 1, -1, -1):
        following[i] = latest.get(trace[i], len(trace) + i)
        latest[trace[i]] = i
    held: dict[int, int] = {}
    heap: list[tuple[int, int]] = []
    hits = 0
    for i, key in enumerate(trace):
        hits += key in held
        held[key] = following[i]
        heapq.heappush(heap, (-following[i], key))
        while len(held) > capacity:
            when, victim = heapq.heappop(heap)
            if held.get(victim) == -when:
                del held[victim]
    return hits


ONLINE: dict[str, Policy] = {
    "LRU": lru,
    "CLOCK": clock,
    "SIEVE": sieve,
    "S3-FIFO": s3_fifo,
    "ARC": arc,
    "W-TinyLFU": w_tiny_lfu,
}
