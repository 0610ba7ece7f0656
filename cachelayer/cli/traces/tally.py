"""What came of one run over a trace."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from ...observe.quality import wilson
from ..charts import NOTHING
from .intervals import Interval, exact, percent

MISS, EXACT, RIGHT, WRONG, FILLED = range(5)
"""What became of a request: the backend answered; an equal one had been asked; similar and right; similar and wrong;
not counted (the first of a pair)."""
HEAD = ("net hits", "95 %", "similar", "wrong of them", "95 %")
"""What `Tally.cells` are."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong answer: the request, and the one whose answer it got."""

    asked: int
    """Place in the trace."""
    served: str
    similarity: float | None
    confidence: float | None = None


@dataclass(slots=True)
class Tally:
    """One run. `share_wrong` is of the similar answers served (false discovery rate); `error` is of all requests."""

    name: str
    kind: Literal["layer", "threshold", "oracle"]
    bound: float | None = None
    """The layer's own `max_error_rate`."""
    path: list[int] = field(default_factory=list)
    """One of MISS .. FILLED for each request."""
    checked: list[int] = field(default_factory=list)
    """Places of similar hits that were asked again in the background."""
    changed: list[int] = field(default_factory=list)
    """Places of exact repeats that the trace answered differently than before."""
    mistakes: list[Mistake] = field(default_factory=list)
    confidences: list[tuple[int, float, bool]] = field(default_factory=list)
    """(place, confidence, right) of each similar answer."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why the similar tier did not answer."""
    state: dict[str, Any] = field(default_factory=dict)
    """What the layer says of its own error budget."""

    @property
    def requests(self) -> int:
        return len(self.path) - self.path.count(FILLED)

    @property
    def checks(self) -> int:
        return len(self.checked)

    @property
    def calls(self) -> int:
        """Calls of the backend, checks included."""
        return self.path.count(MISS) + self.checks

    @property
    def similar(self) -> int:
        return self.path.count(RIGHT) + self.wrong

    @property
    def wrong(self) -> int:
        return self.path.count(WRONG)

    @property
    def hits(self) -> int:
        return self.path.count(EXACT) + self.similar

    @property
    def hit(self) -> float:
        """Share of requests answered without the backend, less the checks: 'net'."""
        return (self.hits - self.checks) / self.requests if self.requests else 0.0

    @property
    def hit_interval(self) -> Interval:
        return wilson(max(self.hits - self.checks, 0), self.requests)

    @property
    def error(self) -> float:
        return self.wrong / self.requests if self.requests else 0.0

    @property
    def error_interval(self) -> Interval:
        return exact(self.wrong, self.requests)

    @property
    def share_wrong(self) -> float:
        return self.wrong / self.similar if self.similar else 0.0

    @property
    def share_wrong_interval(self) -> Interval:
        return exact(self.wrong, self.similar)

    def part(self, start: int, stop: int | None = None) -> Tally:
        """The same run, with only the requests in [start, stop) counted."""
        stop = len(self.path) if stop is None else stop
        return Tally(
            self.name, self.kind, self.bound, self.path[start:stop],
            [i for i in self.checked if start <= i < stop],
            [i for i in self.changed if start <= i < stop],
            mistakes=[m for m in self.mistakes if start <= m.asked < stop],
            confidences=[c for c in self.confidences if start <= c[0] < stop],
            state=self.state,
        )  # fmt: skip

    def cells(self) -> tuple[str, ...]:
        """For a table whose columns begin, behind the run's name, with those in `HEAD`."""
        interval = "" if self.kind == "oracle" else percent(self.share_wrong_interval)  # it is never wrong
        served = (f"{self.share_wrong:.2%}", interval) if self.similar else (NOTHING, NOTHING)
        return f"{self.hit:.1%}", percent(self.hit_interval), f"{self.similar:,}", *served

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name, "kind": self.kind, "requests": self.requests, "hits": self.hits,
            "similar": self.similar, "wrong": self.wrong, "calls": self.calls, "checks": self.checks,
            "hit": self.hit, "hit_interval": self.hit_interval,
            "error": self.error, "error_interval": self.error_interval,
            "share_wrong": self.share_wrong, "share_wrong_interval": self.share_wrong_interval,
            "exact_answered_differently": len(self.changed), "state": self.state,
        }  # fmt: skip
