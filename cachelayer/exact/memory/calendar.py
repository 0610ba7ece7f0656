"""A queue of slots by the time of their turn, nearly sorted, in constant time. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from math import frexp, ldexp

from .slot import Slot

_FINENESS = 8
_MIN_WIDTH = -20


class Calendar:
    """Slots in buckets, each 1/256 to 1/128 wide of the time that the queue spans; any order within a bucket.

    `add`, `discard` and `front` in amortized O(1); after Brown's calendar queue (CACM 1988). `life` is for its
    owner: the mean age of the slots that were evicted from here, in seconds.
    """

    __slots__ = ("_buckets", "_starts", "_until", "_width", "bytes", "count", "home", "life")

    def __init__(self, home: int) -> None:
        self.home = home
        self.bytes = self.count = 0
        self.life = 0.0
        self._buckets: dict[float, list[Slot]] = {}
        self._starts: list[float] = []
        self._width = 1.0
        self._until = float("-inf")

    def __iter__(self) -> Iterator[Slot]:
        for bucket in self._buckets.values():
            yield from bucket

    def add(self, slot: Slot, turn: float) -> None:
        """Let `slot`, which is in no queue, have its turn at `turn` seconds."""
        if turn >= self._until:
            self._rescale(turn)
        slot.turn = start = turn // self._width * self._width
        bucket = self._buckets.get(start)
        if bucket is None:
            bucket = self._buckets[start] = []
            heappush(self._starts, start)
        slot.rank = len(bucket)
        bucket.append(slot)
        slot.home = self.home
        self.bytes += slot.weight
        self.count += 1

    def discard(self, slot: Slot) -> None:
        """Take out `slot`, which is in this queue."""
        bucket = self._buckets[slot.turn]
        last = bucket.pop()
        if last is not slot:
            bucket[slot.rank] = last
            last.rank = slot.rank
        slot.home = 0
        self.bytes -= slot.weight
        self.count -= 1

    def front(self) -> Slot | None:
        """A slot whose turn is first, None if there is none."""
        starts, buckets = self._starts, self._buckets
        while starts:
            bucket = buckets[starts[0]]
            if bucket:
                return bucket[-1]
            del buckets[heappop(starts)]
            self._until = float("-inf")
        return None

    def _rescale(self, turn: float) -> None:
        first = self._starts[0] if self._starts else turn
        self._width = ldexp(1.0, max(frexp(turn - first)[1] - _FINENESS, _MIN_WIDTH))
        self._until = first + ldexp(self._width, _FINENESS)
