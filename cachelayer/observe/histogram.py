"""Latencies in buckets along preferred numbers (ISO 3, R20): twenty a decade, so that 1, 2 and 5 are edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_R20 = "1 1.12 1.25 1.4 1.6 1.8 2 2.24 2.5 2.8 3.15 3.55 4 4.5 5 5.6 6.3 7.1 8 9".split()
_LOWEST, _DECADES = -7, 9  # from 0.1 us to 100 s
_EDGES = np.array([float(f"{m}e{_LOWEST + d}") for d in range(_DECADES) for m in _R20])

SHOWN = (*(float(f"{m}e{e}") for e in range(-6, 1) for m in (1, 2, 5)), 10.0)
"""Edges, in seconds, of the buckets that metrics show: 1, 2 and 5 a decade from 1 us to 10 s."""
_SHOWN_AT = np.searchsorted(_EDGES, SHOWN)


class Shown(NamedTuple):
    """A histogram as it was at one moment."""

    below: tuple[tuple[float, int], ...]
    """(upper edge in seconds, how many are not above it), for the edges in `SHOWN` and infinity."""
    total: float


class Histogram:
    """Latencies in buckets at most 12.5 % wide; a bucket holds what is above its lower edge and up to its upper one."""

    __slots__ = ("_counts", "count", "total")

    def __init__(self) -> None:
        self._counts = np.zeros(len(_EDGES) + 1, np.int64)
        self.count = 0
        self.total = 0.0

    def add_all(self, seconds: Sequence[float], weights: Sequence[int] | None = None) -> None:
        """Count latencies in seconds, each as often as its weight says."""
        values = np.asarray(seconds, np.float64)
        times = np.ones(len(values), np.int64) if weights is None else np.asarray(weights, np.int64)
        np.add.at(self._counts, np.searchsorted(_EDGES, values), times)
        n, total = int(times.sum()), float(values @ times)  # first: meanwhile other threads may add
        self.count += n
        self.total += total

    def merge(self, other: Histogram) -> None:
        """Count what `other` counted, too."""
        self._counts += other._counts
        self.count += other.count
        self.total += other.total

    def quantile(self, q: float) -> float:
        """Upper edge, in seconds, of the bucket that holds the q-th quantile; 0.0 if empty."""
        if not self.count:
            return 0.0
        at = int(np.searchsorted(np.cumsum(self._counts), max(math.ceil(q * self.count), 1)))
        return float(_EDGES[min(at, len(_EDGES) - 1)])

    def summary(self) -> dict[str, float]:
        """Count, mean, p50 and p99 in seconds."""
        mean = self.total / self.count if self.count else 0.0
        return {"count": self.count, "mean": mean, "p50": self.quantile(0.5), "p99": self.quantile(0.99)}

    def shown(self) -> Shown:
        """The histogram as it is exported to metrics."""
        below = np.cumsum(self._counts)
        counts = zip((*SHOWN, math.inf), [*below[_SHOWN_AT].tolist(), int(below[-1])], strict=True)
        return Shown(tuple(counts), self.total)
