"""XFetch: early enough for one, too early for nobody."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from cachelayer.exact.memory.refresh import refresh_due

draws = st.floats(0, 1, exclude_min=True)
times = st.floats(0, 1e6)


@given(now=times, cost=times, draw=draws)
def test_at_the_expiry_everyone_refreshes(now, cost, draw):
    assert refresh_due(now, now, cost, draw)


@given(now=times, left=st.floats(1e-3, 1e6), draw=draws)
def test_what_costs_nothing_is_never_refreshed_early(now, left, draw):
    if now + left > now:
        assert not refresh_due(now, now + left, 0.0, draw)


@given(now=times, expiry=times, cost=times, one=draws, two=draws)
def test_the_smaller_the_draw_the_earlier(now, expiry, cost, one, two):
    low, high = sorted((one, two))
    assert refresh_due(now, expiry, cost, low) or not refresh_due(now, expiry, cost, high)


def test_the_lead_is_as_long_as_a_computation_on_average():
    """Exponentially distributed with mean `cost * beta`: a share 1/e of the readers would go at that distance."""
    chance, n = random.Random(1), 20_000
    for beta in (1.0, 2.0):
        due = sum(refresh_due(0.0, 3.0 * beta, 3.0, 1.0 - chance.random(), beta) for _ in range(n))
        assert 0.35 < due / n < 0.385
