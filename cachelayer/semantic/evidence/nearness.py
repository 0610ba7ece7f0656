"""When nothing but vectors can speak: how near an entry must be, learned from the function's own answers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...types import Candidate, Decision, Query, Reason
from ..answers import normalize
from .budget import Interval, level

BANDS: Final = 64
LEAST: Final = 1e-5
"""Distances 1 - cosine are told apart from here to 1, in equal steps of their logarithm."""
KEEP: Final = 1.0 - 1.0 / 4000.0
"""Of what was compared, at every comparison: a function that changes is followed."""
VOTERS: Final = 3
CHECKED: Final = 0.0625
"""Share of hits asked again; four times that until SETTLED were."""
SETTLED: Final = 100


class Nearness:
    """Comparisons of the nearest entry's answer with the true one, by distance, and what they allow.

    A distance serves where, from there inward, the share of wrong ones with one more wrong one added is within the
    bound: 99 flawless comparisons allow 0.01. So nothing is served before the function's own traffic has shown it.
    """

    def __init__(self) -> None:
        self.count, self.wrong = np.zeros(BANDS), np.zeros(BANDS)
        self.compared = 0

    def learn(self, distance: float, right: bool) -> None:
        """One comparison whose truth is known."""
        self.count *= KEEP
        self.wrong *= KEEP
        self.count[band(distance)] += 1.0
        self.wrong[band(distance)] += not right
        self.compared += 1

    def reach(self, bound: float) -> int:
        """The widest band that serves within `bound`, or -1."""
        fits = (self.wrong.cumsum() + 1.0) / (self.count.cumsum() + 1.0) <= bound
        known = np.flatnonzero(fits & (self.count > 0.0))
        return int(known[-1]) if known.size else -1


def band(distance: float) -> int:
    """The band of a distance, 0 (the same vector) to BANDS - 1."""
    if distance <= LEAST:
        return 0
    return min(BANDS - 1, 1 + int((1.0 - np.log(distance) / np.log(LEAST)) * (BANDS - 1)))


class NearnessDecider:
    """A `Decider` for vectors of the owner's: no text, so no guard and no verifier, and no prior that would hold.

    Two curves are learned: for requests whose three nearest entries agree on the answer, and for the others. Every
    miss teaches, and so does every check. Not thread-safe: the caller holds a lock.
    """

    def __init__(self, *, random: Callable[[], float], shadow: float | str = "auto") -> None:
        self._random, self._shadow = random, shadow
        self._curves = {True: Nearness(), False: Nearness()}
        self._interval = Interval()
        self._hits = 0
        self._drawn: dict[tuple[bytes, str, int], float] = {}
        self._wrong: set[int] = set()

    def preview(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        """What `decide` would say now; nothing is counted."""
        near = self._trusted(candidates)
        if not near:
            return Decision(None, 0.0, 0.0, Reason.NO_CANDIDATE)
        best, curve = near[0], self._curves[_agree(near)]
        within = band(1.0 - best.similarity) <= curve.reach(max_error_rate)
        detail = f"{curve.compared} comparisons of answers"
        if not within:
            return Decision(None, 0.0, best.similarity, Reason.UNSURE, detail)
        return Decision(best.entry, 1.0 - max_error_rate, best.similarity, None, detail)

    def decide(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        decision = self.preview(function, scope, query, candidates, max_error_rate)
        if decision.entry is None:
            return decision
        self._hits += 1
        share = self._share() if query.checkable else 0.0
        drawn = share > 0.0 and self._random() < share
        if drawn and len(self._drawn) < 4096:
            self._drawn[scope, query.text, decision.entry] = share
        else:
            self._interval.hit(share, False, False)
        return replace(decision, shadow=drawn)

    def _share(self) -> float:
        if not isinstance(self._shadow, str):
            return level(self._shadow)
        return level(CHECKED * 4.0 if self._interval.checks < SETTLED else CHECKED)

    def observe(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        answer: str,
        served: int | None,
    ) -> None:
        near = self._trusted(candidates)
        if not near:
            return
        right = near[0].answer is not None and normalize(near[0].answer) == normalize(answer)
        self._curves[_agree(near)].learn(1.0 - near[0].similarity, right)
        share = self._drawn.pop((scope, query.text, served), 0.0) if served is not None else 0.0
        if share:
            self._interval.hit(share, True, not right)

    def unchecked(self, function: str, scope: bytes, query: Query, served: int) -> None:
        """The check of a hit came to nothing; does nothing where `observe` was told of it."""
        if share := self._drawn.pop((scope, query.text, served), 0.0):
            self._interval.lost(share)

    def _trusted(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        return [one for one in candidates if one.entry not in self._wrong][:VOTERS]

    def stored(self, entry: int, function: str, scope: bytes, query: Query, answer: str) -> None:
        """Candidates bring their answers along."""

    def forget(self, entry: int) -> None:
        self._wrong.discard(entry)

    def report_wrong(self, entry: int) -> None:
        self._wrong.add(entry)

    def stats(self) -> dict[str, Any]:
        """Hits, checks, estimate and interval (95 %), and how many comparisons were made."""
        low, high = self._interval.bounds()
        return {
            "hits": self._hits,
            "checks": self._interval.checks,
            "estimate": self._interval.estimate,
            "interval": (low, high),
            "compared": {"agreeing": self._curves[True].compared, "others": self._curves[False].compared},
        }


def _agree(near: Sequence[Candidate]) -> bool:
    """Whether three entries are there and say the same."""
    said = {normalize(one.answer) if one.answer is not None else None for one in near}
    return len(near) == VOTERS and len(said) == 1 and None not in said
