"""Told apart: answers that changed, questions of a new kind, and the usual."""

from __future__ import annotations

import random

import pytest

from cachelayer.semantic.evidence.changes import Novelty, Shift
from cachelayer.semantic.evidence.principals import BURST, Caution


def test_a_shift_is_told_within_some_twenty_wrong_answers_and_not_while_the_forecast_holds() -> None:
    rng = random.Random(5)
    for predicted in (0.05, 0.15, 0.3):
        shift = Shift()
        assert not any(shift.learn(predicted, rng.random() < predicted) for _ in range(20_000))
        assert any(shift.learn(predicted, wrong=True) for _ in range(60))
    quick = Shift()
    assert any(quick.learn(0.1, wrong=True) for _ in range(20))


def test_a_burst_of_new_questions_is_no_change_of_answers() -> None:
    shift = Shift()
    assert not any(shift.learn(risk, wrong=True) for risk in (0.35, 0.5, 0.7, 0.95) * 500)


def _usual(share: float, seed: int = 0) -> Novelty:
    """After a thousand requests, of which this share brought new answers."""
    rng, novelty = random.Random(seed), Novelty()
    for _ in range(1000):
        novelty.learn(new=rng.random() < share)
    return novelty


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.1, 0.2])
def test_new_questions_beside_known_ones_are_told_within_twenty_requests(share: float) -> None:
    """Seven of ten are new, where it was at most every fifth."""
    for seed in range(20):
        rng, novelty = random.Random(-seed), _usual(share, seed)
        told = [novelty.learn(new=rng.random() < 0.7) or novelty.burst for _ in range(20)]
        assert any(told)


def test_two_new_answers_at_once_are_a_burst_where_there_were_none_and_one_is_not() -> None:
    novelty = _usual(0.0)
    novelty.learn(new=True)
    assert not novelty.burst
    novelty.learn(new=True)
    assert novelty.burst


@pytest.mark.parametrize("share", [0.0, 0.002, 0.02, 0.1, 0.3, 0.6, 0.9, 1.0])
def test_a_steady_share_of_new_questions_is_none_whatever_it_is(share: float) -> None:
    rng, novelty, told = random.Random(7), _usual(share), 0
    for _ in range(4000):
        novelty.learn(new=rng.random() < share)
        told += novelty.burst
    assert told <= 0.02 * 4000


def test_a_young_scope_whose_questions_begin_to_recur_is_hardly_ever_one() -> None:
    told = 0
    for seed in range(20):
        rng, novelty, seen = random.Random(seed), Novelty(), set[int]()
        for _ in range(600):
            kind = rng.randrange(40)
            novelty.learn(new=kind not in seen)
            seen.add(kind)
            told += novelty.burst
    assert told <= 0.01 * 20 * 600


def test_a_burst_ends_once_its_questions_are_known() -> None:
    novelty = _usual(0.0)
    for _ in range(30):
        novelty.learn(new=True)
    assert novelty.burst
    for _ in range(60):
        novelty.learn(new=False)
    assert not novelty.burst


def test_what_became_usual_is_no_burst_any_more() -> None:
    rng, novelty = random.Random(3), _usual(0.0)
    for _ in range(1500):
        novelty.learn(new=rng.random() < 0.4)
    assert not novelty.burst


def test_in_a_burst_risks_are_raised_so_that_none_served_exceeds_the_bound() -> None:
    caution = Caution()
    caution.novelty = _usual(0.0)
    assert caution.raised(0.01) == 0.01
    for _ in range(2):
        caution.novelty.learn(new=True)
    assert caution.raised(0.01) == pytest.approx(0.01 * BURST)
