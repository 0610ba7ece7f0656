"""Histories of a persistent index: what was done to it, and what it must hold after each step."""

from __future__ import annotations

import random

import numpy as np
from index_rows import DIMENSION, ids, unit

from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.semantic.index.persistent import PersistentIndex

ROWS = unit(np.random.default_rng(7), 4096)


def opened(directory, identity="model@1", inner=PackedIndex):
    index = PersistentIndex(inner(DIMENSION), directory, identity)
    return index, index.load()


def contents(index) -> dict[int, bytes]:
    """Id -> partition, after checking that every vector is the one its id stands for."""
    out = {}
    for part in index.inner.export():
        rows = np.concatenate([np.asarray(block[which], np.float32) for block, which in part.blocks])
        alive = part.ids >= 0
        assert np.allclose(rows[alive], ROWS[part.ids[alive] % 4096], atol=1e-3)
        out.update(dict.fromkeys(part.ids[alive].tolist(), part.key))
    assert sorted(out) == sorted(index.ids().tolist())
    return out


def apply(index, operation) -> None:
    kind, key, number = operation
    if kind == "add":
        index.add(b"p%d" % key, ids(number), ROWS[number % 4096][None])
    else:
        index.remove(ids(number))


def script(seed: int, length: int) -> list[tuple[str, int, int]]:
    """Adds, removes and returns of ids, the same for the same seed."""
    rng, live, out = random.Random(seed), {}, []
    for number in range(length):
        if live and rng.random() < 0.4:
            victim = rng.choice(sorted(live))
            out.append(("remove", live.pop(victim), victim))
        else:
            live[number] = rng.randrange(4)
            out.append(("add", live[number], number))
    return out


def states(operations) -> list[dict[int, bytes]]:
    """What the index holds after each prefix."""
    out: list[dict[int, bytes]] = [{}]
    for kind, key, number in operations:
        now = dict(out[-1])
        if kind == "add":
            now[number] = b"p%d" % key
        else:
            now.pop(number)
        out.append(now)
    return out
