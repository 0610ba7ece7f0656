"""From unverified to certified or stopped, in a world whose error rate is known."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cachelayer.semantic.evidence.budget import Interval
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.types import Candidate, Query

BOUND = 0.05


def states(rate: float, seed: int, requests: int, shadow: float = 0.5) -> tuple[list[str], bool]:
    """States in order of appearance, and whether the interval always held the rate.

    Misses show neighbours that agree; what is served is wrong with probability `rate`, which only checks find out.
    """
    rng, coin = np.random.default_rng(seed), random.Random(seed)
    decider = EvidenceDecider(random=random.Random(seed + 1).random, shadow=shadow)
    centres = rng.normal(size=(4, 16))
    kept: list[tuple[NDArray[np.float32], str]] = []
    gone: set[int] = set()
    seen: list[str] = []
    held = True
    for number in range(requests):
        which = int(rng.integers(4))
        raw = centres[which] + 0.2 * rng.normal(size=16)
        x = (raw / np.linalg.norm(raw)).astype(np.float32)
        query = Query(f"request {number}", x)
        near = sorted(((float(v @ x), i) for i, (v, _) in enumerate(kept) if i not in gone), reverse=True)[:8]
        found = [Candidate(i, score, f"text {i}", kept[i][1]) for score, i in near]
        decision = decider.decide("f", b"", query, found, BOUND)
        if decision.entry is None:
            decider.observe("f", b"", query, found, f"answer {which}", None)
            kept.append((x, f"answer {which}"))
            decider.stored(len(kept) - 1, "f", b"", query, f"answer {which}")
            gone.update(decider.leaving())
        elif decision.shadow:
            truth = "another" if coin.random() < rate else kept[decision.entry][1]
            decider.observe("f", b"", query, found, truth, decision.entry)
        told = decider.stats()["f"][str(BOUND)] if number % 25 == 24 else None
        if told is not None:
            held &= told["interval"][0] <= rate <= told["interval"][1]
            if not seen or seen[-1] != told["state"]:
                seen.append(told["state"])
    return seen, held


@pytest.mark.parametrize("seed", range(3))
def test_a_promise_that_is_kept_is_unverified_then_holds_then_is_certified_and_never_stopped(
    seed: int,
) -> None:
    seen, held = states(0.0, seed, 500)
    assert seen[0] in ("unverified", "holding")
    assert seen[-1] == "certified"
    assert "stopped" not in seen
    assert held


@pytest.mark.parametrize("seed", range(3))
def test_a_promise_that_is_broken_is_stopped_and_never_certified(seed: int) -> None:
    seen, _ = states(0.4, seed, 500)
    assert "stopped" in seen
    assert "certified" not in seen


@settings(max_examples=15, deadline=None)
@given(st.floats(0.002, 0.2), st.sampled_from([0.125, 0.5, 1.0]), st.integers(0, 10**6))
def test_at_no_time_does_the_interval_exclude_the_true_rate_but_in_one_run_of_twenty(
    rate: float, probability: float, seed: int
) -> None:
    missed = 0
    for run in range(8):
        rng, interval = random.Random(f"{seed} {run}"), Interval()
        for hit in range(400):
            checked = rng.random() < probability
            interval.hit(probability, checked, checked and rng.random() < rate)
            if hit % 100 == 99:
                low, high = interval.bounds()
                if not low <= rate <= high:
                    missed += 1
                    break
    assert missed <= 3
