"""What the counters of a layer say now, as (metric, labels, value): the one source of every exporter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any, Final, NamedTuple, Protocol

from ..protocols import Clock
from ..types import Source
from .cost import Ledger
from .health import HitRate, LoopMeter
from .histogram import Histogram, Shown
from .stats import FunctionStats, together
from .topn import OTHER

TIER_STATES = ("off", "cold", "warming", "ready", "failed")
BREAKER_STATES = ("closed", "open", "half_open")
BUDGET_STATES = ("unverified", "holding", "certified", "stopped")
COUNTED = ("hits", "checks", "repeats", "stopped_scopes")
ACCOUNT = {"interval", "estimate", "state", *COUNTED}
RESULTS = {"request": "request_seconds", "stage": "stage_seconds", "first_token": "first_token_seconds",
           "token_gap": "token_gap_seconds", "stream": "stream_seconds"}  # fmt: skip
"""Metric of each kind of latency that `FunctionStats` tells."""
APART: Final = 200
"""Functions that have labels of their own: each has a hundred series, and what is scraped is read on the loop."""


class Reading(NamedTuple):
    """One sample: a name in `FAMILIES`, its labels' values in order, a number or a histogram as it was."""

    name: str
    labels: tuple[str, ...]
    value: float | Shown


class Observed(Protocol):
    """What is watched: a layer."""

    @property
    def counters(self) -> Mapping[str, FunctionStats]:
        """By function name, in the order in which they were wrapped."""

    def states(self) -> Mapping[str, Any]:
        """`CacheLayer.stats()` without the functions."""


class Readings:
    """Reads a layer. Bounded: labels are the first `APART` functions, tiers, reasons, states, and as many tenants and
    tags as asked."""

    def __init__(self, layer: Observed, clock: Clock) -> None:
        self._layer, self._clock = layer, clock
        self.hit_rate = HitRate()
        self.ledger: Ledger | None = None
        self.meters: list[LoopMeter] = []
        self.stalls = Histogram()
        """Of every loop that was metered, also of those that ended."""

    def tick(self) -> None:
        """Look at the hit rate; about once a second."""
        all_ = self._layer.counters.values()
        for function in all_:
            function.fold()
        hits = sum(f.fast_hits + sum(f.hits.values()) for f in all_)
        asked = hits + sum(f.requests_that_missed for f in all_)
        self.hit_rate.see(self._clock.monotonic(), hits, asked)

    def __iter__(self) -> Iterator[Reading]:
        self.tick()
        states, functions = self._layer.states(), _apart(self._layer.counters)
        yield Reading("info", (version("cachelayer"),), 1.0)
        for name, function in functions.items():
            yield from _function(name, function)
        yield from _holdings(states)
        yield from _shared(states)
        yield from _similar(states["similar"], functions)
        yield from self._health()
        if self.ledger is not None:
            for name, labels, value in self.ledger.readings():
                yield Reading(name, labels, value)

    def _health(self) -> Iterator[Reading]:
        for window, rate in zip(("recent", "typical"), self.hit_rate.rates(), strict=True):
            if rate is not None:
                yield Reading("hit_rate", (window,), rate)
        yield Reading("hit_rate_collapsed", (), float(self.hit_rate.collapsed))
        if self.meters:
            yield Reading("loop_stall_worst_seconds", (), max(meter.worst() for meter in self.meters))
        for meter in self.meters:
            meter.fold()
        if self.meters or self.stalls.count:
            yield Reading("loop_stall_seconds", (), self.stalls.shown())


def _apart(counters: Mapping[str, FunctionStats]) -> dict[str, FunctionStats]:
    """The first functions by name, and all others as one; no sum ever falls."""
    names = list(counters)
    shown = {name: counters[name] for name in names[:APART]}
    if len(names) > APART:
        rest = [counters[name] for name in names[APART:]]
        shown[OTHER] = together(rest if OTHER not in shown else [shown[OTHER], *rest])
    return shown


def _function(name: str, stats: FunctionStats) -> Iterator[Reading]:
    stats.fold()
    hits = Counter(stats.hits)
    hits[Source.MEMORY, "exact"] += stats.fast_hits
    for (source, match), n in hits.items():
        yield Reading("requests_total", (name, str(source), match), n)
    for source, n in dict(stats.passed).items():
        yield Reading("requests_total", (name, str(source), "none"), n)
    for (tier, reason), n in dict(stats.misses).items():
        yield Reading("misses_total", (name, tier, str(reason)), n)
    for reason, n in dict(stats.kept_out).items():
        yield Reading("not_stored_total", (name, str(reason)), n)
    for verdict, n in dict(stats.shadow_verdicts).items():
        yield Reading("shadow_verdicts_total", (name, verdict), n)
    for verdict, n in dict(stats.model_verdicts).items():
        yield Reading("model_checks_total", (name, verdict), n)
    if stats.model_bounds is not None:
        for end, bound in zip(("estimate", "low", "high"), stats.model_bounds(), strict=True):
            if bound is not None:
                yield Reading("model_difference", (name, end), bound)
    for metric, value in (
        ("calls_total", stats.backend_calls), ("call_errors_total", stats.backend_errors),
        ("hedges_cancelled_total", stats.hedges_cancelled), ("shadow_checks_total", stats.shadow_checks),
        ("saved_seconds_total", stats.saved_seconds), ("saved_tokens_total", stats.saved_tokens),
    ):  # fmt: skip
        yield Reading(metric, (name,), value)
    for of, by in (("stage", stats.timings), ("request", stats.requests)):
        for which, histogram in dict(by).items():
            yield Reading(RESULTS[of], (name, which), histogram.shown())
    for (of, which), histogram in dict(stats.streams).items():
        yield Reading(RESULTS[of], (name, which), histogram.shown())


def _holdings(states: Mapping[str, Any]) -> Iterator[Reading]:
    queue, judged, tasks = states["write_back"], states["learning"], states["background"]
    for metric, value in (
        ("entries", states["entries"]), ("memory_bytes", states["bytes"]), ("memory_max_bytes", states["max_bytes"]),
        ("flights", states["flights"]), ("write_back_queue", queue["queued"]),
        ("write_back_dropped_total", queue["dropped"]), ("write_back_done_total", queue["done"]),
        ("learning_queue", judged["queued"]), ("learning_dropped_total", judged["dropped"]),
        ("background_tasks", tasks["running"]), ("background_refused_total", tasks["refused"]),
    ):  # fmt: skip
        yield Reading(metric, (), value)
    for metric, field in (
        ("batches_total", "calls"), ("texts_total", "items"), ("shed_total", "shed"), ("queue", "waiting"),
    ):  # fmt: skip
        if field in states["embedder"]:  # what an embedder does not count it does not tell
            yield Reading(f"embed_{metric}", (), states["embedder"][field])
    for why, n in states["gone"].items():
        yield Reading("entries_gone_total", (why,), n)
    for fault, n in states["faults"].items():
        stage, _, kind = fault.partition(":")
        yield Reading("faults_total", (stage, kind), n)
    for state in ("written", "dropped", "lost"):
        yield Reading("recorded_total", (state,), states["recorded"][state])


def _shared(states: Mapping[str, Any]) -> Iterator[Reading]:
    shared = states["shared"]
    if "breaker" in shared:
        yield Reading("breaker_opened_total", ("redis",), shared["breaker_opened"])
        for state in BREAKER_STATES:
            yield Reading("breaker_state", ("redis", state), float(shared["breaker"] == state))


def _similar(similar: Mapping[str, Any], functions: Mapping[str, Any]) -> Iterator[Reading]:
    for state in TIER_STATES:
        yield Reading("similar_state", (state,), float(similar["state"] == state))
    if "entries" in similar:
        yield Reading("similar_entries", (), similar["entries"])
    for function, bounds in similar.get("decider", {}).items():
        if function in functions and isinstance(
            bounds, Mapping
        ):  # not so for retrievals, or a decider of the owner's
            for bound, account in bounds.items():
                if isinstance(account, Mapping) and account.keys() >= ACCOUNT:
                    yield from _budget((function, bound), account)


def _budget(at: tuple[str, str], account: Mapping[str, Any]) -> Iterator[Reading]:
    low, high = account["interval"]
    yield Reading("budget_bound", at, float(at[1]))
    yield Reading("budget_low", at, low)
    yield Reading("budget_high", at, high)
    if account["estimate"] is not None:
        yield Reading("budget_estimate", at, account["estimate"])
    for field in COUNTED:
        yield Reading(f"budget_{field}", at, account[field])
    for state in BUDGET_STATES:
        yield Reading("budget_state", (*at, state), float(account["state"] == state))
