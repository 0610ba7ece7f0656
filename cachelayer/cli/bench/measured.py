"""What was measured of requests: latencies in fine counts, percentiles with intervals, goodput."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ...errors import CacheLayerError
from ...observe.quality import wilson

Status = Literal["ok", "error", "shed"]
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)
SERIES = ("e2e", "ttft", "itl", "tpot")
"""End to end, time to the first token, between tokens, time per token after the first of one request; seconds."""
_REASONS = 8
"""Of misses, the most that are told."""
_LOWEST = 1e-7
_STEP = math.log1p(0.001)
_BUCKETS = int(math.log(1e4 / _LOWEST) / _STEP) + 2


@dataclass(slots=True)
class Sample:
    """One request. Times are monotonic seconds; `due` is when it should have been sent, whatever held it up."""

    due: float
    sent: float = 0.0
    first: float | None = None
    """When the first piece came; None if the answer does not come in pieces."""
    last: float = 0.0
    gaps: list[float] = field(default_factory=list)
    status: Status = "ok"
    fault: str = ""
    said: str = ""
    """What the fault said."""
    hit: bool | None = None
    """None if the target does not tell."""
    why: str = ""
    """Of a miss: the tier that was asked last and its reason, or why the cache was not asked."""


class Counts:
    """Latencies in buckets 0.1 % wide, after HdrHistogram: bounded memory whatever comes, percentiles right to 0.05 %.

    (The library of that name would bring setuptools along; this needs numpy.)
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_BUCKETS, np.int64)
        self.total = 0.0

    def add(self, seconds: Sequence[float]) -> None:
        """Count latencies in seconds."""
        values = np.maximum(np.asarray(seconds, np.float64), _LOWEST)
        at = np.minimum((np.log(values / _LOWEST) / _STEP + 0.5).astype(np.int64), _BUCKETS - 1)
        np.add.at(self._counts, at, 1)
        self.total += float(values.sum())

    def __len__(self) -> int:
        return int(self._counts.sum())

    def percentile(self, share: float) -> float:
        """Seconds at or below which this share lies."""
        below = np.cumsum(self._counts)
        rank = min(max(math.ceil(share * int(below[-1])), 1), int(below[-1]))
        return float(_LOWEST * math.exp(int(np.searchsorted(below, rank)) * _STEP))

    def ends(self) -> tuple[float, float]:
        """p50 and p99."""
        return self.percentile(0.5), self.percentile(0.99)

    def interval(self, share: float) -> tuple[float, float]:
        """95 % interval of a percentile, by order statistics; no assumption on the distribution but independence."""
        n = len(self)
        half = 1.96 * math.sqrt(share * (1 - share) / n)
        return self.percentile(max(share - half, 0.0)), self.percentile(min(share + half, 1.0))

    def summary(self) -> dict[str, Any]:
        """Count, mean, and each percentile with its interval; seconds."""
        if not len(self):
            return {"count": 0}
        summary: dict[str, Any] = {"count": len(self), "mean": self.total / len(self)}
        for share in SHARES:
            low, high = self.interval(share)
            summary[name_of(share)] = {"value": self.percentile(share), "low": low, "high": high}
        return summary

    def spread(self, most: int = 4000) -> list[float]:
        """At most so many values that are spread as all are; seconds."""
        n = min(len(self), most)
        return [self.percentile((i + 0.5) / n) for i in range(n)]


def name_of(share: float) -> str:
    """'p99.9' for 0.999."""
    return f"p{100 * share:g}"


class Arm:
    """The measured requests of one way to serve: with or without the cache."""

    def __init__(self, name: str, slo: Mapping[str, float]) -> None:
        self.name, self.slo = name, dict(slo)
        self.series: dict[tuple[str, str], Counts] = {}
        """By (series, who): 'all', and 'hit' and 'miss' where the target tells."""
        self.statuses: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.said: dict[str, str] = {}
        """What the first fault of each kind said."""
        self.hits: Counter[str] = Counter()
        self.misses: Counter[str] = Counter()
        """By why they were misses."""
        self.lag = Counts()
        self.good = 0
        self.seconds = 0.0
        """From the first due to the last answered."""
        self._from = math.inf
        self._until = 0.0

    def add(self, sample: Sample) -> None:
        """Count one request."""
        self.statuses[sample.status] += 1
        self.lag.add([max(sample.sent - sample.due, 0.0)])
        self._from, self._until = min(self._from, sample.due), max(self._until, sample.last)
        self.seconds = self._until - self._from
        if sample.status != "ok":
            self.faults[sample.fault] += 1
            self.said.setdefault(sample.fault, sample.said)
            return
        taken = latencies(sample)
        whos = ["all"]
        if sample.hit is not None:
            whos.append("hit" if sample.hit else "miss")
            self.hits[whos[-1]] += 1
            if sample.why and not sample.hit:
                self.misses[sample.why] += 1
        for series, values in taken.items():
            for who in whos:
                self.series.setdefault((series, who), Counts()).add(values)
        self.good += all(max(taken.get(name, [0.0])) <= limit for name, limit in self.slo.items())

    def answered(self) -> None:
        """Raises CacheLayerError if no request was: then there is nothing to tell of."""
        if self.statuses and not self.statuses["ok"]:
            kinds = [
                f"{n} {kind}" + f" ({self.said[kind]})" * bool(self.said[kind])
                for kind, n in self.faults.items()
            ]
            asked = sum(self.statuses.values())
            raise CacheLayerError(f"{self.name}: none of {asked} requests was answered: {', '.join(kinds)}")

    def summary(self) -> dict[str, Any]:
        """Everything in plain types; seconds and shares."""
        asked = sum(self.statuses.values())
        known = sum(self.hits.values())
        low, high = wilson(self.hits["hit"], known) if known else (0.0, 0.0)
        return {
            "requests": asked,
            "seconds": self.seconds,
            "rate": asked / self.seconds if self.seconds else 0.0,
            "ok": self.statuses["ok"],
            "errors": self.statuses["error"],
            "sheds": self.statuses["shed"],
            "faults": dict(self.faults),
            "hit_rate": {"value": self.hits["hit"] / known, "low": low, "high": high} if known else None,
            "misses": dict(self.misses.most_common(_REASONS)),
            "goodput": {"rate": self.good / self.seconds, "share": self.good / asked}
            if self.slo and asked
            else None,
            "slo": self.slo,
            "lag": self.lag.summary(),
            "latency": {
                who: {s: self.series[s, who].summary() for s in SERIES if (s, who) in self.series}
                for who in ("all", "hit", "miss")
                if ("e2e", who) in self.series
            },
        }


def latencies(sample: Sample) -> dict[str, list[float]]:
    """A request's latencies by series, in seconds, from when it was due: a late start is the target's fault."""
    taken = {"e2e": [sample.last - sample.due]}
    if sample.first is not None:
        taken["ttft"] = [sample.first - sample.due]
        if sample.gaps:
            taken["itl"] = sample.gaps
            taken["tpot"] = [sum(sample.gaps) / len(sample.gaps)]
    return taken
