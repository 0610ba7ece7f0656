"""What is observed is bounded: scopes, hours, judgements, models, and looks at the hit rate."""

from __future__ import annotations

import time

import pytest

from cachelayer.observe.cost import Bill, Ledger, Price, Prices
from cachelayer.observe.health import HitRate
from cachelayer.observe.quality import HOURS, SCOPES, Hit, Quality


def hit(n: int) -> Hit:
    return Hit(f"e{n}", "ask", f"s{n}", f"question {n}", "q", "a", 0.9, 0.9)


def test_scopes_hours_and_judgements_of_quality_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    quality, now = Quality(keep=0), time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    for n in range(11 * SCOPES):
        now += 3600.0
        quality.checked(hit(n), right=True)
        assert quality.judged(hit(n)) and not quality.judged(hit(n))
    assert (len(quality._scopes), len(quality._judged)) == (SCOPES, 10 * SCOPES)
    assert len(quality.report()["hours"]) == HOURS
    assert quality.judged(hit(0)), "the oldest went"


def test_models_beyond_the_first_are_one_and_nothing_of_their_bills_is_lost() -> None:
    ledger = Ledger(Prices({"m1": Price(prompt=1e6)}))
    for n in range(20 * Ledger.MODELS):
        ledger.add(Bill(f"m{n}", prompt=1), 0.0, hit=False)
    models = ledger.stats()["models"]
    assert len(models) == Ledger.MODELS + 1 and len(ledger._priced) <= 16 * Ledger.MODELS
    assert sum(of["prompt"] for of in models.values()) == 20 * Ledger.MODELS
    assert models["m1"]["spent_cost"] == 1.0


def test_looks_at_the_hit_rate_are_those_of_the_last_hour() -> None:
    rate = HitRate()
    assert rate.rates() == (None, None) and not rate.collapsed
    for second in range(20_000):
        rate.see(float(second), second, second)
    assert 3600 <= len(rate._seen) <= 3700
    assert rate.rates() == (1.0, 1.0)
