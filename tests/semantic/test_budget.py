"""The error budget: what may be served, the alarm, the interval."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.semantic.evidence.budget import Alarm, Interval, Ledger, level
from cachelayer.semantic.evidence.calibration import BANDS, EDGES, Calibration, band
from cachelayer.semantic.evidence.risk import Prior, RiskModel

SHARES = st.lists(st.tuples(st.floats(0.001, 3.0), st.booleans()), min_size=1, max_size=300)


@given(SHARES, st.sampled_from([0.005, 0.01, 0.05, 0.2]), st.sampled_from([1.0, 0.5]))
def test_the_mean_predicted_risk_of_what_is_served_never_exceeds_the_bound(
    risks: list[tuple[float, bool]], bound: float, scale: float
) -> None:
    ledger, calibration = Ledger(bound), Calibration()
    spent, ledger.scale = 0.0, scale
    for share, by_pair in risks:
        risk = share * bound
        if by_pair and ledger.admits_pair(risk, calibration):
            ledger.serve_pair(risk)
            spent += risk
            assert risk <= bound * scale
        elif not by_pair:
            ledger.see(risk, calibration)
            if ledger.admits(risk, calibration):
                ledger.serve(risk, calibration)
                spent += calibration.corrected(risk)
        assert spent <= bound * ledger.hits + 1e-9


@pytest.mark.parametrize("bound", [0.005, 0.01, 0.05, 0.2])
def test_no_answer_is_served_whose_own_risk_is_many_times_the_bound_however_little_was_spent(
    bound: float,
) -> None:
    ledger, calibration = Ledger(bound), Calibration(trusting=True)
    for _ in range(2000):
        ledger.see(1e-5, calibration)
        ledger.serve(1e-5, calibration)
    for share in (1.5, 3.9, 4.1, 5.0) * 10:
        ledger.see(share * bound, calibration)
    assert ledger.admits(3.9 * bound, calibration)
    assert not ledger.admits((Ledger.EACH + 0.1) * bound, calibration)


def test_a_past_that_looks_worse_now_does_not_keep_what_is_safe_from_being_served() -> None:
    ledger, calibration = Ledger(0.01), Calibration(trusting=True)
    for _ in range(300):
        ledger.see(0.004, calibration)
        if ledger.admits(0.004, calibration):
            ledger.serve(0.004, calibration)
    for _ in range(500):
        calibration.learn(0.1, True)
    for _ in range(20):
        calibration.learn(0.004, False)
    assert not ledger.admits(0.004, calibration)
    for _ in range(300):
        ledger.see(1e-4, calibration)
    assert ledger.admits(1e-4, calibration)


def test_what_is_served_is_charged_as_it_was_taken_for() -> None:
    ledger, calibration = Ledger(0.05), Calibration()
    for _ in range(10):
        ledger.serve(0.004, calibration)
    ledger.serve_pair(0.01)
    assert ledger.spent(calibration) == pytest.approx(10 * calibration.corrected(0.004) + 0.01)
    assert ledger.hits == 11


@given(st.lists(st.tuples(st.floats(1e-5, 0.5), st.booleans()), max_size=200))
def test_what_was_served_is_never_charged_more_than_at_its_time(lessons: list[tuple[float, bool]]) -> None:
    ledger, calibration = Ledger(0.01), Calibration()
    charged = 0.0
    for risk, right in lessons:
        charged += calibration.corrected(risk)
        ledger.serve(risk, calibration)
        calibration.learn(risk, right)
        assert 0.0 <= ledger.spent(calibration) <= charged * (1 + 1e-9)


def test_an_early_warning_wears_off_with_labels_where_hardly_anything_is_served() -> None:
    alarm = Alarm(0.01)
    for _ in range(200):
        alarm.hit(1.0, False)
    alarm.hit(1.0, True)
    alarm.hit(1.0, True)
    warned = alarm.recent
    assert warned > 5.0
    for _ in range(3000):
        alarm.cool()
    assert alarm.recent < 1.0 < warned
    alarm.hit(1.0, True)
    assert alarm.recent > 1.0


def test_a_small_bound_leaves_the_same_share_of_itself_at_the_start_as_a_larger_one() -> None:
    shares = [Ledger(bound).target() / bound for bound in (0.001, 0.005, 0.01)]
    assert max(shares) - min(shares) < 0.01
    assert 0.45 < shares[0] < 0.6
    ledger, before = Ledger(0.005), 0.0
    for hits in range(0, 20_000, 500):
        ledger.hits = hits
        assert before <= ledger.target() < ledger.bound
        before = ledger.target()


def test_what_is_riskier_than_the_bound_is_served_beside_enough_that_is_safe_and_not_once_it_comes_alone() -> (
    None
):
    ledger, calibration = Ledger(0.05), Calibration()

    def served(risks: list[float]) -> list[bool]:
        told = []
        for risk in risks:
            ledger.see(risk, calibration)
            told.append(ledger.admits(risk, calibration))
            if told[-1]:
                ledger.serve(risk, calibration)
        return told

    beside = served([0.002] * 9 + [0.12]) and served(([0.002] * 9 + [0.12]) * 100)
    assert sum(beside) == len(beside) and ledger.limit > 0.12
    alone = served([0.12] * 1000)
    assert any(alone) and not any(alone[500:]) and ledger.limit < 0.12
    assert all(served([0.002] * 10))


def test_a_larger_bound_serves_more() -> None:
    rng = random.Random(1)
    risks = [min(0.9, rng.expovariate(30)) for _ in range(3000)]
    hits = []
    for bound in (0.005, 0.01, 0.02, 0.05):
        ledger, calibration = Ledger(bound), Calibration()
        for risk in risks:
            ledger.see(risk, calibration)
            if ledger.admits(risk, calibration):
                ledger.serve(risk, calibration)
        hits.append(ledger.hits)
    assert hits == sorted(hits)
    assert hits[0] > 0


def test_bands_cover_every_risk_in_order() -> None:
    assert [band(e) for e in EDGES] == list(range(1, BANDS))
    assert band(0.0) == 0
    assert band(1.0) == BANDS - 1


def test_a_risk_model_follows_a_function_that_differs_from_its_prior() -> None:
    rng = np.random.default_rng(3)
    model = RiskModel(Prior(np.zeros(2), np.ones(2), np.array([0.0, 2.0, 3.0])))
    for _ in range(3000):
        z = rng.normal(size=2)
        right = rng.random() < 1 / (1 + np.exp(-(3 * z[0] + 1)))
        model.learn(model.encode(z), bool(right))
    assert model.risk(model.encode(np.array([2.0, 0.0]))) < 0.02
    assert model.risk(model.encode(np.array([-2.0, 0.0]))) > 0.9


def test_an_uncertain_model_is_more_careful_than_a_certain_one() -> None:
    prior = Prior(np.zeros(1), np.ones(1), np.array([1.0, 4.0]))
    x = np.array([1.0])
    vague, sure = RiskModel(prior, spread=0.8), RiskModel(prior, spread=0.01)
    assert vague.risk(vague.encode(x)) > sure.risk(sure.encode(x))


def _run(
    bound: float, wrong_share: float, hits: int, seed: int, probability: float = 0.0625
) -> tuple[Alarm, float]:
    rng, alarm, most = random.Random(seed), Alarm(bound), 0.0
    for _ in range(hits):
        checked = rng.random() < probability
        most = max(most, alarm.hit(probability, checked and rng.random() < wrong_share))
    return alarm, most


@pytest.mark.parametrize("probability", [0.0625, 0.25])
def test_the_alarm_reaches_a_wealth_of_twenty_in_at_most_one_of_twenty_runs_at_the_bound(
    probability: float,
) -> None:
    """Ville's inequality, over runs whose error rate is exactly the bound."""
    sounded = sum(_run(0.05, 0.05, 1500, seed, probability)[1] >= 20 for seed in range(100))
    assert sounded <= 10


def test_a_tightened_budget_still_serves_what_is_safe() -> None:
    ledger, calibration = Ledger(0.05), Calibration(trusting=True)
    for _ in range(500):
        ledger.see(0.04, calibration)
        if ledger.admits(0.04, calibration):
            ledger.serve(0.04, calibration)
    ledger.scale = 0.5
    for _ in range(200):
        ledger.see(0.005, calibration)
    assert ledger.admits(0.005, calibration)
    assert not ledger.admits(0.06, calibration)


@pytest.mark.parametrize("seed", range(5))
def test_the_alarm_sounds_soon_after_everything_turns_wrong(seed: int) -> None:
    alarm, _ = _run(0.02, 0.005, 3000, seed)
    rng = random.Random(seed)
    wealth = [alarm.hit(0.0625, rng.random() < 0.0625 * 0.9) for _ in range(200)]
    assert max(wealth) >= 200


@pytest.mark.parametrize("rate", [0.04, 0.5])
def test_the_interval_covers_the_true_rate_at_any_time(rate: float) -> None:
    missed = 0
    for seed in range(40):
        rng, interval = random.Random(seed), Interval()
        for hit in range(1, 1501):
            probability = level(rng.choice([0.02, 0.06, 0.2, 1.0]))
            checked = rng.random() < probability
            interval.hit(probability, checked, checked and rng.random() < rate)
            if hit % 250 == 0:
                low, high = interval.bounds()
                if not low <= rate <= high:
                    missed += 1
                    break
    assert missed <= 4


@pytest.mark.parametrize(("bound", "checks"), [(0.01, 422), (0.05, 85)])
def test_a_bound_is_certified_after_as_many_error_free_checks_as_the_docs_say(
    bound: float, checks: int
) -> None:
    interval = Interval()
    for _ in range(checks - 1):
        interval.hit(1.0, True, False)
    assert interval.bounds()[1] > bound
    interval.hit(1.0, True, False)
    assert interval.bounds()[1] <= bound


def test_without_a_check_nothing_is_claimed() -> None:
    interval = Interval()
    for _ in range(50):
        interval.hit(0.0, False, False)
    assert interval.estimate is None
    assert interval.bounds() == (0.0, 1.0)


def test_levels_never_lower_a_probability() -> None:
    assert [level(p) for p in (0.0, 0.001, 0.02, 0.5, 0.6, 1.0)] == [0.0, 0.015625, 0.03125, 0.5, 1.0, 1.0]


def test_risky_hits_that_are_checked_more_often_weigh_no_more_than_they_are() -> None:
    """Of 0.7 % wrong answers most are among the risky hits, half of which are checked; the bound is 1 %."""
    stopped = missed = 0
    for seed in range(20):
        rng, alarm, interval, most = random.Random(seed), Alarm(0.01), Interval(), 0.0
        for _ in range(4000):
            rate, probability = (0.25, 0.5) if rng.random() < 0.02 else (0.002, level(0.0125))
            checked = rng.random() < probability
            wrong = checked and rng.random() < rate
            most = max(most, alarm.hit(probability, wrong, level(0.02)))
            interval.hit(probability, checked, wrong, level(0.0125))
        low, high = interval.bounds()
        stopped += most >= 100.0
        missed += not low <= 0.02 * 0.25 + 0.98 * 0.002 <= high
    assert (stopped, missed) == (0, 0)
