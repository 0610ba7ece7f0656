"""Codes: what finds candidates in large partitions grows, forgets and is learnt anew without a wrong neighbour."""

from __future__ import annotations

import numpy as np
import pytest
from index_rows import unit

pytest.importorskip("faiss")

from cachelayer.semantic.index.faiss_cpu import FaissIndex
from cachelayer.semantic.index.pages import PAGE

WIDTH = 64
ROWS = unit(np.random.default_rng(31), 6000, WIDTH)
NAMES = np.arange(6000, dtype=np.int64)


def made(rows: int, width: int = WIDTH) -> FaissIndex:
    index = FaissIndex(width, promote_at=PAGE)
    index.add(b"p", NAMES[:rows], ROWS[:rows, :width] / np.linalg.norm(ROWS[:rows, :width], axis=1)[:, None])
    index.maintain()
    return index


def sieve(index):
    return index._partitions[b"p"].view.sieve


def found_itself(index, names) -> bool:
    """Each row is its own nearest neighbour, alone and in a batch."""
    batch = index.search(b"p", ROWS[names], 8)[1][:, 0]
    alone = [index.search(b"p", ROWS[n : n + 1], 8)[1][0, 0] for n in names]
    return bool((batch == names).all() and (alone == names).all())


def test_new_rows_are_taken_in_beside_what_serves_and_removals_reach_them_wherever_they_are():
    index = made(1500)
    before = sieve(index)
    asked = before.search(ROWS[:20], 8, 1.0)
    for at in range(1500, 2300, 37):  # pages that are coded in part go on growing
        index.add(b"p", NAMES[at : at + 37], ROWS[at : at + 37])
        index.maintain()
    size = index.size(b"p")
    assert sieve(index) is not before and sieve(index).rows > 2200
    assert sieve(index)._room is before._room
    again = before.search(ROWS[:20], 8, 1.0)
    assert np.array_equal(asked[0], again[0]) and np.array_equal(asked[1], again[1])
    picked = np.random.default_rng(0).choice(size, 300, replace=False)
    assert found_itself(index, picked)
    index.remove(picked[:100])
    nearest = index.search(b"p", ROWS[picked[:100]], 8)[1]
    assert not np.isin(nearest, picked[:100]).any() and (nearest >= 0).all()
    assert found_itself(index, picked[100:])


@pytest.mark.parametrize("rows", [PAGE + 200, 2 * PAGE - 10])
def test_rows_that_codes_have_not_taken_in_are_found_too(rows):
    index = made(rows)  # the tail of the second lies in two pages
    tail = NAMES[rows : rows + 30]
    index.add(b"p", tail, ROWS[tail])
    assert sieve(index).rows == rows
    assert found_itself(index, tail) and found_itself(index, NAMES[:rows:50])
    asked = unit(np.random.default_rng(7), 200, WIDTH)
    exact = np.sort(ROWS[: rows + 30] @ asked.T, axis=0)[::-1][:8].T
    alone = np.vstack([index.search(b"p", one[None], 8)[0] for one in asked])
    assert (np.abs(alone - exact) < 1e-3).mean() > 0.97
    taken = np.concatenate([index.search(b"p", one[None], 8)[1][0] for one in asked])
    assert 5 < (taken >= rows).sum() < 100  # of 1,600, by chance 37 or 24
    index.remove(tail[:20])
    left = np.concatenate([index.search(b"p", one[None], 8)[1][0] for one in ROWS[tail]])
    assert not np.isin(left, tail[:20]).any() and np.isin(left, tail[20:]).sum() >= 10


def test_twice_as_many_rows_are_coded_anew():
    index = made(1500)
    learnt = sieve(index)
    index.add(b"p", NAMES[1500:3000], ROWS[1500:3000])
    index.maintain()
    assert sieve(index)._room is learnt._room
    index.add(b"p", NAMES[3000:3100], ROWS[3000:3100])
    index.maintain()
    assert sieve(index)._room is not learnt._room and sieve(index).rows == 3100
    assert found_itself(index, NAMES[:3100:50])


def test_rows_that_codes_tell_apart_badly_are_compared_in_greater_number():
    near = ROWS[:1] + 0.05 * ROWS[:3000]
    index = FaissIndex(WIDTH, promote_at=PAGE)
    index.add(b"p", NAMES[:3000], near / np.linalg.norm(near, axis=1)[:, None])
    easy = FaissIndex(WIDTH, promote_at=PAGE)
    centres = ROWS[:40][np.arange(3000) % 40] + 0.3 * ROWS[:3000]
    easy.add(b"p", NAMES[:3000], centres / np.linalg.norm(centres, axis=1)[:, None])
    for each in (index, easy):
        each.maintain()
    assert sieve(easy).compared < sieve(index).compared


@pytest.mark.parametrize("width", [1, 2, 3, 7, 30, 50])
def test_any_width_is_coded(width):
    index = made(1200, width)
    queries = ROWS[2000:2010, :width] / np.linalg.norm(ROWS[2000:2010, :width], axis=1)[:, None]
    kept = ROWS[:1200, :width] / np.linalg.norm(ROWS[:1200, :width], axis=1)[:, None]
    exact = np.sort(queries @ kept.T, axis=1)[:, :-9:-1]
    assert sieve(index).rows == 1200
    assert np.allclose(index.search(b"p", queries, 8)[0], exact, atol=0.02)


@pytest.mark.parametrize("k", [1, 100, 1400, 2000])
def test_any_number_of_neighbours_may_be_asked_for(k):
    index = made(1500)
    scores, names = index.search(b"p", ROWS[:3], k)
    assert names.shape == (3, k) and names[:, 0].tolist() == [0, 1, 2]
    assert ((names >= 0).sum(axis=1) == min(k, 1500)).all()
    assert (np.diff(scores[:, : min(k, 1500)]) <= 0).all()
