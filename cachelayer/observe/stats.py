"""Counters, stage clocks and what makes requests differ. Bounded; read by `stats()` and `explain`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import random
from typing import Any, TypeVar

from ..flow import forks
from ..types import Reason, Source
from .cost import Ledger
from .histogram import Histogram
from .quality import Quality

_FOLD = 256
_STORED, _PASSED, _ABSENT = (Source.REDIS, "exact"), ("memory", Reason.OFF), ("memory", Reason.ABSENT)
_NOT_HERE = dict([_ABSENT])
_STRIDE = 126
"""Fast hits that may pass between two that are looked at closely, at most; fewer while there were few."""

_COUNTS = ("fast_hits", "backend_calls", "backend_errors", "shadow_checks", "hedges_cancelled", "saved_seconds",
           "saved_tokens")  # fmt: skip
_BY_KIND = ("hits", "passed", "misses", "kept_out", "shadow_verdicts", "model_verdicts")
_TIMES = ("timings", "requests", "streams")
"""Attributes of `FunctionStats` that add up: numbers, numbers by kind, histograms."""

T = TypeVar("T")
Listener = Callable[[str, str, Sequence[float]], None]
"""Told of latencies when they are counted: what they are of ('stage', 'request', ...), which, seconds."""


class FunctionStats:
    """What happened to the calls of one function.

    Threads count without a lock, by steps that the interpreter does not interrupt; what takes several has one.
    """

    def __init__(self) -> None:
        self.fast_hits = 0
        """Exact hits in memory, counted by the hot path alone."""
        self.look_at = 1
        """The fast hit to look at closely next: its time, and what it saved, stand for all since the one before."""
        self.stored_hits, self.stored_due = 0, 1
        """Exact hits of the store where no memory is kept, counted as briefly; folded into `hits`. The one to look at
        closely next."""
        self.hits: defaultdict[tuple[Source, str], int] = defaultdict(int)
        self.passed: defaultdict[Source, int] = defaultdict(int)
        """Requests that the backend answered, by source: BACKEND or BYPASS."""
        self.misses: defaultdict[tuple[str, Reason], int] = defaultdict(int)
        self.kept_out: defaultdict[Reason, int] = defaultdict(int)
        self.timings: dict[str, Histogram] = {}
        self.requests: dict[str, Histogram] = {}
        """End to end, by result: 'exact', 'similar' or 'miss'."""
        self.backend_calls = 0
        self.backend_errors = 0
        self.backend_mean: float | None = None
        """Seconds that the backend took, a moving mean; None before the first answer."""
        self.shadow_checks = 0
        self.shadow_verdicts: Counter[str] = Counter()
        """'right' or 'wrong'."""
        self.model_verdicts: Counter[str] = Counter()
        """'same' or 'different': answers beside those of a reference model."""
        self.model_bounds: Callable[[], tuple[float | None, float, float]] | None = None
        """(estimate, low, high) of the share that differs, where they are compared."""
        self.hedges_cancelled = 0
        """Backend calls begun because a similar lookup was slow, and given up because it answered."""
        self.saved_seconds = 0.0
        self.saved_tokens = 0
        self.differs: Counter[str] = Counter()
        self.differ_at = 1
        """The request passed to the backend whose scope is compared next: one in 8, and rarer where there are many."""
        self.streams: dict[tuple[str, str], Histogram] = {}
        """Of streams, by what ('first_token', 'token_gap', 'stream') and for whom ('hit', 'coalesced', 'miss')."""
        self.paced = False
        """Whether streams are timed as their readers see them."""
        self.headed = False
        """Whether the first item of a stream stands before what its reader gets, and is not timed."""
        self.ledger: Ledger | None = None
        """Where money is counted."""
        self.quality: Quality | None = None
        """Where similar hits are judged."""
        self.trace_hit: Callable[[float], None] | None = None
        """Told of every fast hit, where requests are traced."""
        self.listener: Listener | None = None
        self._lock = forks.whole_lock()
        self._stages: defaultdict[str, list[float]] = defaultdict(list)
        self._whole: defaultdict[str, list[float]] = defaultdict(list)
        self._found: list[tuple[float, int]] = []
        self._found_at = self._folded = 0
        self._plain: list[tuple[float, float, float]] = []
        """Of requests that the memory alone was asked for: seconds of lookup, backend and all."""
        self._added = 0
        self._looked = 0
        self._due = 1
        self._looks: list[tuple[float, int]] = []
        self._previous: dict[str, int] = {}

    @property
    def requests_that_missed(self) -> int:
        """Requests that the backend answered."""
        return sum(self.passed.values())

    def broke(self) -> None:
        """A stream that is passed on uncached broke off."""
        self.backend_errors += 1

    def look(self, seconds: float, slot: Any) -> None:
        """A fast hit took `seconds` and was answered by `slot`; it stands for all since the one before.

        Chance decides how many hits pass until the next look, so that traffic that repeats itself is not
        seen at one point of its period only.
        """
        n = self.fast_hits
        if self.trace_hit is not None:
            self.trace_hit(seconds)
            if n < self._due:
                return
        with self._lock:
            n = self.fast_hits
            weight, self._looked = n - self._looked, n
            self._due = n + 1 + int(random() * min(n >> 4, _STRIDE))
            self.look_at = self._due if self.trace_hit is None else 0
            self._looks.append((seconds, weight))
            self.saved_seconds += weight * slot.cost
            self.saved_tokens += weight * (slot.tokens or 0)
        if self.ledger is not None and slot.meta is not None:
            self.ledger.add(slot.meta, slot.cost, hit=True, times=weight)
        if len(self._looks) >= 256:
            self.fold()

    def tell(self, of: str, which: str, seconds: Sequence[float]) -> None:
        """Latencies of a stream."""
        with self._lock:
            self.streams.setdefault((of, which), Histogram()).add_all(seconds)
        if self.listener is not None:
            self.listener(of, which, seconds)

    def add(
        self, misses: Mapping[str, Reason], timings: Mapping[str, float], result: str = "", total: float = 0.0
    ) -> None:
        """Add one request: the tiers that did not answer, and its stages; these are folded when some have gathered.

        `result` says under what `total` counts as the seconds of a whole request; empty for none. Nothing of the
        request is held on to: what outlives its call costs the collector as much as all of this.
        """
        called = timings.get("backend")
        if called is not None:
            mean = self.backend_mean
            self.backend_mean = called if mean is None else mean + 0.1 * (called - mean)
            if len(timings) == 2 and misses == _NOT_HERE and result == "miss":
                self._plain.append((timings["memory"], called, total))
                if len(self._plain) >= _FOLD:
                    self.fold()
                return
        counts, stages = self.misses, self._stages
        for miss in misses.items():
            counts[miss] += 1
        for stage, took in timings.items():
            stages[stage].append(took)
        if result:
            self._whole[result].append(total)
        self._added += 1
        if self._added >= _FOLD:
            self.fold()

    def found(self, total: float, seconds: float, tokens: int) -> None:
        """A hit of the store where no memory is kept took `total` seconds; it stands for all since the one before."""
        with self._lock:
            n = self.stored_hits
            weight, self._found_at = n - self._found_at, n
            self.stored_due = n + 1 + int(random() * min(n >> 4, _STRIDE))
            self.saved_seconds += weight * seconds
            self.saved_tokens += weight * tokens
            self._found.append((total, weight))
        if len(self._found) >= _FOLD:
            self.fold()

    def streamed(self, seconds: float) -> None:
        """The backend's stream ended, whose request was counted as it began."""
        self._stages["backend"].append(seconds)

    def fold(self) -> None:
        """Put the last requests into the histograms, and among the counters what came from the store."""
        with self._lock:
            self._fold()

    def _fold(self) -> None:
        self._added = 0
        more, self._folded = self.stored_hits - self._folded, self.stored_hits
        if more:
            self.hits[_STORED] += more
            self.misses[_PASSED] += more
        looks, found, plain = _taken(self._looks), _taken(self._found), _taken(self._plain)
        stages = defaultdict(list, {stage: _taken(took) for stage, took in [*self._stages.items()]})
        whole = defaultdict(list, {result: _taken(took) for result, took in [*self._whole.items()]})
        if plain:
            self.misses[_ABSENT] += len(plain)
            into = stages["memory"], stages["backend"], whole["miss"]
            for seconds, of in zip(zip(*plain, strict=True), into, strict=True):
                of.extend(seconds)
        self._count("stage", self.timings, stages)
        self._count("request", self.requests, whole)
        self._weigh("request", "exact", self.requests, looks + found)
        self._weigh("stage", "store", self.timings, found)

    def _weigh(self, of: str, which: str, into: dict[str, Histogram], looks: list[tuple[float, int]]) -> None:
        """Count hits that stand for others."""
        if looks:
            took, weights = [seconds for seconds, _ in looks], [weight for _, weight in looks]
            into.setdefault(which, Histogram()).add_all(took, weights)
            if self.listener is not None:
                self.listener(of, which, took)

    def _count(self, of: str, histograms: dict[str, Histogram], latencies: dict[str, list[float]]) -> None:
        for which, seconds in latencies.items():
            if not seconds:
                continue
            histograms.setdefault(which, Histogram()).add_all(seconds)
            if self.listener is not None:
                self.listener(of, which, seconds)

    def scope_differs(self, fields: Mapping[str, Any]) -> None:
        """Count which fields of the scope changed since the last request that was compared."""
        self.differ_at += 8 + min(self.differ_at >> 5, 56)
        now = {name: hash(one if type(one) is str else repr(one)) for name, one in fields.items()}
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
        for (source, match), n in dict(self.hits).items():
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
            "not_stored": {str(reason): n for reason, n in dict(self.kept_out).items()},
            "saved_seconds": self.saved_seconds,
            "saved_tokens": self.saved_tokens,
            "timings": {stage: h.summary() for stage, h in dict(self.timings).items()},
            "latency": {result: h.summary() for result, h in dict(self.requests).items()},
            "scope_field_that_differs_most": most[0][0] if most else None,
            "scope_differences": dict(self.differs),
        }


def together(several: Iterable[FunctionStats]) -> FunctionStats:
    """What happened to the calls of several functions, as if they were one: of what adds up, the sums."""
    whole = FunctionStats()
    for one in several:
        one.fold()
        for name in _COUNTS:
            setattr(whole, name, getattr(whole, name) + getattr(one, name))
        for name in _BY_KIND:
            into = getattr(whole, name)
            for kind, n in dict(getattr(one, name)).items():
                into[kind] += n
        for name in _TIMES:
            times = getattr(whole, name)
            for which, histogram in dict(getattr(one, name)).items():
                times.setdefault(which, Histogram()).merge(histogram)
    return whole


def _taken(gathered: list[T]) -> list[T]:
    """What has gathered until now, which is taken away; other threads may add to it meanwhile."""
    now = gathered[:]
    del gathered[: len(now)]
    return now


def _nested(counts: Mapping[tuple[str, Reason], int]) -> dict[str, dict[str, int]]:
    out: dict[str, dict[str, int]] = {}
    for (tier, reason), n in dict(counts).items():
        out.setdefault(tier, {})[str(reason)] = n
    return out
