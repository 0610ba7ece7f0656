"""The probability that two requests take the same answer, from the two requests alone."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import Candidate, Query
from .guards import veto
from .signature import signature


class ThresholdVerifier:
    """Cosine above a high threshold and no guard that objects: the conservative start, nothing learned.

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
