"""What the demo counts: where answers came from, how long they took, which were wrong and by whose fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from ...types import Outcome, Source
from .stream import Asked


class Verdict(StrEnum):
    """Whether an answer is right, else whose fault it is."""

    RIGHT = "right"
    CACHE = "cache"
    """The answer was made for a question of another article; the backend would have answered otherwise."""
    BACKEND = "backend"
    """The backend's own search errs on this question."""
    INHERITED = "inherited"
    """The cache equated two questions rightly, and the backend had erred on the other one."""


class Lane(StrEnum):
    """The ways an answer can take, in the order of the path."""

    MEMORY = "memory"
    REDIS = "redis"
    INDEX = "similar"
    REPEATED = "similar, again"
    """A phrasing first served by similarity that comes back, or one that rode along with such a hit."""
    COALESCED = "coalesced"
    STALE = "stale"
    BACKEND = "backend"
    BYPASS = "bypass"


HITS = tuple(lane for lane in Lane if lane not in (Lane.BACKEND, Lane.BYPASS))
SIMILAR = (Lane.INDEX, Lane.REPEATED)


@dataclass(slots=True)
class Counts:
    """One lane: requests, wrong answers by fault, latencies in seconds."""

    requests: int = 0
    wrong: dict[Verdict, int] = field(default_factory=lambda: dict.fromkeys(Verdict, 0))
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong answer, in full."""

    asked: Asked
    served: str
    """The label of the answer."""
    lane: Lane
    verdict: Verdict
    similarity: float | None
    confidence: float | None
    made_for: str
    """A question to which the backend had given this answer; empty if none is known."""


@dataclass(frozen=True, slots=True)
class Trap:
    """The first time a trap came up: its nearest neighbour of another article, and what the cache did.

    `ahead`: the neighbour was nearer than any question of the right article.
    """

    asked: Asked
    contrast: str
    ahead: bool
    near: str
    similarity: float | None
    lane: Lane
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens, and how many characters are taken for a token."""

    input: float = 2.50
    output: float = 10.00
    characters: float = 4.0

    def of(self, prompt: int, answer: int) -> float:
        """Dollars for a prompt and an answer of so many characters."""
        return (prompt * self.input + answer * self.output) / self.characters / 1e6


class Tally:
    """Counts of a run. Filled by one loop; may be read from another thread."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.requests = self.failed = self.backend_calls = 0
        self.elapsed = self._spared = 0.0
        self.cost_per_call = 0.0
        self.lanes = {lane: Counts() for lane in Lane}
        self.history: list[Lane] = []
        self.wrong: list[Wrong] = []
        self.traps: list[Trap] = []
        self.reasons: Counter[str] = Counter()
        """Why the similar tier left a request to the backend."""

    def add(self, lane: Lane, verdict: Verdict, seconds: float, spared: float = 0.0) -> None:
        """One answer, after `seconds`; `spared`: those that the backend once took for it, if it was not asked."""
        self._spared += spared
        counts = self.lanes[lane]
        counts.requests += 1
        counts.wrong[verdict] += 1
        counts.seconds.append(seconds)
        self.requests += 1
        self.history.append(lane)

    def share(self, lanes: Sequence[Lane]) -> float:
        """Part of all requests that took one of these lanes."""
        return sum(self.lanes[lane].requests for lane in lanes) / self.requests if self.requests else 0.0

    def faults(self, verdict: Verdict, lanes: Sequence[Lane] = tuple(Lane)) -> int:
        return sum(self.lanes[lane].wrong[verdict] for lane in lanes)

    @property
    def answered(self) -> int:
        """Requests answered without a call of their own."""
        return sum(self.lanes[lane].requests for lane in HITS)

    @property
    def similar(self) -> int:
        return sum(self.lanes[lane].requests for lane in SIMILAR)

    @property
    def avoided(self) -> int:
        """Backend calls spared; calls made in the background (shadow checks) are subtracted."""
        return max(0, self.requests - self.backend_calls)

    @property
    def saved_seconds(self) -> float:
        """Backend seconds spared, less those of checks."""
        return self._spared * self.avoided / self.answered if self.answered else 0.0

    @property
    def saved_cost(self) -> float:
        """Dollars spared."""
        return self.avoided * self.cost_per_call


def lane_of(outcome: Outcome) -> Lane:
    """Where an outcome belongs."""
    if outcome.source is Source.INDEX:
        return Lane.INDEX
    return Lane.REPEATED if outcome.match == "similar" else Lane(outcome.source.value)


def quantiles(seconds: Sequence[float]) -> tuple[float, float]:
    """p50 and p99; NaN where empty."""
    if not seconds:
        return float("nan"), float("nan")
    p50, p99 = np.quantile(np.array(seconds), (0.5, 0.99))
    return float(p50), float(p99)
