"""Choosing among candidates so that the share of wrong answers served stays under the bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..protocols import Verifier
from ..types import Candidate, Decision, Query, Reason
from .verifier import ThresholdVerifier


class PairDecider:
    """Serves the best candidate that a pair verifier is sure of; learns nothing."""

    def __init__(self, verifier: Verifier | None = None, *, top: int = 3) -> None:
        self._verifier = verifier or ThresholdVerifier()
        self._top = top
        self._served = 0
        self._asked = 0

    def decide(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        self._asked += 1
        if not candidates:
            return Decision(None, 0.0, 0.0, Reason.NO_CANDIDATE)
        if max_error_rate <= 0.0:
            return Decision(None, 0.0, candidates[0].similarity, Reason.OFF)
        few = candidates[: self._top]
        judged = self._verifier.judge(query, few)
        best = max(range(len(few)), key=lambda i: judged[i][0])
        confidence, guard = judged[best]
        similarity = few[best].similarity
        if confidence >= max(0.9, 1.0 - 10 * max_error_rate) and query.turns == few[best].turns:
            self._served += 1
            return Decision(few[best].entry, confidence, similarity)
        guard = guard or judged[0][1]
        return Decision(None, confidence, similarity, Reason.GUARD if guard else Reason.UNSURE, guard)

    def observe(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        answer: str,
        served: int | None,
    ) -> None: ...

    def stored(self, entry: int, function: str, scope: bytes, query: Query, answer: str) -> None: ...

    def forget(self, entry: int) -> None: ...

    def report_wrong(self, entry: int) -> None: ...

    def stats(self) -> dict[str, Any]:
        return {"asked": self._asked, "served": self._served}
