"""A cross-encoder of the owner's, which reads both texts of a doubtful pair at once, where time allows.

It runs in the decision, on the loop, so it is asked about two pairs of a request at most and only while it keeps to
its time. What its scores mean is not known: until `fit` was shown labelled pairs they can only lower a probability.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ..checks import number
from ..errors import ConfigurationError
from ..types import Candidate, Query
from .pairs.verifier import PairVerifier

PAIRS: Final = 2
"""Pairs of one request that the model is asked about at most."""
FEWEST: Final = 50
"""Labelled pairs of each kind that a fit needs."""
_TRIED_AGAIN: Final = 64
"""Doubtful requests until a model that was too slow is tried again."""


class CrossEncoder(Protocol):
    """As `sentence_transformers.CrossEncoder` with one score a pair, from 0 (other) to 1 (the same)."""

    def predict(self, sentences: list[tuple[str, str]], /) -> Any:
        """One score per pair."""


class CrossEncoderVerifier(PairVerifier):
    """`PairVerifier`, and for pairs that it doubts a cross-encoder: `CacheLayer(verifier=CrossEncoderVerifier(model))`.

    `doubtful`: the probabilities between which a pair is looked at again; `seconds`: the most that the model may take
    for one request, by what it took lately. A pair that a guard forbids is never looked at. Raises ConfigurationError.
    """

    def __init__(
        self,
        model: CrossEncoder,
        *,
        doubtful: tuple[float, float] = (0.3, 0.98),
        seconds: float = 0.01,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__()
        if not callable(getattr(model, "predict", None)):
            raise ConfigurationError("model", model, "give a sentence_transformers.CrossEncoder or its like")
        if not 0.0 <= doubtful[0] < doubtful[1] <= 1.0:
            raise ConfigurationError("doubtful", doubtful, "give two probabilities, the smaller one first")
        number("seconds", seconds, above=True, unit="seconds")
        self.identity = "pairs-1-second"
        self._model, self._doubtful, self._seconds, self._now = model, doubtful, seconds, now
        self._weights: NDArray[np.float64] | None = None
        self._pair_seconds = 0.0
        """What a pair took lately, by exponential mean; 0 before the first."""
        self._passed = 0
        self._looked: tuple[Query | None, int] = (None, 0)
        """The last query and how many of its pairs were looked at again."""

    def fit(self, pairs: Sequence[tuple[str, str, float, bool]]) -> None:
        """Learn what a score is worth from labelled pairs: (text, text, cosine, whether they take the same answer).

        A logistic regression of the label on the log odds of both readers, with a little ridge. Raises
        ConfigurationError for fewer than 50 pairs of either kind.
        """
        same = np.array([bool(p[3]) for p in pairs])
        if min(int(same.sum()), int((~same).sum())) < FEWEST:
            raise ConfigurationError(
                "pairs", len(pairs), f"give at least {FEWEST} pairs that are the same and as many not"
            )
        blank = np.zeros(1, np.float32)
        first = [
            super(CrossEncoderVerifier, self)._pairs(Query(a, blank), [Candidate(0, cosine, b, None)])[0][0]
            for a, b, cosine, _ in pairs
        ]
        rows = _rows(first, self._scores([(a, b) for a, b, _, _ in pairs]))
        self._weights = _fitted(rows, same)

    def _pairs(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        out = super()._pairs(query, candidates)
        low, high = self._doubtful
        likeliest = sorted((i for i, (p, _) in enumerate(out) if low <= p <= high), key=lambda i: -out[i][0])
        asked = likeliest[: self._room(query)] if likeliest else []
        if not asked:
            return out
        began = self._now()
        scores = self._scores([(query.text, candidates[i].text) for i in asked])
        took = (self._now() - began) / len(asked)
        self._pair_seconds = took if self._pair_seconds == 0.0 else 0.8 * self._pair_seconds + 0.2 * took
        for i, score in zip(asked, scores, strict=True):
            out[i] = (self._joined(out[i][0], score), out[i][1])
        return out

    def _room(self, query: Query) -> int:
        """How many pairs of this query may still be looked at; counted."""
        done = self._looked[1] if self._looked[0] is query else 0
        room = PAIRS - done
        if self._pair_seconds * room > self._seconds:
            room = min(room, int(self._seconds / self._pair_seconds))
            self._passed += room == 0
            if room == 0 and self._passed % _TRIED_AGAIN == 0:
                room = 1
        self._looked = (query, done + room)
        return room

    def _scores(self, texts: list[tuple[str, str]]) -> list[float]:
        scores = np.asarray(self._model.predict(texts), np.float64)
        if scores.shape != (len(texts),) or not bool(((scores >= 0.0) & (scores <= 1.0)).all()):
            raise ValueError("a cross-encoder must give one score from 0 to 1 a pair")
        found: list[float] = scores.tolist()
        return found

    def _joined(self, first: float, score: float) -> float:
        if self._weights is None:
            return min(first, score)
        return float(1.0 / (1.0 + math.exp(-float((_rows([first], [score]) @ self._weights)[0]))))


def _rows(first: Sequence[float], scores: Sequence[float]) -> NDArray[np.float64]:
    """(n, 3): one, and the log odds of both."""
    both = np.clip(np.array([first, scores], np.float64), 1e-4, 1.0 - 1e-4)
    odds = np.log(both / (1.0 - both))
    return np.column_stack([np.ones(len(first)), odds[0], odds[1]])


def _fitted(rows: NDArray[np.float64], same: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(3,) weights by Newton's method from zero, each step halved until it gains; ridge towards the first reader."""
    start = np.array([0.0, 1.0, 0.0])

    def loss(weights: NDArray[np.float64]) -> float:
        odds = rows @ weights
        return float(
            np.logaddexp(0.0, np.where(same, -odds, odds)).sum() + 0.5 * ((weights - start) ** 2).sum()
        )

    weights = np.zeros(3)
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (same - p) - (weights - start)
        step = np.linalg.solve((rows * (p * (1.0 - p))[:, None]).T @ rows + np.eye(3), slope)
        while loss(weights + step) > loss(weights) and float(np.abs(step).max()) > 1e-9:
            step /= 2.0
        weights = weights + step
    return weights
