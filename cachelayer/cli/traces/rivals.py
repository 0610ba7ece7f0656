"""What a trace is measured against: one similarity threshold, as peers use it, and an oracle that knows the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...types import Vectors
from .read import Asked
from .run import Progress, truths
from .tally import EXACT, FILLED, MISS, RIGHT, WRONG, Mistake, Tally

GRID = np.round(np.concatenate([np.arange(0.60, 0.97, 0.02), np.arange(0.97, 0.9951, 0.005)]), 3)
"""Thresholds tried."""
_BLOCK = 256
Cosines = NDArray[np.float32]
Rows = NDArray[np.intp]
_NOTHING: Cosines = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class Nearest:
    """For each request that was not asked before the nearest earlier one in its scope: cosine, and whether it takes
    the same answer."""

    cosine: NDArray[np.float32]
    """(n,); NaN where there was none."""
    same: NDArray[np.bool_]


class _Threshold:
    """A cache that serves the nearest entry at or above one cosine, and keeps what it had to ask for."""

    def __init__(self, threshold: float, n: int, known: Mapping[str, set[str]]) -> None:
        self.threshold, self._truths = threshold, known
        self.tally = Tally(f"cosine >= {threshold:g}", "threshold", path=[MISS] * n)
        self.enter(0)

    def enter(self, size: int) -> None:
        """Begin a scope of so many texts, empty."""
        self.kept = np.zeros(size, bool)
        self.known: dict[int, int] = {}
        """The place of the request that each kept text was asked in."""

    def ask(self, text: int, place: int, asked: Sequence[Asked], near: Rows, cosines: Cosines) -> None:
        """A text in this place of the trace; `near` are those before it that any threshold would serve."""
        one, tally = asked[place], self.tally
        repeat = self.known.get(text)
        if repeat is not None:
            tally.path[place] = EXACT if one.counted else FILLED
            tally.changed += [] if one.truth in self._truths[asked[repeat].answer] else [place]
            return
        if one.counted and len(near):
            held = np.where(self.kept[near], cosines, -2.0)
            best = int(held.argmax())
            if held[best] >= self.threshold:
                served = asked[self.known[int(near[best])]]
                right = one.truth in self._truths[served.answer]
                tally.path[place] = RIGHT if right else WRONG
                if not right:
                    tally.mistakes.append(Mistake(place, served.answer, float(held[best])))
                return
        self.kept[text], self.known[text] = True, place
        if not one.counted:
            tally.path[place] = FILLED


def _unseen(done: int) -> None:
    return None


def thresholds(
    asked: Sequence[Asked], vectors: Vectors, levels: Sequence[float], progress: Progress = _unseen
) -> tuple[list[Tally], Nearest]:
    """One run per threshold, all at once; entries of other scopes are never seen, equal requests are exact hits."""
    n = len(asked)
    scopes: dict[Any, list[int]] = {}
    for place, one in enumerate(asked):
        scopes.setdefault((one.scope, one.turns), []).append(place)
    known = truths(asked)
    caches = [_Threshold(float(level), n, known) for level in levels]
    nearest = Nearest(np.full(n, np.nan, np.float32), np.zeros(n, bool))
    done = 0
    for places in scopes.values():
        for start in _scope(places, asked, vectors, caches, nearest, known):
            progress(done + start)
        done += len(places)
    progress(n)
    for cache in caches:
        cache.tally.mistakes.sort(key=lambda mistake: mistake.asked)
    return [cache.tally for cache in caches], nearest


def _scope(
    places: list[int],
    asked: Sequence[Asked],
    vectors: Vectors,
    caches: list[_Threshold],
    nearest: Nearest,
    same: Mapping[str, set[str]],
) -> Iterator[int]:
    """Ask the requests in these places, all of one scope; yields how many were asked."""
    firsts: dict[str, int] = {}
    for place in places:
        firsts.setdefault(asked[place].text, place)
    numbers, at = {text: n for n, text in enumerate(firsts)}, list(firsts.values())
    distinct = vectors[at]
    lowest = min((cache.threshold for cache in caches), default=0.0)
    for cache in caches:
        cache.enter(len(at))
    seen = 0
    for start in range(0, len(places), _BLOCK):
        block = [(place, numbers[asked[place].text]) for place in places[start : start + _BLOCK]]
        compared = [text for _, text in block if not all(text in cache.known for cache in caches)]
        cosines = iter(distinct[compared] @ distinct[: max(seen, *(text + 1 for _, text in block))].T)
        waiting = set(compared)
        for place, text in block:
            before = next(cosines)[:seen] if text in waiting else _NOTHING
            near = np.flatnonzero(before >= lowest)
            for cache in caches:
                cache.ask(text, place, asked, near, before[near])
            if text == seen:
                if seen and asked[place].counted:
                    best = int(before.argmax())
                    nearest.cosine[place] = before[best]
                    nearest.same[place] = asked[place].truth in same[asked[at[best]].answer]
                seen += 1
        yield start + len(block)


def oracle(asked: Sequence[Asked]) -> Tally:
    """Serves whenever the right answer was given before in this scope, and never else: no cache can do better."""
    tally = Tally("oracle", "oracle")
    known: set[tuple[Any, str]] = set()
    texts: set[Any] = set()
    same = truths(asked)
    for one in asked:
        held = (one.scope, one.turns), one.truth
        if not one.counted:
            tally.path.append(FILLED)
        else:
            tally.path.append(
                EXACT if one.key in texts and held in known else RIGHT if held in known else MISS
            )
        known.update((held[0], truth) for truth in same[one.answer])
        texts.add(one.key)
    return tally


def in_hindsight(runs: Sequence[Tally], bound: float) -> Tally | None:
    """The threshold that answers most among those whose share of wrong answers kept the bound; it peeked."""
    kept = [run for run in runs if run.share_wrong <= bound and run.similar]
    return max(kept, key=lambda run: run.hit, default=None)
