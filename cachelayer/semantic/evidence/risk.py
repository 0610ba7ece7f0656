"""The calibrated probability that serving would be wrong: a shipped prior, corrected by what this function shows.

`RiskModel` is a logistic regression whose weights start at those fitted on other functions and move with every
labelled request (online Laplace approximation: Spiegelhalter & Lauritzen 1990). `calibration` compares what it
predicted with what came.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..weights import load_arrays
from .calibration import log_odds

Floats = NDArray[np.float64]
FAR: Final = 6.0
"""Standard deviations from the mean beyond which a feature says nothing more."""
UNLIKE: Final = 0.2
"""Risk by the pair verifier beyond which it says nothing more of an answer that the neighbours know."""


@dataclass(frozen=True)
class Prior:
    """Where a function starts before it was seen. Shapes (d,), (d,), (d + 1,); the last weight is the intercept."""

    mean: Floats
    scale: Floats
    weights: Floats

    @classmethod
    def load(cls, name: str = "risk") -> Prior:
        """One that ships with the package: `risk`, or `glance` for readings of guessed vectors."""
        return cls(**load_arrays(f"{name}.npz"))


class RiskModel:
    """P(wrong | reading), learning. `spread`: standard deviation of a weight from function to function."""

    RATE: Final = 0.5
    GROW: Final = 1.0 + 1.0 / 4000.0

    def __init__(self, prior: Prior, *, spread: float = 0.12) -> None:
        self.prior = prior
        self.weights = prior.weights.copy()
        self._widest = np.full(len(prior.weights), spread**2)
        self._widest[-1] *= 4.0
        self.covariance = np.diag(self._widest)
        self._mean, self._scale = np.append(prior.mean, 0.0), np.append(prior.scale, 1.0)

    def encode(self, features: Iterable[float]) -> Floats:
        """(d + 1,): features in standard deviations from the usual, and 1 for the intercept."""
        x: Floats = np.array((*features, 1.0))
        x -= self._mean
        x /= self._scale
        return np.minimum(np.maximum(x, -FAR, out=x), FAR, out=x)

    def without(
        self, x: Floats, columns: Sequence[int], low: float, high: float
    ) -> tuple[Floats, Floats, Floats]:
        """What is known where these features are not: `x` with the usual values, with the best and with the worst."""
        usual, best, worst = x.copy(), x.copy(), x.copy()
        for column in columns:
            bad, good = (low, high) if self.weights[column] > 0.0 else (high, low)
            mean, scale = self._mean[column], self._scale[column]
            usual[column], best[column], worst[column] = 0.0, (good - mean) / scale, (bad - mean) / scale
        return usual, best, worst

    def risk(self, x: Floats) -> float:
        """Averaged over what is not known about the weights (MacKay 1992, probit approximation)."""
        logit = float(x.dot(self.weights)) / math.sqrt(
            1.0 + math.pi / 8.0 * float(x.dot(self.covariance).dot(x))
        )
        return max(1e-6, 1.0 / (1.0 + math.exp(min(50.0, logit))))

    def learn(self, x: Floats, right: bool) -> None:
        logit = max(-30.0, min(30.0, float(x @ self.weights)))
        p = 1.0 / (1.0 + math.exp(-logit))
        curvature = self.RATE * max(p * (1.0 - p), 1e-4)
        spread = self.covariance @ x
        self.covariance -= np.outer(spread, spread) * (curvature / (1.0 + curvature * float(x @ spread)))
        self.weights += self.RATE * (right - p) * (self.covariance @ x)
        if float(np.trace(self.covariance)) < float(self._widest.sum()):
            self.covariance *= self.GROW  # forget slowly, so that a function that changes is followed

    def state(self) -> tuple[Floats, Floats]:
        """What was learned so far, to return to."""
        return self.weights.copy(), self.covariance.copy()

    def restore(self, state: tuple[Floats, Floats]) -> None:
        self.weights, self.covariance = state[0].copy(), state[1].copy()


class JointModel(RiskModel):
    """P(wrong | the pair verifier's risk, the neighbours' risk), learning.

    Where questions hardly recur both count; in streams of classes the neighbours are right whatever the texts. Fits to
    streams of 960 natural pairs and 2,100 of other sources, at three shares of traps, weighed the log odds .8 to 1.5
    and .45 to 1 and added 1.9 to 3.5; to streams of 50 to 480 of these, where neighbours are few, .8 to 1.6 and .1 to
    .6; to two streams of classes -.1 to 1.8 and 1.4 to 3.1.
    """

    _PRIOR: Final = Prior(np.zeros(2), np.ones(2), np.array([-1.1, -0.6, -2.4]))

    def __init__(self) -> None:
        super().__init__(self._PRIOR, spread=0.3)

    def read(self, alone: float, voted: float) -> Floats:
        """The features of two risks, by the pair verifier `alone` and by the neighbours."""
        return self.encode(map(log_odds, (min(alone, UNLIKE), voted)))
