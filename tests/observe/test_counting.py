"""The parts that metrics are made of: buckets, samples of hits, the busiest names, the fall of a hit rate."""

from __future__ import annotations

import asyncio
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.exact.answers.usage import usage_of
from cachelayer.observe.cost import Bill, Ledger, Price, Prices
from cachelayer.observe.health import HitRate, LoopMeter
from cachelayer.observe.histogram import SHOWN, Histogram
from cachelayer.observe.stats import FunctionStats
from cachelayer.observe.topn import TopN
from cachelayer.testing import ManualClock

SECONDS = st.lists(st.floats(2e-7, 90.0), min_size=1, max_size=200)


@given(SECONDS)
def test_a_bucket_holds_what_is_not_above_its_edge(seconds: list[float]) -> None:
    histogram = Histogram()
    histogram.add_all(seconds)
    shown = histogram.shown()
    assert [edge for edge, _ in shown.below] == [*SHOWN, math.inf]
    for edge, n in shown.below:
        assert n == sum(s <= edge for s in seconds)
    assert shown.total == pytest.approx(sum(seconds))


@given(SECONDS, st.floats(0.01, 1.0))
def test_quantiles_are_right_to_an_eighth(seconds: list[float], q: float) -> None:
    histogram = Histogram()
    histogram.add_all(seconds)
    true = float(np.quantile(seconds, q, method="inverted_cdf"))
    assert true <= histogram.quantile(q) * (1 + 1e-9) and histogram.quantile(q) <= true * 1.126


@given(SECONDS, SECONDS)
def test_histograms_together_are_that_of_all(some: list[float], others: list[float]) -> None:
    one, other, whole = Histogram(), Histogram(), Histogram()
    for histogram, seconds in ((one, some), (other, others), (whole, some + others)):
        histogram.add_all(seconds)
    one.merge(other)
    assert one.shown().below == whole.shown().below
    assert one.summary() == pytest.approx(whole.summary())


async def test_the_worst_stall_is_that_of_the_last_minute() -> None:
    clock = ManualClock()
    meter = LoopMeter(clock.monotonic, lambda: None, Histogram(), interval=1.0)
    told = []
    for late in (0.5, 3.0, 0.25, *[0.0] * 60):
        clock.advance(1.0 + late)
        meter._look()
        told.append(meter.worst())
    meter.stop()
    assert told[:3] == [0.5, 3.0, 3.0] and told[58] == 3.0
    assert told[62] == 0.25
    assert meter.fold().summary()["count"] == 63


@given(st.integers(1, 5000))
def test_looks_stand_for_all_hits_up_to_the_last_one(hits: int) -> None:
    stats, slot = FunctionStats(), SimpleNamespace(cost=2.0, tokens=3, meta=None)
    looked = 0
    for n in range(1, hits + 1):
        stats.fast_hits = n
        if n >= stats.look_at:
            stats.look(1e-6, slot)
            looked = n
    stats.fold()
    assert stats.requests["exact"].count == looked and hits - looked < 127
    assert stats.saved_seconds == 2.0 * looked and stats.saved_tokens == 3 * looked


@given(st.lists(st.sampled_from("abcdefghijkl"), max_size=300), st.integers(1, 4))
def test_the_sum_over_names_is_everything_and_no_name_s_sum_falls_to_nothing(
    names: list[str], n: int
) -> None:
    top, seen = TopN(n), 0.0
    for name in names:
        top.add(name, {"x": 1.0})
        seen += 1
        told = list(top)
        assert sum(amount for _, _, amount in told) == seen
        assert len({name for name, _, _ in told} - {"other"}) <= n


def test_a_name_that_becomes_busy_is_told_apart() -> None:
    top = TopN(2)
    for name in ("quiet", "still", *["busy"] * 10):
        top.add(name, {"x": 1.0})
    assert "busy" in {name for name, _, _ in top}


def test_a_name_called_other_is_one_of_the_others() -> None:
    """Two samples with the same labels are no valid exposition, and one of the two got lost in a dict."""
    ledger = Ledger(Prices({}), tenants=1, tags=1)
    for tenant in ("acme", "acme", "other", "globex", "other"):
        ledger.add(Bill("m", tenant=tenant, tags=(tenant,)), 1.0, hit=False)
    told = [(name, labels) for name, labels, _ in ledger.readings()]
    assert len(told) == len(set(told))
    assert ledger.stats()["tenants"] == {"acme": {"miss": 2, "spent": 0}, "other": {"miss": 3, "spent": 0}}


def fallen(before: float, after: float, asked: int) -> HitRate:
    rate = HitRate()
    hits = requests = 0
    for second in range(1200):
        share = before if second < 1140 else after
        requests += asked
        hits += round(asked * share)
        rate.see(float(second), hits, requests)
    return rate


@pytest.mark.parametrize(
    ("before", "after", "asked", "collapsed"),
    [
        (0.6, 0.0, 10, True),
        (0.6, 0.2, 10, True),
        (0.6, 0.5, 10, False),
        (0.6, 0.0, 1, False),
        (0.0, 0.0, 9, False),
    ],
)
def test_a_fall_beyond_chance_is_a_collapse(before: float, after: float, asked: int, collapsed: bool) -> None:
    assert fallen(before, after, asked).collapsed is collapsed


@pytest.mark.parametrize(
    ("answer", "usage"),
    [
        ({"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 8}}}, (9, 8, 0)),
        ({"usage": {"input_tokens": 9, "output_tokens": 4}}, (9, 0, 4)),
        ([{"x": 1}, {"usage": {"prompt_tokens": 2, "completion_tokens": 1}}, {"usage": None}], (2, 0, 1)),
        ("text", (0, 0, 0)),
        ({"usage": {"prompt_tokens": "many"}}, (0, 0, 0)),
        (["a", "b"], (0, 0, 0)),
    ],
)  # fmt: skip
def test_usage_is_read_in_every_wire_form(answer: object, usage: tuple[int, int, int]) -> None:
    assert usage_of(answer) == usage


def test_a_price_is_of_a_name_its_versions_and_what_a_star_stands_for() -> None:
    table = {"gpt": Price(prompt=1), "gpt-mini": Price(prompt=2), "own-*": Price(prompt=3)}
    prices = Prices(table, default=Price(prompt=9))
    expected = {
        "gpt-mini-2026": 2,
        "openai/gpt-mini@latest": 2,
        "own-llama": 3,
        "gpt-mini-pro": 9,
        "gpt-5": 9,
    }
    assert {model: prices.of(model).prompt for model in expected} == expected


def test_bundled_prices_tell_when_and_where_each_was_found() -> None:
    prices = Prices.bundled()
    assert prices.of("gpt-4o-mini-2024-07-18").of(Bill("", 10**6, 0, 10**6), 1.0) == pytest.approx(0.75)
    assert prices.of("anthropic/claude-sonnet-5-5").cached == 0.1 and prices.find("o3-pro") is None
    for price in prices.models.values():
        assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", price.date) and price.source.startswith("https://")
        assert 0 < (price.cached or price.prompt) <= price.prompt < price.completion


def test_prices_of_one_s_own_stand_before_bundled_ones(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"bundled": True, "models": {"gpt-4o": {"prompt": 1.0}}}))
    prices = Prices.load(path)
    assert prices.of("gpt-4o").prompt == 1.0 and prices.of("gpt-4o-mini").prompt == 0.15
    path.write_text(json.dumps({"bundled": True, "currency": "EUR", "models": {}}))
    with pytest.raises(ConfigurationError, match="currency='EUR'"):
        Prices.load(path)


def test_prices_are_given_as_what_a_file_of_them_would_hold() -> None:
    held = {"currency": "EUR", "models": {"gpt-4o": {"prompt": 1.0}}}
    layer = CacheLayer(semantic=False)
    assert layer.account(held).prices == Prices({"gpt-4o": Price(prompt=1.0)}, currency="EUR")
    assert held["currency"] == "EUR" and "models" in held
    with pytest.raises(ConfigurationError, match=r"gpt-4o.*give JSON like"):
        layer.account({"gpt-4o": {"prompt": 1.0}})


def test_asking_again_for_what_was_counted_does_not_begin_anew() -> None:
    layer = CacheLayer(semantic=False)
    ledger = layer.account({"models": {"m": {"prompt": 1e6}}}, tenants=1, tags=1)
    for hit in (False, True, True):
        ledger.add(Bill(model="m", prompt=1, tenant="acme", tags=("kb",)), 0.1, hit=hit)
    told = layer.account().stats()
    assert (told["models"]["m"]["spent_cost"], told["models"]["m"]["saved_cost"]) == (1, 2)
    assert told["tenants"] == {"acme": {"miss": 1, "hit": 2, "spent": 1, "saved": 2}}
    assert told["tags"] == {"kb": {"spent": 1, "saved": 2}}
    assert layer.account({"models": {}}).stats()["models"] == {}  # with prices: from now on


async def test_a_hit_says_what_it_spared_where_its_price_is_known() -> None:
    usage = {"prompt_tokens": 2, "completion_tokens": 1}
    reply = {
        "model": "m",
        "choices": [{"message": {"content": "so"}, "finish_reason": "stop"}],
        "usage": usage,
    }

    async def chat(model: str, messages: list[dict[str, str]]) -> dict[str, object]:
        return reply

    async with CacheLayer(semantic=False) as layer:
        ask, asked = layer.wrap(chat), {"model": "m", "messages": [{"role": "user", "content": "how?"}]}
        assert [(await ask.outcome(**asked)).saved.cost for _ in range(2)] == [0.0, 0.0]
        layer.account({"models": {"m": {"prompt": 1e6, "completion": 3e6}}})
        assert [(await ask.outcome(**asked)).saved.cost for _ in range(2)] == [5.0, 5.0]
        other = asked | {"messages": [{"role": "user", "content": "why?"}]}
        assert [(await ask.outcome(**other)).saved.cost for _ in range(2)] == [0.0, 5.0]


def test_calls_of_models_without_a_price_are_counted_not_taken_for_free() -> None:
    ledger = Ledger(Prices({"known": Price(prompt=1.0)}))
    for model in ("known", "unknown", "unknown"):
        ledger.add(Bill(model, 10), 1.0, hit=False)
    counted = {labels: value for name, labels, value in ledger.readings() if name == "unpriced_calls_total"}
    assert counted == {("known",): 0, ("unknown",): 2}


def test_a_price_file_that_cannot_be_read_names_file_and_field(tmp_path: object) -> None:
    path = f"{tmp_path}/prices.json"
    with pytest.raises(ConfigurationError, match=r"prices.json.*give JSON like"):
        Prices.load(path)
    with open(path, "w") as file:
        file.write('{"models": {"m": {"prompt": -1}}}')
    with pytest.raises(ConfigurationError, match=r"price.prompt=-1"):
        Prices.load(path)


def test_stalls_of_a_loop_that_ended_still_count() -> None:
    """Only those of the loop that was started last were told, so that with each new one the count fell to 0."""
    layer = CacheLayer(semantic=False, clock=(clock := ManualClock()))

    metrics = layer.metrics()

    async def stalled(seconds: float) -> int:
        async with layer:
            (meter,) = layer._watching.readings.meters
            clock.advance(seconds)
            meter._look()
        told = metrics.render()[1].decode()
        return int(float(re.findall(r"cachelayer_loop_stall_seconds_count (.*)", told)[0]))

    assert [asyncio.run(stalled(seconds)) for seconds in (1.0, 2.0)] == [1, 2]


def test_a_loop_that_ended_without_closing_the_layer_is_watched_no_more() -> None:
    layer = CacheLayer(semantic=False)

    async def watched() -> int:
        layer.metrics()
        return len(layer._watching.readings.meters)

    assert [asyncio.run(watched()) for _ in range(3)] == [1, 1, 1]


async def test_the_hit_rate_that_is_shown_is_the_share_of_requests_answered_by_the_cache() -> None:
    layer = CacheLayer(semantic=False, clock=(clock := ManualClock()))

    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        return question

    metrics = layer.metrics()
    metrics.render()
    for question in "aabc":
        await ask(question)
    clock.advance(30)
    assert 'cachelayer_hit_rate{window="recent"} 0.25\n' in metrics.render()[1].decode()
    await layer.aclose()
