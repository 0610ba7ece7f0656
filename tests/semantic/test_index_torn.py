"""An add that is cut short, for want of memory or in a forked child, makes no vector another entry's, then or later."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from index_rows import DIMENSION, ids, unit
from short_of_memory import Line, watched

from cachelayer.semantic.index.faiss_cpu import FaissIndex
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.semantic.index.pages import SMALL
from cachelayer.semantic.index.slab import Held

FILES = "semantic/index/pages.py", "semantic/index/slab.py"
ROWS = unit(np.random.default_rng(7), 4200)
MAKING = {Held.of.__func__.__code__, Held.__del__.__code__}  # type: ignore[attr-defined]
UNHEARD = {(code.co_filename, line) for code in MAKING for _, _, line in code.co_lines()}
"""What fails there is told by the collector, which has nobody to tell."""


def cut_short(make: Callable[[int], PackedIndex], beside: int, held: int, at: Line | None) -> set[Line]:
    """Add to a partition that holds some rows; one add ends at a line. Every other row is found, by its own vector."""
    index, lines, lost = make(DIMENSION), set[Line](), set[int]()
    for n in range(0, beside, SMALL):
        many = slice(n, min(n + SMALL, beside))
        index.add(b"%d" % n, np.arange(many.start, many.stop), ROWS[many])
    first, end = beside + held, beside + held + 40
    for n in range(beside, end):
        inside = n in (first, first + 1)
        try:
            with watched(lines if inside else set(), at if inside and not lost else None, *FILES):
                index.add(b"one", ids(n), ROWS[n : n + 1])
        except MemoryError:
            lost.add(n)
    assert len(lost) == (at is not None)
    for n in range(beside, end):
        scores, found = index.search(b"one", ROWS[n : n + 1], 1)
        assert found[0, 0] == n if n not in lost else found[0, 0] != n or scores[0, 0] > 0.999
        vector = index.vector(n)
        assert n in lost if vector is None else np.allclose(vector, ROWS[n], atol=1e-6)
    return lines - UNHEARD


@pytest.mark.parametrize("make", [PackedIndex, FaissIndex])
@pytest.mark.parametrize(
    ("beside", "held"), [(0, 0), (0, 10), (0, 31), (0, 32), (0, 63), (0, 64), (0, 95), (4086, 10)]
)
def test_an_add_that_is_cut_short_at_any_line_leaves_the_others_right(
    make: Callable[[int], PackedIndex], beside: int, held: int
) -> None:
    """Ids had room and rows had none: what was added next was lost, and a forked child searched beyond the rows."""
    if make is FaissIndex:
        pytest.importorskip("faiss")
    lines = cut_short(make, beside, held, None)
    assert len(lines) > 8
    for line in sorted(lines):
        cut_short(make, beside, held, line)
