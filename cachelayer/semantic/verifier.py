"""The probability that two requests take the same answer, from the two requests alone.

Texts are read once and remembered; what differs between two is put to boosted trees, and their score to a table of
risks: the share of one-edit traps that score as high, times a caution. So `1 - probability` bounds what is served
wrongly of pairs as hard as those traps, before anything is known of the function. See benchmarks/decide/train_pairs.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..types import Candidate, Query
from .guards import FACTS, GUARDS, veto
from .pairing import FEATURES, features
from .reading import Reading, read
from .signature import signature
from .weights import load_pairs
from .words import words

REMEMBERED: Final = 4096
"""Texts whose reading is kept: about 4 KB each."""
DOUBTFUL: Final = 0.8
"""Probability under which the guard that spoke is named."""
SURE: Final = frozenset({*FACTS, "language"})
"""Guards that forbid: they were right on every pair of the tuning part that the trees would have served, slips of the
pen in the name of a day aside."""
_COLUMNS: Final = tuple((name, FEATURES.index(f"guard_{name}")) for name, _ in GUARDS)


def load() -> None:
    """Read the shipped tables now; takes some tens of milliseconds, once."""
    words()
    load_pairs()


class PairVerifier:
    """Reads both requests, aligns their words and judges what is left. Deterministic; English, see docs/deciding.md.

    Tables are read by `load`, else at the first call. Not thread-safe: the caller holds a lock.
    """

    identity = "pairs-1"

    def __init__(self) -> None:
        self._readings: OrderedDict[str, Reading] = OrderedDict()

    def prepare(self, text: str) -> None:
        """Read a text now, behind the caller's back, instead of at its first comparison."""
        self._read(text)

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        if not candidates:
            return []
        table, mine = words(), self._read(query.text)
        readings = [self._read(c.text) for c in candidates]
        rows = [features(mine, r, c.similarity, table) for r, c in zip(readings, candidates, strict=True)]
        sure = load_pairs().probabilities(np.array(rows, np.float32)).tolist()
        return [_guarded(p, row) for p, row in zip(sure, rows, strict=True)]

    def _read(self, text: str) -> Reading:
        found = self._readings.get(text)
        if found is None:
            found = self._readings[text] = read(text, words())
            if len(self._readings) > REMEMBERED:
                self._readings.popitem(last=False)
        else:
            self._readings.move_to_end(text)
        return found


def _guarded(p: float, row: list[float]) -> tuple[float, str]:
    """`p`, or 0 where a sure guard spoke; with the guard that explains it. `row`: features of the pair."""
    spoke = [name for name, at in _COLUMNS if row[at]]
    forbidding = next((name for name in spoke if name in SURE), "")
    if forbidding:
        return 0.0, forbidding
    return p, spoke[0] if spoke and p < DOUBTFUL else ""


class ThresholdVerifier:
    """Cosine above a high threshold and no guard that objects: nothing learned, for comparison and for foreign texts.

    Between `threshold` and 1 the probability rises linearly from .9; below it stays under .9 in proportion.
    """

    def __init__(self, threshold: float = 0.93) -> None:
        self.threshold = threshold
        self.identity = f"threshold-{threshold}"

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        mine = signature(query.text)
        return [self._pair(c.similarity, veto(mine, signature(c.text))) for c in candidates]

    def _pair(self, similarity: float, guard: str) -> tuple[float, str]:
        if guard:
            return 0.0, guard
        if similarity < self.threshold:
            return max(0.0, 0.9 * similarity / self.threshold), ""
        return 0.9 + 0.1 * (similarity - self.threshold) / (1.0 - self.threshold), ""
