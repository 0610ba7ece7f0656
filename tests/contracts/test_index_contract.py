"""The laws of a VectorIndex; the numpy index is the oracle."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_rows import DIMENSION, ids, unit
from oracle_index import NumpyIndex

CLOSE = 2e-3  # float16 rows under a graph
PARTS = (b"a", b"b", b"")


def maintain(index):
    """What its owner does off the loop now and then, where the index has such a method."""
    return index.maintain() if hasattr(index, "maintain") else 0


def same(found, expected):
    """Equal scores position by position, and ids equal wherever the score is unambiguous."""
    scores, names = found
    want, _ = expected
    assert scores.shape == want.shape and names.shape == want.shape
    assert scores.dtype == np.float32 and names.dtype == np.int64
    assert np.array_equal(names < 0, np.isneginf(want))
    real = names >= 0
    assert np.allclose(scores[real], want[real], atol=CLOSE)
    for row in names:
        known = row[row >= 0]
        assert len(set(known.tolist())) == len(known)


operation = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(PARTS), st.integers(1, 40)),
    st.tuples(st.just("remove"), st.integers(0, 2**31), st.integers(1, 30)),
    st.tuples(st.just("update"), st.integers(0, 2**31), st.integers(1, 5)),
    st.tuples(st.just("search"), st.sampled_from(PARTS), st.integers(1, 5)),
    st.tuples(st.just("maintain"), st.just(b""), st.just(0)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    operations=st.lists(operation, min_size=4, max_size=40), seed=st.integers(0, 1000), k=st.integers(1, 9)
)
def test_any_history_gives_what_the_oracle_gives(make_index, operations, seed, k):
    rng = np.random.default_rng(seed)
    index, oracle = make_index(DIMENSION), NumpyIndex(DIMENSION)
    where: dict[int, bytes] = {}
    given = 0
    for name, what, count in operations:
        if name == "add":
            fresh = np.arange(given, given + count, dtype=np.int64)
            given += count
            rows = unit(rng, count)
            for each in (index, oracle):
                each.add(what, fresh, rows)
            where.update(dict.fromkeys(fresh.tolist(), what))
        elif name in ("remove", "update") and where:
            picked = np.random.default_rng(what).choice(list(where), min(count, len(where)), replace=False)
            assert index.remove(picked) == oracle.remove(picked) == len(picked)
            homes = [where.pop(i) for i in picked.tolist()]
            if name == "update":
                for key, home in zip(picked.tolist(), homes, strict=True):
                    rows = unit(rng, 1)
                    index.add(home, ids(key), rows)
                    oracle.add(home, ids(key), rows)
                    where[key] = home
        elif name == "maintain":
            maintain(index)
        elif name == "search":
            queries = unit(rng, count)
            same(index.search(what, queries, k), oracle.search(what, queries, k))
        assert len(index) == len(oracle)
        assert [index.size(p) for p in PARTS] == [oracle.size(p) for p in PARTS]


@pytest.fixture(scope="module")
def crowd():
    """Vectors in clusters, as texts are: 6,000 rows, and queries near some of them."""
    rng = np.random.default_rng(5)
    centres = unit(rng, 300)
    rows = centres[rng.integers(0, 300, 6000)] + 0.25 * rng.standard_normal((6000, DIMENSION)).astype(
        np.float32
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32), unit(rng, 40)


def recall(index, oracle, queries, k=8):
    _, found = index.search(b"p", queries, k)
    _, want = oracle.search(b"p", queries, k)
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(found.tolist(), want.tolist(), strict=True)])


def test_large_partitions_keep_their_recall_through_growth_deletion_and_maintenance(index, crowd):
    rows, queries = crowd
    oracle = NumpyIndex(DIMENSION)
    names = np.arange(len(rows), dtype=np.int64)
    for at in range(0, len(rows), 700):
        for each in (index, oracle):
            each.add(b"p", names[at : at + 700], rows[at : at + 700])
        if at % 1400 == 0:
            maintain(index)
        assert recall(index, oracle, queries) > 0.98
        one = np.array([index.search(b"p", q[None], 8)[1][0] for q in queries])
        assert np.mean(one == oracle.search(b"p", queries, 8)[1]) > 0.98
    maintain(index)
    for at in range(0, 5600, 400):
        for each in (index, oracle):
            assert each.remove(names[at : at + 400]) == 400
        assert recall(index, oracle, queries) > 0.98
        if at % 800:
            maintain(index)
            assert recall(index, oracle, queries) > 0.98
    assert index.size(b"p") == oracle.size(b"p") == 400


def test_neighbours_that_died_never_hide_the_living(index, crowd):
    """The dead are the query's nearest: exactly those that an approximate search returns first."""
    rows, queries = crowd
    oracle = NumpyIndex(DIMENSION)
    names = np.arange(len(rows), dtype=np.int64)
    for each in (index, oracle):
        each.add(b"p", names, rows)
    maintain(index)
    for query in queries[:4]:
        _, nearest = oracle.search(b"p", query[None], 60)
        for each in (index, oracle):
            each.remove(nearest[0])
        same(index.search(b"p", query[None], 8), oracle.search(b"p", query[None], 8))


def test_search_stays_inside_the_partition(index):
    rng = np.random.default_rng(1)
    rows = unit(rng, 50)
    for i in range(50):
        index.add(f"s{i}".encode(), ids(i), rows[i : i + 1])
    scores, found = index.search(b"s7", rows[3:4], 4)
    assert found.tolist() == [[7, -1, -1, -1]]
    assert np.isneginf(scores[0, 1:]).all()
    assert index.search(b"nobody", rows[:2], 3)[1].tolist() == [[-1] * 3] * 2


def test_an_id_removed_is_never_found_again_and_may_come_back_elsewhere(index):
    rows = unit(np.random.default_rng(2), 3)
    index.add(b"a", ids(5, 6), rows[:2])
    assert index.remove(ids(5, 5, 99)) == 1
    assert index.search(b"a", rows[:1], 2)[1].tolist() == [[6, -1]]
    index.add(b"b", ids(5), rows[2:])
    assert index.search(b"b", rows[2:], 1)[1].tolist() == [[5]]
    assert index.remove(ids(6)) == 1
    assert (index.size(b"a"), index.size(b"b"), len(index)) == (0, 1, 1)


BAD = [
    (ids(1), np.full((1, DIMENSION), np.nan, np.float32), "NaN"),
    (ids(1), np.zeros((1, DIMENSION), np.float32), "zero"),
    (ids(1), np.full((1, DIMENSION), np.inf, np.float32), "normalize"),
    (ids(1), np.ones((1, DIMENSION), np.float32), "normalize"),
    (ids(1), unit(np.random.default_rng(0), 1, DIMENSION + 1), "dimensions"),
    (ids(1), unit(np.random.default_rng(0), 1).astype(np.float64), "float32"),
    (ids(1), unit(np.random.default_rng(0), 1)[0], "matrix"),
    (ids(1, 2), unit(np.random.default_rng(0), 1), "one id per row"),
    (ids(1, 1), unit(np.random.default_rng(0), 2), "repeat"),
    (ids(-1), unit(np.random.default_rng(0), 1), "negative"),
    (np.array([1.0]), unit(np.random.default_rng(0), 1), "int64"),
    (ids(), np.empty((0, DIMENSION), np.float32), "empty"),
    (ids(7), unit(np.random.default_rng(0), 1), "already"),
    (ids(8, 7), unit(np.random.default_rng(0), 2), "already"),
]


@pytest.mark.parametrize(("names", "rows", "word"), BAD)
def test_bad_rows_are_refused_by_name_and_change_nothing(index, names, rows, word):
    good = unit(np.random.default_rng(3), 1)
    index.add(b"a", ids(7), good)
    with pytest.raises(ValueError, match=word):
        index.add(b"a", names, rows)
    assert len(index) == index.size(b"a") == 1
    assert index.search(b"a", good, 2)[1].tolist() == [[7, -1]]


@pytest.mark.parametrize("query", [row for _, row, _ in BAD[:7]])
def test_bad_queries_are_refused(index, query):
    index.add(b"a", ids(7), unit(np.random.default_rng(3), 1))
    with pytest.raises(ValueError):
        index.search(b"a", query, 2)
    with pytest.raises(ValueError, match="k=0"):
        index.search(b"a", unit(np.random.default_rng(3), 1), 0)


def test_readers_and_writers_on_several_threads_never_see_a_foreign_or_torn_row(index):
    """Each id stands for one vector: a score that is not its vector's product is a torn read."""
    rng = np.random.default_rng(4)
    rows = unit(rng, 4000)
    stop, wrong = threading.Event(), []

    def read(part: bytes, parity: int) -> None:
        mine = np.random.default_rng(parity)
        while not stop.is_set():
            queries = rows[mine.integers(0, 4000, int(mine.integers(1, 4)))]
            scores, found = index.search(part, queries, 5)
            for query, values, names in zip(queries, scores, found, strict=True):
                known = names >= 0
                if (names[known] % 2 != parity).any():
                    wrong.append(("foreign", names))
                if not np.allclose(values[known], rows[names[known]] @ query, atol=CLOSE):
                    wrong.append(("torn", names, values))

    def tend() -> None:
        while not stop.is_set():
            maintain(index)

    threads = [
        threading.Thread(target=read, args=(b"even", 0)),
        threading.Thread(target=read, args=(b"odd", 1)),
    ]
    threads.append(threading.Thread(target=tend))
    for thread in threads:
        thread.start()
    try:
        for at in range(0, 4000, 200):
            for part, parity in ((b"even", 0), (b"odd", 1)):
                names = np.arange(at + parity, at + 200, 2, dtype=np.int64)
                index.add(part, names, rows[names])
            if at >= 400:
                index.remove(np.arange(at - 400, at - 250, dtype=np.int64))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
