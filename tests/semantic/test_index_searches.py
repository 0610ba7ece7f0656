"""Searches from coroutines: the same neighbours whichever way a search goes."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
from index_rows import DIMENSION, unit
from turns import turns

from cachelayer.flow.batcher import Overloaded
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.semantic.index.searches import Searches

ROWS = unit(np.random.default_rng(11), 300)
PARTS = [b"a", b"b", b"c"]


class Watched(PackedIndex):
    """Remembers where searches ran and how many queries they had; may be held up."""

    def __init__(self) -> None:
        super().__init__(DIMENSION)
        for i, part in enumerate(PARTS):
            names = np.arange(i, 300, 3, dtype=np.int64)
            self.add(part, names, ROWS[names])
        self.seen: list[tuple[str, int]] = []
        self.gate = threading.Event()
        self.gate.set()

    def search(self, partition, queries, k):
        self.seen.append((threading.current_thread().name, len(queries)))
        if threading.current_thread() is not threading.main_thread():
            self.gate.wait()
        return super().search(partition, queries, k)


async def test_a_lone_search_runs_on_the_loop_and_crowds_share_calls_on_threads():
    index = Watched()
    searches = Searches(index, workers=1, inline_work=150, tiny=0)
    expected = [PackedIndex.search(index, PARTS[i % 3], ROWS[i][None], 4) for i in range(30)]
    await searches.search(b"a", ROWS[0], 4)
    assert index.seen == [("MainThread", 1)]
    found = await asyncio.gather(*(searches.search(PARTS[i % 3], ROWS[i], 4) for i in range(30)))
    for (scores, names), (want, wanted) in zip(found, expected, strict=True):
        assert np.allclose(scores, want[0], atol=1e-6) and names.tolist() == wanted[0].tolist()
    alone, *crowd = index.seen[1:]
    assert alone == ("MainThread", 1)
    assert len(crowd) == 3 and sum(n for _, n in crowd) == 29
    assert all(name.startswith("cachelayer-search") for name, _ in crowd)
    await searches.aclose()


async def test_a_search_too_long_for_the_loop_never_runs_there():
    index = Watched()
    searches = Searches(index, workers=1, inline_work=10, tiny=0)
    await searches.search(b"a", ROWS[0], 4)
    assert index.seen[0][0].startswith("cachelayer-search")
    await searches.aclose()


async def test_one_bad_vector_does_not_spoil_the_batch():
    searches = Searches(Watched(), tiny=0, workers=1, inline_work=0)
    bad = np.full(DIMENSION, np.nan, np.float32)
    found = await asyncio.gather(
        *(searches.search(b"a", row, 2) for row in (ROWS[0], bad, ROWS[3])), return_exceptions=True
    )
    assert isinstance(found[1], ValueError)
    assert [found[0][1][0], found[2][1][0]] == [0, 3]
    await searches.aclose()


async def test_overload_is_refused_with_a_reason():
    index = Watched()
    searches = Searches(index, workers=1, inline_work=0, queue=1, tiny=0)
    index.gate.clear()
    tasks = []
    for _ in range(2):
        tasks.append(asyncio.create_task(searches.search(b"a", ROWS[0], 2)))
        await turns(3)
    with pytest.raises(Overloaded):
        await searches.search(b"a", ROWS[0], 2)
    index.gate.set()
    await asyncio.gather(*tasks)
    await searches.aclose()


def test_the_door_serves_one_loop_after_another():
    searches = Searches(Watched(), inline_work=150, tiny=0, workers=1)

    async def scenario() -> list[int]:
        found = await asyncio.gather(*(searches.search(b"a", ROWS[i], 1) for i in (0, 3, 6)))
        await searches.aclose()
        return [int(names[0]) for _, names in found]

    assert [asyncio.run(scenario()) for _ in range(3)] == [[0, 3, 6]] * 3
