"""The simulator keeps to its own model."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim import engine, replay, rivals

SMALL = engine.Parameters(kv_tokens=40 * 512, max_batch=4, max_num_tokens=1024)

jobs = st.lists(
    st.tuples(
        st.floats(0, 5),
        st.integers(1, 3000),
        st.integers(1, 50),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=25,
).map(
    lambda rows: [
        engine.Job(at, prompt, output, tuple(family * 100 + i for i in range(prompt // 512)))
        for at, prompt, output, family in sorted(rows)
    ]
)


@settings(max_examples=40, deadline=None)
@given(jobs, st.sampled_from(sorted(rivals.RIVALS)), st.integers(1, 4))
def test_every_request_is_served_once_in_causal_order_by_every_rule(
    work: list, rule: str, replicas: int
) -> None:
    done = replay.replay(work, rivals.RIVALS[rule](replicas), replicas, SMALL)
    assert len(done) == len(work)
    for job in done:
        assert job.arrival < job.first <= job.end
        assert 0 <= job.cached <= job.prompt
        assert job.first - job.arrival >= SMALL.base


@settings(max_examples=40, deadline=None)
@given(jobs)
def test_the_pool_is_never_overfilled_and_ends_unpinned(work: list) -> None:
    one = engine.Engine(SMALL, lambda event, job: None)
    for job in work:
        one.advance(job.arrival)
        one.submit(job)
        assert len(one.cache.idle) + len(one.cache.pinned) + one.cache.private <= one.cache.capacity
    one.advance(float("inf"))
    assert not one.cache.pinned and one.cache.private == 0


def test_one_request_alone_takes_what_the_parameters_say() -> None:
    p = engine.Parameters()
    done = replay.replay([engine.Job(0.0, 2048, 11, ())], rivals.LeastLoaded(1), 1, p)
    assert done[0].first == pytest.approx(p.base + 2048 * p.per_token)
    assert done[0].end - done[0].first == pytest.approx(10 * (p.base + p.per_sequence))


def test_a_repeated_prefix_costs_no_prefill() -> None:
    p = engine.Parameters()
    blocks = (1, 2, 3, 4)
    work = [engine.Job(0.0, 2100, 1, blocks), engine.Job(5.0, 2100, 1, blocks)]
    first, second = replay.replay(work, rivals.LeastLoaded(1), 1, p)
    assert (first.cached, second.cached) == (0, 2048)
    assert second.first - second.arrival == pytest.approx(p.base + 52 * p.per_token)


@settings(max_examples=10, deadline=None)
@given(jobs, st.sampled_from(sorted(rivals.RIVALS)))
def test_the_same_trace_gives_the_same_times(work: list, rule: str) -> None:
    first, second = (replay.replay(work, rivals.RIVALS[rule](3), 3, SMALL) for _ in range(2))
    assert [(j.first, j.end, j.cached) for j in first] == [(j.first, j.end, j.cached) for j in second]
