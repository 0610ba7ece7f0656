"""Lists by torch on a real GPU hold every row once and find what comparing their rows in double precision finds.

TRITON_INTERPRET=1 runs them on a CPU, where torch and Triton are installed.
"""

from __future__ import annotations

import numpy as np
import pytest
from index_rows import unit
from torch_device import check_found, near, torch_device

from cachelayer.semantic.index import replayed, torch_lists
from cachelayer.semantic.index.torch_lists import TorchLists

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]  # of Triton, which compiles

DIMENSION = 48
RNG = np.random.default_rng(43)


@pytest.fixture
def make():
    torch, device = torch_device()
    kernels = replayed.built(torch, DIMENSION, device)
    assert kernels is not None

    def made(rows, count=32, *, room=0, add=True):
        lists = TorchLists(torch, kernels, device, rows, count, room)
        if add:
            lists.add(rows)
        return lists

    return made


def check(lists, rows, queries, k):
    """What all lists hold is all rows: found as if there were no lists."""
    lists.nprobe = lists.nlist
    check_found(lists.search(queries, k), rows, queries, k)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 700])
@pytest.mark.parametrize("k", [1, 8, 20, 50])
def test_all_lists_hold_all_rows_whatever_their_number(make, count, k):
    rows = unit(RNG, count, DIMENSION)
    lists = make(rows, 7)
    for queries in (1, 5):
        check(lists, rows, unit(RNG, queries, DIMENSION), k)


def test_rows_that_come_in_parts_fill_the_pages_of_their_lists(make):
    rows = unit(RNG, 1500, DIMENSION)
    lists = make(rows[:400], 12, add=False)
    for begin, end in ((0, 1), (1, 2), (2, 300), (300, 333), (333, 1500)):
        lists.add(rows[begin:end])
        assert lists.ntotal == end
        for queries in (1, 3):
            check(lists, rows[:end], unit(RNG, queries, DIMENSION), 8)
    assert lists._pages <= 1500 // torch_lists._PAGE + lists.nlist


@pytest.mark.parametrize("nprobe", [8, 16])
def test_one_query_and_few_and_many_read_the_same_lists(make, nprobe):
    rows = unit(RNG, 3000, DIMENSION)
    lists = make(rows, 60)
    lists.nprobe = nprobe
    queries = unit(RNG, 70, DIMENSION)
    together = lists.search(queries, 8)
    assert (together[1] >= 0).all() and lists._few is not None and not lists._few.captured
    for begin, end in ((0, 1), (1, 2), (2, 4), (4, 7), (7, 70)):
        scores, positions = lists.search(queries[begin:end], 8)
        assert np.allclose(scores, together[0][begin:end], atol=1e-5)
        exact = np.take_along_axis(near(queries[begin:end], rows), positions, 1)
        assert np.allclose(exact, scores, atol=1e-5)
    assert lists._few.captured and len(lists._few._captured) == 4


def test_the_nearest_lists_are_read(make):
    """Rows around a few directions: whoever asks near one of them finds its rows in one list of many."""
    middles = unit(RNG, 20, DIMENSION)
    rows = middles[RNG.integers(20, size=2000)] + 0.05 * RNG.standard_normal((2000, DIMENSION))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    lists = make(rows, 40)
    lists.nprobe = 8
    queries = rows[:50]
    found = lists.search(queries, 8)[1]
    want = np.argsort(-near(queries, rows), axis=1)[:, :8]
    assert (
        np.mean([len(set(a) & set(b)) / 8 for a, b in zip(found.tolist(), want.tolist(), strict=True)]) > 0.95
    )


def test_a_crowded_list_is_given_more_centroids_of_its_own_rows(make):
    import torch

    rows = unit(RNG, 190, DIMENSION)
    lists, nearest = make(rows, 10), np.repeat(np.arange(10), [100, *[10] * 9])
    device, mixed = lists._device, RNG.permutation(190)
    members, order = (torch.from_numpy(each).to(device) for each in (nearest, mixed))
    picked = lists._crowded(members, order, 10, 19.0).tolist()
    assert len(set(picked)) == 100 // 19 - 1 and set(nearest[picked]) == {0}


def test_equal_rows_are_each_named_once(make):
    rows = np.repeat(unit(RNG, 3, DIMENSION), 200, axis=0)
    check(make(rows, 5), rows, unit(RNG, 1, DIMENSION), 32)


def test_many_queries_are_answered_in_parts(make, monkeypatch):
    rows = unit(RNG, 900, DIMENSION)
    lists = make(rows, 20)
    monkeypatch.setattr(torch_lists, "_SCORES", 2000)
    check(lists, rows, unit(RNG, 11, DIMENSION), 8)


def test_more_lists_than_a_graph_reads_are_read_without_one(make, monkeypatch):
    rows = unit(RNG, 900, DIMENSION)
    lists = make(rows, 20)
    monkeypatch.setattr(torch_lists, "_FEW", 8)
    check(lists, rows, unit(RNG, 1, DIMENSION), 8)
    assert lists._few is None


def test_room_that_was_asked_for_is_enough(make):
    rows = unit(RNG, 2000, DIMENSION)
    lists = make(rows[:500], 10, room=2000, add=False)
    before = lists._rows
    lists.add(rows)
    assert lists._rows is before
    check(lists, rows, unit(RNG, 2, DIMENSION), 8)


def test_pages_of_a_list_lie_side_by_side_once_many_are_new_and_rows_go_on_to_come(make):
    rows = unit(RNG, 3000, DIMENSION)
    lists = make(rows[:1000], 20, add=False)
    for at in range(0, 3000, 250):
        lists.add(rows[at : at + 250])
        for queries in (1, 3):
            check(lists, rows[: at + 250], unit(RNG, queries, DIMENSION), 8)
        in_order = lists._owner[: lists._in_order].cpu().numpy()
        assert (np.diff(in_order) >= 0).all() and 0 < lists._pages <= 1.25 * lists._in_order


def test_nothing_is_found_among_no_rows(make):
    lists = make(unit(RNG, 50, DIMENSION), 5, add=False)
    scores, positions = lists.search(unit(RNG, 2, DIMENSION), 3)
    assert (scores == -np.inf).all() and (positions == -1).all()


def test_an_add_that_finds_no_room_leaves_all_as_it_was(make, monkeypatch):
    rows = unit(RNG, 600, DIMENSION)
    lists = make(rows[:100], 5, add=False)
    lists.add(rows[:100])
    held = lists._used.tolist()

    def full(needed):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(lists, "_grow", full)
        with pytest.raises(RuntimeError):
            lists.add(rows[100:])
    assert lists.ntotal == 100 and lists._used.tolist() == held
    check(lists, rows[:100], unit(RNG, 3, DIMENSION), 8)
    lists.add(rows[100:])
    check(lists, rows, unit(RNG, 3, DIMENSION), 8)
