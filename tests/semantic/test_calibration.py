"""Prediction risks against what came: a function's sharpness is learned, and no evidence counts for all of the risk."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachelayer.semantic.evidence.calibration import BANDS, EDGES, Calibration


def realised(risk: float, shift: float, slope: float) -> float:
    """The true risk in a function whose log odds are turned about -1 and shifted."""
    return 1.0 / (1.0 + math.exp(1.0 - shift - slope * (math.log(risk / (1.0 - risk)) + 1.0)))


def taught(shift: float, slope: float, labels: int, seed: int) -> Calibration:
    """What a function teaches whose labels are mostly of middling risk, as misses are."""
    rng, calibration = random.Random(seed), Calibration()
    for _ in range(labels):
        risk = math.exp(rng.uniform(math.log(0.002), math.log(0.5)))
        calibration.learn(risk, rng.random() >= realised(risk, shift, slope))
    return calibration


def test_at_the_start_small_risks_are_taken_for_more_than_was_predicted_unless_asked_otherwise() -> None:
    factors = Calibration().factors
    assert all(factor > 1.02 for risk, factor in zip(EDGES, factors, strict=False) if risk < 0.02)
    assert factors[:10] == sorted(factors[:10], reverse=True)
    assert all(factor > 0.9 for factor in factors)
    assert Calibration(trusting=True).factors == pytest.approx([1.0] * BANDS)


@settings(deadline=None, max_examples=20)
@given(st.floats(-0.5, 0.8), st.floats(0.7, 1.6), st.integers(0, 10**6))
def test_after_a_thousand_labels_risks_are_right_within_a_factor_and_seldom_too_low(
    shift: float, slope: float, seed: int
) -> None:
    calibration = taught(shift, slope, 1000, seed)
    for risk in (0.003, 0.01, 0.03, 0.1):
        true = realised(risk, shift, slope)
        assert max(0.3 * true, 0.3 * risk) <= calibration.corrected(risk) * 1.001
        assert risk < 0.01 or calibration.corrected(risk) <= max(6.0 * true, risk)


def test_labels_of_middling_risk_speak_for_the_least() -> None:
    start = Calibration().corrected(0.001)
    assert taught(0.0, 1.6, 600, 1).corrected(0.001) < 0.35 * start
    assert taught(0.3, 0.5, 600, 1).corrected(0.001) > 1.5 * start


def test_no_number_of_confirmations_takes_more_than_four_tenths_of_a_risk() -> None:
    calibration, pairs = Calibration(), Calibration(least=0.5, trusting=True)
    for _ in range(4000):
        calibration.learn(0.05, True)
        pairs.learn(0.05, True)
    assert calibration.corrected(0.05) == pytest.approx(0.03)
    assert pairs.corrected(0.05) == pytest.approx(0.025)


def test_errors_of_one_band_raise_it_at_once() -> None:
    calibration = taught(0.0, 1.4, 1000, 2)
    before = calibration.corrected(0.004)
    for _ in range(3):
        calibration.learn(0.004, False)
    assert calibration.corrected(0.004) > 1.5 * before


def test_it_returns_to_a_state_that_was_kept() -> None:
    calibration = taught(0.0, 1.3, 300, 3)
    kept, factors = calibration.state(), list(calibration.factors)
    for _ in range(50):
        calibration.learn(0.01, False)
    assert calibration.factors != factors
    calibration.restore(kept)
    assert calibration.factors == pytest.approx(factors)


def test_what_is_tempered_weighs_less_at_once() -> None:
    calibration, start = taught(0.3, 0.5, 600, 1), Calibration().corrected(0.001)
    sure = calibration.corrected(0.001)
    calibration.temper(0.05)
    assert start < calibration.corrected(0.001) < sure
    calibration.temper(0.0)
    assert calibration.corrected(0.001) == pytest.approx(start)
