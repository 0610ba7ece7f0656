"""The calibrated probability that serving would be wrong: a shipped prior, corrected by what this function shows.

`RiskModel` is a logistic regression whose weights start at those fitted on other functions and move with every
labelled request (online Laplace approximation: Spiegelhalter & Lauritzen 1990). `Calibration` compares what it
foretold with what came, band by band of foretold risk (Gamma-Poisson ratio, smoothed over neighbouring bands),
because the bands that are served see few labels and those just short of being served see many.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EDGES: Final = tuple(math.exp(v) for v in np.linspace(math.log(1e-4), math.log(0.3), 15))
BANDS: Final = len(EDGES) + 1

FLOOR: Final = 0.5
"""The least share of a foretold risk that confirmations can leave of it."""


def band(risk: float) -> int:
    """The band of a foretold risk, 0 .. BANDS - 1."""
    return bisect_right(EDGES, risk)


@dataclass(frozen=True)
class Prior:
    """Where a function starts before it was seen. Shapes (d,), (d,), (d + 1,); the last weight is the intercept."""

    mean: Floats
    scale: Floats
    weights: Floats

    @classmethod
    def read(cls, content: bytes) -> Prior:
        """From the bytes of an .npz file with arrays of these names."""
        with np.load(BytesIO(content), allow_pickle=False) as arrays:
            return cls(arrays["mean"], arrays["scale"], arrays["weights"])


class RiskModel:
    """P(wrong | reading), learning. `spread`: standard deviation of a weight from function to function."""

    def __init__(
        self, prior: Prior, *, spread: float = 0.25, rate: float = 0.5, memory: float = 4000.0
    ) -> None:
        self.prior = prior
        self.weights = prior.weights.copy()
        self._widest = np.full(len(prior.weights), spread**2)
        self._widest[-1] *= 4.0
        self.covariance = np.diag(self._widest)
        self._rate, self._grow = rate, 1.0 + 1.0 / memory

    def encode(self, features: Floats) -> Floats:
        x = np.empty(len(self.weights))
        np.clip((features - self.prior.mean) / self.prior.scale, -6.0, 6.0, out=x[:-1])
        x[-1] = 1.0
        return x

    def risk(self, x: Floats) -> float:
        """Averaged over what is not known about the weights (MacKay 1992, probit approximation)."""
        logit = float(x @ self.weights) / math.sqrt(1.0 + math.pi / 8.0 * float(x @ self.covariance @ x))
        return max(1e-6, 1.0 / (1.0 + math.exp(min(50.0, logit))))

    def learn(self, x: Floats, right: bool, weight: float = 1.0) -> None:
        logit = max(-30.0, min(30.0, float(x @ self.weights)))
        p = 1.0 / (1.0 + math.exp(-logit))
        rate = self._rate * weight
        curvature = rate * max(p * (1.0 - p), 1e-4)
        spread = self.covariance @ x
        self.covariance -= np.outer(spread, spread) * (curvature / (1.0 + curvature * float(x @ spread)))
        self.weights += rate * (right - p) * (self.covariance @ x)
        if float(np.trace(self.covariance)) < float(self._widest.sum()):
            self.covariance *= self._grow  # forget slowly, so that a function that changes is followed


class Calibration:
    """How many times worse than foretold each band was.

    Evidence may raise a foretold risk without limit and lower it to `FLOOR` of it at most, so that nobody talks a
    function into trust by confirming what he asked himself.
    """

    _KERNEL = np.exp(-0.5 * (np.subtract.outer(np.arange(BANDS), np.arange(BANDS)) / 1.5) ** 2)

    def __init__(self, *, factor: float = 1.6, strength: float = 3.0, memory: float = 4000.0) -> None:
        self._factor, self._strength, self._keep = factor, strength, 1.0 - 1.0 / memory
        self.foretold = np.zeros(BANDS)
        self.wrong = np.zeros(BANDS)
        self.factors: list[float] = [factor] * BANDS

    def learn(self, risk: float, right: bool, weight: float) -> None:
        """`risk` as foretold before the truth was known. A checked hit has weight 1, a miss less."""
        self.foretold *= self._keep
        self.wrong *= self._keep
        at = band(risk)
        self.foretold[at] += weight * risk
        self.wrong[at] += weight * (not right)
        ratio = (self._strength * self._factor + self._KERNEL @ self.wrong) / (
            self._strength + self._KERNEL @ self.foretold
        )
        self.factors = np.maximum(ratio, FLOOR).tolist()

    def corrected(self, risk: float) -> float:
        return min(1.0, risk * self.factors[band(risk)])

    def export(self) -> dict[str, Any]:
        return {"foretold": self.foretold.tolist(), "wrong": self.wrong.tolist(), "factors": self.factors}

    def restore(self, state: dict[str, Any]) -> None:
        self.foretold, self.wrong = np.array(state["foretold"]), np.array(state["wrong"])
        self.factors = list(state["factors"])
