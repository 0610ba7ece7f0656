"""Small pages share one store of rows: numbers are used again, never while somebody reads them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracle_index import NumpyIndex

from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.semantic.index.pages import SMALL
from cachelayer.semantic.index.slab import Held, Slab

rng = np.random.default_rng(5)


def unit(n: int) -> np.ndarray:
    rows = rng.standard_normal((n, 8)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_a_number_is_free_only_when_the_last_reader_has_let_go() -> None:
    slab, rows = Slab(8), unit(2)
    held = Held.of(slab)
    held.append(slab.write(rows[0]))
    reader = held
    del held
    assert not slab.free
    assert np.array_equal(reader.rows(), rows[:1])
    del reader
    assert list(slab.free) == [0]
    assert slab.write(rows[1]) == 0


def test_scopes_that_go_leave_their_rows_to_those_that_come() -> None:
    index = PackedIndex(8)
    for turn in range(5):
        ids = np.arange(100 * turn, 100 * turn + 100)
        for key in ids:
            index.add(b"%d" % (key % 10), np.array([key]), unit(1))
        index.remove(ids)
    assert index._slab._next <= 100
    assert len(index) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, SMALL), st.booleans()),
        min_size=1,
        max_size=30,
    )
)
def test_pages_that_grow_out_of_the_store_hold_what_they_held(steps: list[tuple[int, int, bool]]) -> None:
    index, oracle, key = PackedIndex(8), NumpyIndex(8), 0
    for scope, count, removes in steps:
        ids, rows = np.arange(key, key + count), unit(count)
        key += count
        for one in (index, oracle):
            one.add(b"%d" % scope, ids, rows)
            if removes:
                one.remove(ids[::2])
    for scope in range(4):
        ours, theirs = (one.search(b"%d" % scope, unit_query, 8) for one in (index, oracle))
        assert np.array_equal(ours[1], theirs[1])
        assert np.allclose(ours[0], theirs[0], atol=1e-5)


unit_query = unit(1)
