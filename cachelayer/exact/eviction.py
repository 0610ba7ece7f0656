"""Who must go: the eviction policy of the in-process tier. Pure; weights in bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .slot import Slot

WINDOW, MAIN = 1, 2


class Ring:
    """A queue of slots linked through themselves: append, unlink, oldest first in O(1), no allocation."""

    __slots__ = ("bytes", "count", "home", "root")

    def __init__(self, home: int) -> None:
        self.home = home
        self.root = root = Slot(0, b"", None, 0)
        root.prev = root.next = root
        self.bytes = self.count = 0

    def append(self, slot: Slot) -> None:
        root = self.root
        last = root.prev
        slot.prev, slot.next = last, root
        last.next = root.prev = slot
        slot.home = self.home
        self.bytes += slot.weight
        self.count += 1

    def unlink(self, slot: Slot) -> None:
        before, after = slot.prev, slot.next
        before.next, after.prev = after, before
        del slot.prev, slot.next
        slot.home = 0
        self.bytes -= slot.weight
        self.count -= 1

    def __iter__(self) -> Iterator[Slot]:
        slot = self.root.next
        while slot is not self.root:
            yield slot
            slot = slot.next


class Eviction:
    """A window in front of a main CLOCK; lazy promotion."""

    def __init__(self, max_bytes: int) -> None:
        self.max_window = max_bytes // 10
        self.window, self.main = Ring(WINDOW), Ring(MAIN)

    def add(self, slot: Slot) -> None:
        slot.seen = slot.freq = 0
        self.window.append(slot)

    def remove(self, slot: Slot) -> None:
        (self.window if slot.home == WINDOW else self.main).unlink(slot)

    def reweigh(self, slot: Slot, by: int) -> None:
        """`slot` grew by `by` bytes (negative: shrank)."""
        slot.weight += by
        (self.window if slot.home == WINDOW else self.main).bytes += by

    def victim(self, newest: Slot) -> Slot | None:
        """The slot to evict, never `newest`; None where nothing else is left."""
        window, main = self.window, self.main
        while window.bytes > self.max_window or not main.count:
            slot = window.root.next
            if slot is newest:
                if slot.next is window.root:
                    break
                window.unlink(slot)
                window.append(slot)
                continue
            if slot.hits == slot.seen:
                return slot
            slot.seen = slot.hits
            window.unlink(slot)
            main.append(slot)
        while main.count:
            slot = main.root.next
            if slot is newest:
                if main.count == 1:
                    break
            elif slot.hits == slot.seen:
                return slot
            slot.seen = slot.hits
            main.unlink(slot)
            main.append(slot)
        return None

    def invariants(self, slots: Sequence[Slot]) -> Iterator[tuple[str, bool]]:
        """What must hold where exactly `slots` are in memory, and whether it does; O(n), for tests."""
        rings = (self.window, self.main)
        yield "queued", {slot for ring in rings for slot in ring} == set(slots)
        for ring in rings:
            yield "home", all(slot.home == ring.home for slot in ring)
            yield "count", ring.count == sum(1 for _ in ring)
            yield "ring bytes", ring.bytes == sum(slot.weight for slot in ring)
