"""What the adapter measures, as a snapshot and as Prometheus text.

Bounded: labels are replicas, lanes and reasons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Finer below 100 ms than the servers' own histograms, whose queue buckets begin at 300 ms."""


class Histogram:
    """Counts in fixed buckets, and their sum."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(SECONDS, value)] += 1
        self.total += value


@dataclass(slots=True)
class Signals:
    """Counters and histograms of one fleet, by replica or lane."""

    ttft: defaultdict[str, Histogram] = field(default_factory=lambda: defaultdict(Histogram))
    tpot: defaultdict[str, Histogram] = field(default_factory=lambda: defaultdict(Histogram))
    total: defaultdict[str, Histogram] = field(default_factory=lambda: defaultdict(Histogram))
    queue_wait: defaultdict[str, Histogram] = field(default_factory=lambda: defaultdict(Histogram))
    prompt_tokens: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    cached_tokens: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    completion_tokens: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    failures: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    retries: int = 0


def prometheus(snapshot: Mapping[str, Any]) -> str:
    """The snapshot of `Fleet.signals` in Prometheus' text format, prefix `cachelayer_backend_`."""
    return "".join(_lines(snapshot))


def _lines(snapshot: Mapping[str, Any]) -> Iterator[str]:
    prefix = "cachelayer_backend_"
    for name, label in (("replicas", "replica"), ("lanes", "lane")):
        metrics: dict[str, list[tuple[str, Any]]] = {}
        for key, values in snapshot[name].items():
            for metric, value in values.items():
                metrics.setdefault(metric, []).append((key, value))
        for metric, rows in metrics.items():
            histogram = isinstance(rows[0][1], Histogram)
            kind = "histogram" if histogram else "counter" if metric.endswith("_total") else "gauge"
            yield f"# TYPE {prefix}{metric} {kind}\n"
            for key, value in rows:
                labels = f'{label}="{_escape(key)}"'
                if histogram:
                    yield from _histogram(prefix + metric, labels, value)
                else:
                    yield f"{prefix}{metric}{{{labels}}} {float(value)}\n"
    yield f"# TYPE {prefix}shed_total counter\n"
    for (lane, reason), count in snapshot["shed"].items():
        yield f'{prefix}shed_total{{lane="{_escape(lane)}",reason="{reason}"}} {count}\n'
    yield f"# TYPE {prefix}brownout gauge\n{prefix}brownout {int(snapshot['brownout'])}\n"
    yield f"# TYPE {prefix}retries_total counter\n{prefix}retries_total {snapshot['retries']}\n"


def _histogram(name: str, labels: str, histogram: Histogram) -> Iterator[str]:
    seen = 0
    for bound, count in zip((*SECONDS, "+Inf"), histogram.counts, strict=True):
        seen += count
        yield f'{name}_bucket{{{labels},le="{bound}"}} {seen}\n'
    yield f"{name}_sum{{{labels}}} {histogram.total}\n{name}_count{{{labels}}} {seen}\n"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
