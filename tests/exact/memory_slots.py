"""Entries for the in-process memory, two under every digest."""

from __future__ import annotations

from cachelayer.exact.memory.table import Slot, weight_of


def canonical(key: int) -> bytes:
    return b"request %d" % key


def digest(key: int) -> int:
    """Two canonical requests under every digest: the collision that a hash alone would not survive."""
    return key // 2 * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128


def slot_for(key: int, answer: object, nbytes: int = 100, **more: object) -> Slot:
    tags = more.get("tags", ())
    weight = weight_of(canonical(key), nbytes, tags)  # type: ignore[arg-type]
    return Slot(digest(key), canonical(key), answer, weight, **more)  # type: ignore[arg-type]
