"""Counters, stage clocks and what makes requests differ. Bounded; read by `stats()` and `explain`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..types import Reason, Source

_BUCKETS = 96  # four a doubling, from 0.1 us to 1.7 s and beyond
_BASE = 1e-7


class Histogram:
    """Latencies in buckets a quarter of a doubling wide; quantiles are right to 19 %."""

    __slots__ = ("_counts", "count", "total")

    def __init__(self) -> None:
        self._counts = np.zeros(_BUCKETS + 1, np.int64)
        self.count = 0
        self.total = 0.0

    def add_all(self, seconds: Sequence[float]) -> None:
        """Count latencies."""
        values = np.maximum(np.asarray(seconds, np.float64), _BASE)
        at = np.minimum(4 * np.log2(values / _BASE) + 1, _BUCKETS).astype(np.int64)
        self._counts += np.bincount(at, minlength=_BUCKETS + 1)
        self.count += len(seconds)
        self.total += float(values.sum())

    def quantile(self, q: float) -> float:
        """Upper edge, in seconds, of the bucket that holds the q-th quantile; 0.0 where empty."""
        left = math.ceil(q * self.count)
        for at, n in enumerate(self._counts.tolist()):
            left -= n
            if left <= 0 and n:
                return float(_BASE * 2 ** (at / 4))
        return 0.0

    def summary(self) -> dict[str, float]:
        """Count, mean, p50 and p99 in seconds."""
        mean = self.total / self.count if self.count else 0.0
        return {"count": self.count, "mean": mean, "p50": self.quantile(0.5), "p99": self.quantile(0.99)}


class FunctionStats:
    """What happened to the calls of one function."""

    def __init__(self) -> None:
        self.fast_hits = 0
        """Exact hits in memory, counted by the hot path alone."""
        self.hits: Counter[tuple[Source, str]] = Counter()
        self.misses: Counter[tuple[str, Reason]] = Counter()
        self.kept_out: Counter[Reason] = Counter()
        self.timings: dict[str, Histogram] = {}
        self.backend_calls = 0
        self.backend_errors = 0
        self.shadow_checks = 0
        self.hedges_cancelled = 0
        """Backend calls begun because a similar lookup was slow, and given up because it answered."""
        self.requests_that_missed = 0
        self.saved_seconds = 0.0
        self.saved_tokens = 0
        self.differs: Counter[str] = Counter()
        self._backend_mean: float | None = None
        self._untold: list[tuple[Mapping[str, Reason], Mapping[str, float]]] = []
        self._previous: dict[str, int] = {}

    @property
    def backend_mean(self) -> float | None:
        """Seconds that the backend took, a moving mean; None before the first answer."""
        return self._backend_mean

    def add(self, misses: Mapping[str, Reason], timings: Mapping[str, float]) -> None:
        """Add one request: the tiers that did not answer, and its stages. Counted when some have come together."""
        self._untold.append((misses, timings))
        took = timings.get("backend")
        if took is not None:
            mean = self._backend_mean
            self._backend_mean = took if mean is None else mean + 0.1 * (took - mean)
        if len(self._untold) >= 256:
            self.fold()

    def fold(self) -> None:
        """Count what the last requests missed and put their latencies into the histograms."""
        told, self._untold = self._untold, []
        self.misses.update(item for misses, _ in told for item in misses.items())
        untold = [timings for _, timings in told]
        for stage in {stage for timings in untold for stage in timings}:
            histogram = self.timings.setdefault(stage, Histogram())
            histogram.add_all([timings[stage] for timings in untold if stage in timings])

    def scope_differs(self, fields: Mapping[str, Any]) -> None:
        """Count which fields of the scope changed since the last request that missed."""
        now = {
            name: hash(value) if type(value) is str else hash(repr(value)) for name, value in fields.items()
        }
        if self._previous:
            for name in now.keys() | self._previous.keys():
                if now.get(name) != self._previous.get(name) and (
                    name in self.differs or len(self.differs) < 64
                ):
                    self.differs[name] += 1
        self._previous = now

    def summary(self) -> dict[str, Any]:
        """All of it, in plain types."""
        self.fold()
        hits: dict[str, int] = {}
        for (source, match), n in self.hits.items():
            name = f"{source}:{match}"
            hits[name] = hits.get(name, 0) + n
        hits["memory:exact"] = hits.get("memory:exact", 0) + self.fast_hits
        answered = sum(hits.values())
        requests = answered + self.requests_that_missed
        most = self.differs.most_common(1)
        return {
            "requests": requests,
            "hits": hits,
            "hit_rate": answered / requests if requests else 0.0,
            "similar_hits": sum(n for name, n in hits.items() if name.endswith(":similar")),
            "misses": _nested(self.misses),
            "backend_calls": self.backend_calls,
            "backend_errors": self.backend_errors,
            "shadow_checks": self.shadow_checks,
            "hedges_cancelled": self.hedges_cancelled,
            "not_stored": {str(reason): n for reason, n in self.kept_out.items()},
            "saved_seconds": self.saved_seconds,
            "saved_tokens": self.saved_tokens,
            "timings": {stage: h.summary() for stage, h in self.timings.items()},
            "scope_field_that_differs_most": most[0][0] if most else None,
            "scope_differences": dict(self.differs),
        }


def _nested(counts: Counter[tuple[str, Reason]]) -> dict[str, dict[str, int]]:
    out: dict[str, dict[str, int]] = {}
    for (tier, reason), n in counts.items():
        out.setdefault(tier, {})[str(reason)] = n
    return out
