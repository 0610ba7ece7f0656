"""What a trace is measured against: one similarity threshold, as peers use it, and an oracle that knows the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...types import Vectors
from .read import Asked
from .tally import EXACT, FILLED, MISS, RIGHT, WRONG, Mistake, Tally

GRID = np.round(np.concatenate([np.arange(0.60, 0.97, 0.02), np.arange(0.97, 0.9951, 0.005)]), 3)
"""Thresholds tried."""
_BLOCK = 256


@dataclass(frozen=True, slots=True)
class Nearest:
    """For each request the nearest one before it in its scope: cosine, and whether it takes the same answer."""

    cosine: NDArray[np.float32]
    """(n,); NaN where there was none."""
    same: NDArray[np.bool_]


class _Threshold:
    """A cache that serves the nearest entry at or above one cosine, and keeps what it had to ask for."""

    def __init__(self, threshold: float, n: int) -> None:
        self.threshold = threshold
        self.kept = np.zeros(n, bool)
        self.known: dict[Any, int] = {}
        self.tally = Tally(f"cosine >= {threshold:g}", "threshold")

    def ask(self, place: int, asked: Sequence[Asked], cosines: NDArray[np.float32]) -> None:
        """`cosines`: to all requests before, -2 in other scopes."""
        one, path = asked[place], self.tally.path
        repeat = self.known.get(one.key)
        if repeat is not None:
            path.append(EXACT if one.counted else FILLED)
            self.tally.changed += asked[repeat].truth != one.truth
            return
        if one.counted and place:
            near = np.where(self.kept[:place], cosines, -2.0)
            best = int(near.argmax())
            if near[best] >= self.threshold:
                right = asked[best].truth == one.truth
                path.append(RIGHT if right else WRONG)
                if not right:
                    self.tally.mistakes.append(Mistake(place, asked[best].answer, float(near[best])))
                return
        self.kept[place], self.known[one.key] = True, place
        path.append(MISS if one.counted else FILLED)


def thresholds(
    asked: Sequence[Asked], vectors: Vectors, levels: Sequence[float]
) -> tuple[list[Tally], Nearest]:
    """One run per threshold, all at once; entries of other scopes are never seen, equal requests are exact hits."""
    n = len(asked)
    scopes = {key: i for i, key in enumerate(dict.fromkeys((one.scope, one.turns) for one in asked))}
    scope = np.array([scopes[one.scope, one.turns] for one in asked])
    caches = [_Threshold(float(level), n) for level in levels]
    nearest = Nearest(np.full(n, np.nan, np.float32), np.zeros(n, bool))
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        block = vectors[start:stop] @ vectors[:stop].T
        for place in range(start, stop):
            cosines = block[place - start, :place]
            if len(scopes) > 1:
                cosines = np.where(scope[:place] == scope[place], cosines, np.float32(-2.0))
            for cache in caches:
                cache.ask(place, asked, cosines)
            _note(nearest, place, asked, cosines)
    return [cache.tally for cache in caches], nearest


def _note(nearest: Nearest, place: int, asked: Sequence[Asked], cosines: NDArray[np.float32]) -> None:
    if place and asked[place].counted:
        best = int(cosines.argmax())
        if cosines[best] > -2.0 and asked[best].key != asked[place].key:
            nearest.cosine[place] = cosines[best]
            nearest.same[place] = asked[best].truth == asked[place].truth


def oracle(asked: Sequence[Asked]) -> Tally:
    """Serves whenever the right answer was given before in this scope, and never else: no cache can do better."""
    tally = Tally("oracle", "oracle")
    known: set[tuple[Any, str]] = set()
    texts: set[Any] = set()
    for one in asked:
        held = (one.scope, one.turns), one.truth
        if not one.counted:
            tally.path.append(FILLED)
        else:
            tally.path.append(
                EXACT if one.key in texts and held in known else RIGHT if held in known else MISS
            )
        known.add(held)
        texts.add(one.key)
    return tally


def in_hindsight(runs: Sequence[Tally], bound: float) -> Tally | None:
    """The threshold that answers most among those whose share of wrong answers kept the bound; it peeked."""
    kept = [run for run in runs if run.share_wrong <= bound and run.similar]
    return max(kept, key=lambda run: run.hit, default=None)
