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
Cosines = NDArray[np.float32]


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
        self.tally = Tally(f"cosine >= {threshold:g}", "threshold", path=[MISS] * n)
        self.enter(0)

    def enter(self, size: int) -> None:
        """Begin a scope of so many requests, empty."""
        self.kept = np.zeros(size, bool)
        self.known: dict[str, int] = {}

    def ask(self, row: int, places: Sequence[int], asked: Sequence[Asked], cosines: Cosines) -> None:
        """The request in a row of the scope; `cosines` are those to all rows before."""
        place = places[row]
        one, tally = asked[place], self.tally
        repeat = self.known.get(one.text)
        if repeat is not None:
            tally.path[place] = EXACT if one.counted else FILLED
            tally.changed += asked[repeat].truth != one.truth
            return
        if one.counted and row:
            near = np.where(self.kept[:row], cosines, -2.0)
            best = int(near.argmax())
            if near[best] >= self.threshold:
                served = asked[places[best]]
                tally.path[place] = RIGHT if served.truth == one.truth else WRONG
                if served.truth != one.truth:
                    tally.mistakes.append(Mistake(place, served.answer, float(near[best])))
                return
        self.kept[row], self.known[one.text] = True, place
        if not one.counted:
            tally.path[place] = FILLED


def thresholds(
    asked: Sequence[Asked], vectors: Vectors, levels: Sequence[float]
) -> tuple[list[Tally], Nearest]:
    """One run per threshold, all at once; entries of other scopes are never seen, equal requests are exact hits."""
    n = len(asked)
    scopes: dict[Any, list[int]] = {}
    for place, one in enumerate(asked):
        scopes.setdefault((one.scope, one.turns), []).append(place)
    caches = [_Threshold(float(level), n) for level in levels]
    nearest = Nearest(np.full(n, np.nan, np.float32), np.zeros(n, bool))
    for places in scopes.values():
        _scope(places, asked, vectors[places], caches, nearest)
    for cache in caches:
        cache.tally.mistakes.sort(key=lambda mistake: mistake.asked)
    return [cache.tally for cache in caches], nearest


def _scope(
    places: list[int], asked: Sequence[Asked], vectors: Vectors, caches: list[_Threshold], nearest: Nearest
) -> None:
    for cache in caches:
        cache.enter(len(places))
    for start in range(0, len(places), _BLOCK):
        stop = min(start + _BLOCK, len(places))
        block = vectors[start:stop] @ vectors[:stop].T
        for row in range(start, stop):
            cosines = block[row - start, :row]
            for cache in caches:
                cache.ask(row, places, asked, cosines)
            if row and asked[places[row]].counted:
                best = int(cosines.argmax())
                place, other = places[row], asked[places[best]]
                if other.text != asked[place].text:
                    nearest.cosine[place] = cosines[best]
                    nearest.same[place] = other.truth == asked[place].truth


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
