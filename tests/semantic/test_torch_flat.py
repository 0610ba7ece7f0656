"""Exact search by torch on a real GPU finds what comparing all rows in double precision finds.

TRITON_INTERPRET=1 runs it on a CPU, where torch and Triton are installed.
"""

from __future__ import annotations

import numpy as np
import pytest
from index_rows import unit
from torch_device import check_found, torch_device

from cachelayer.semantic.index import replayed, torch_flat
from cachelayer.semantic.index.torch_flat import TorchFlat

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]  # of Triton, which compiles

DIMENSION = 48
RNG = np.random.default_rng(41)


@pytest.fixture
def flat():
    return made(DIMENSION)


def made(width):
    torch, device = torch_device()
    return TorchFlat(torch, width, device)


def check(flat, rows, queries, k):
    """Scores are those of float16 rows; positions are of rows with such scores, each named once."""
    check_found(flat.search(queries, k), rows, queries, k)


def by_kernels(flat):
    """Whether every single query was answered by them."""
    return flat._one is not None and flat._one.captured


@pytest.fixture
def without_kernels(flat):
    """As where Triton is not installed, or there is no compiler."""
    flat._kernels = None
    return flat


@pytest.mark.parametrize("count", [1, 7, 255, 256, 257, 1000, 20_000])
@pytest.mark.parametrize("k", [1, 8, 300])
def test_the_nearest_rows_are_found_whatever_their_number(flat, count, k):
    rows = unit(RNG, count, DIMENSION)
    flat.add(rows)
    for queries in (1, 9):
        check(flat, rows, unit(RNG, queries, DIMENSION), k)
    assert by_kernels(flat) or min(k, count) > 32


@pytest.mark.parametrize("k", [1, 8, 20])
def test_one_query_finds_the_same_without_kernels(without_kernels, k):
    rows = unit(RNG, 5000, DIMENSION)
    without_kernels.add(rows)
    check(without_kernels, rows, unit(RNG, 1, DIMENSION), k)
    assert without_kernels._one is None


@pytest.mark.parametrize("width", [16, 384, 1000])
def test_rows_of_any_width_are_compared_by_kernels(width):
    flat = made(width)
    rows = unit(RNG, 3000, width)
    flat.add(rows)
    for k in (8, 32):
        check(flat, rows, unit(RNG, 1, width), k)
    assert by_kernels(flat)


def test_the_best_of_many_chunks_are_selected_block_by_block(flat, monkeypatch):
    """64 chunks a block: 79 of them go through two levels."""
    monkeypatch.setattr(replayed, "BLOCK", 64)
    rows = unit(RNG, 20_000, DIMENSION)
    flat.add(rows)
    for _ in range(5):
        check(flat, rows, unit(RNG, 1, DIMENSION), 8)
    assert by_kernels(flat)


def test_equal_rows_are_each_named_once(flat):
    rows = np.repeat(unit(RNG, 3, DIMENSION), 700, axis=0)
    flat.add(rows)
    check(flat, rows, unit(RNG, 1, DIMENSION), 32)
    assert by_kernels(flat)


def test_rows_that_come_in_parts_are_all_compared(flat):
    rows = unit(RNG, 5000, DIMENSION)
    for begin, end in ((0, 3), (3, 1024), (1024, 1025), (1025, 5000)):
        flat.add(rows[begin:end])
        assert flat.ntotal == end
        for queries in (1, 3):
            check(flat, rows[:end], unit(RNG, queries, DIMENSION), 8)


def test_a_query_that_all_rows_point_away_from_finds_the_least_far(flat):
    """Spare room scores zero, more than any of them."""
    rows = -np.abs(unit(RNG, 300, DIMENSION))
    flat.add(rows)
    for queries in (1, 2):
        check(flat, rows, np.abs(unit(RNG, queries, DIMENSION)), 8)


def test_rows_too_near_for_half_precision_are_told_apart(flat):
    """Products of these differ by less than float16 shows; the rows themselves do not."""
    one = unit(RNG, 1, DIMENSION)
    rows = one + 2e-3 * RNG.standard_normal((20, DIMENSION)).astype(np.float32)
    rows = np.concatenate([unit(RNG, 4000, DIMENSION), rows])
    flat.add(rows)
    check(flat, rows, one, 8)


def test_many_queries_are_answered_in_parts(flat, monkeypatch):
    monkeypatch.setattr(torch_flat, "_SCORES", 4096)
    monkeypatch.setattr(torch_flat, "_COMPARED", 100)
    rows = unit(RNG, 1000, DIMENSION)
    flat.add(rows)
    check(flat, rows, unit(RNG, 100, DIMENSION), 8)


def test_nothing_is_found_among_no_rows_and_queries_may_be_read_only(flat):
    queries = unit(RNG, 2, DIMENSION)
    queries.setflags(write=False)
    check(flat, np.empty((0, DIMENSION), np.float32), queries, 3)
    rows = unit(RNG, 10, DIMENSION)
    flat.add(rows)
    check(flat, rows, queries, 3)
