"""A change of the memory that is cut short, wherever it is, costs what is held, and nothing that comes after."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from memory_slots import canonical, digest, slot_for
from short_of_memory import Line, watched

from cachelayer.exact.memory.invariants import check
from cachelayer.exact.memory.table import Gone, Memory, Raws, Slot

FILES = tuple(f"exact/memory/{name}.py" for name in ("table", "eviction", "calendar", "ghosts"))


class Scene:
    """A memory that is full, with everything a change may meet: tags, scopes, raw forms, what expired, ghosts."""

    def __init__(self) -> None:
        self.told: list[Slot] = []
        self.raws: Raws = {}
        self.memory = Memory(24_000, max_item_bytes=12_000, on_evict=self._leaves)
        self.slots: list[Slot] = []
        for key in range(0, 40, 2):
            slot = slot_for(key, key, tags=("a", f"{key}"), scope=b"one", cost=0.1, stale_until=20.0 + key)
            self.slots.append(slot)
            self.memory.put(slot, float(key))
            self.memory.link(slot, self.raws, key, b"raw %d" % key)
            for held in self.memory:
                held.hits += key % 4 == 0
        check(self.memory)
        assert self.told and len(self.memory) > 4

    def _leaves(self, slot: Slot, why: Gone) -> None:
        self.told.append(slot)

    def put(self) -> None:
        self.memory.put(slot_for(0, "new", 9_000, tags=("a", "c"), scope=b"two", stale_until=90.0), 45.0)
        self.memory.put(slot_for(38, "newer", tags=("a",), scope=b"one"), 46.0)

    def link(self) -> None:
        for form in range(100, 106):
            self.memory.link(self.slots[-1], self.raws, form, b"raw")
        self.memory.link(self.slots[-2], self.raws, 105, b"raw")

    def remove(self) -> None:
        self.memory.remove(self.slots[-1])

    def sweep(self) -> None:
        self.memory.sweep(1000.0, 3)

    def clear(self) -> None:
        self.memory.clear()


def lines_of(change: Callable[[Scene], None]) -> list[Line]:
    scene, lines = Scene(), set[Line]()
    with watched(lines, None, *FILES):
        change(scene)
    return sorted(lines)


@pytest.mark.parametrize("change", [Scene.put, Scene.link, Scene.remove, Scene.sweep, Scene.clear])
def test_what_follows_finds_tables_that_agree(change: Callable[[Scene], None]) -> None:
    """`invalidate` raised IndexError, or left answers that it was told of."""
    lines = lines_of(change)
    assert len(lines) > 5
    for line in lines:
        scene = Scene()
        memory, held = scene.memory, list(scene.memory)
        with watched(set(), line, *FILES), pytest.raises(MemoryError):
            change(scene)
        for slot in (*memory.by_tag("a"), *memory.by_scope(b"one")):
            memory.remove(slot)
        assert not memory.by_tag("a") and not memory.by_scope(b"one"), line
        gone = [slot for slot in held if memory.at(slot.digest) is not slot]
        assert set(gone) <= set(scene.told), f"{line}: the disk and the index hear of all that went"
        assert not any(slot.resident or slot.fresh_until > 0 for slot in gone)
        assert all(pair[1].resident for pair in scene.raws.values())
        check(memory)
        assert memory.put(slot_for(2, "later"), 50.0)
        check(memory)


@pytest.mark.parametrize("change", [Scene.put, Scene.remove])
def test_until_then_nothing_is_found_that_may_have_gone(change: Callable[[Scene], None]) -> None:
    for line in lines_of(change):
        scene = Scene()
        with watched(set(), line, *FILES), pytest.raises(MemoryError):
            change(scene)
        found = scene.memory.get(digest(38), canonical(38))
        assert found is scene.memory.at(digest(38))
        if found is not None:  # it had not begun
            assert found.resident and found.fresh_until > 0
            check(scene.memory)
