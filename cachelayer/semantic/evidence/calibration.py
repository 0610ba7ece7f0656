"""Calibration: how the predicted risk compares with the answers that turned out to be wrong, for one function.

Functions differ most in what the same evidence is worth: with clean wordings, a predicted risk of .005 comes true one
time in a thousand; with noisy labels, more often than predicted; near one half, both are right. So the log odds of a
predicted risk are scaled about a pivot and shifted (Platt 1999). Slope and shift have a posterior, by Bayes on a grid,
so few labels move them little. Requests of medium risk, whose true answers the misses reveal all the time, also inform
those of least risk, whose true answers are seldom seen. In addition each band of risk keeps its own count of wrong
answers (Gamma-Poisson ratio, smoothed over neighbouring bands), for what a line cannot express.

The prior of slope and shift comes from how functions differ (empirical Bayes: Robbins 1956, Efron & Morris 1975): in 27
streams of five sources, three orders of each and of four with traps, each predicted by weights fitted without its
source, the shift was -.41 to .18 (mean -.10, standard deviation .14) and the slope .84 to 1.36 (1.05, .14). The
prior is nearly twice as wide, because streams of one source are alike.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EDGES: Final = tuple(math.exp(v) for v in np.linspace(math.log(1e-4), math.log(0.3), 15))
BANDS: Final = len(EDGES) + 1
_BORDERS: Final = np.array([EDGES[0] * EDGES[0] / EDGES[1], *EDGES, 0.6])
_MIDDLE: Final = np.sqrt(_BORDERS[:-1] * _BORDERS[1:])
PIVOT: Final = -1.0
"""Log odds of wrong at which functions agree, but for the shift."""
_SHIFTS, _SLOPES = (v.ravel() for v in np.meshgrid(np.linspace(-2, 2, 33), np.linspace(0.4, 2.0, 33)))
_RATIOS: Final = 1.0 / (1.0 + np.exp(-(
    PIVOT + _SHIFTS[:, None] + np.outer(_SLOPES, np.log(_MIDDLE / (1.0 - _MIDDLE)) - PIVOT)
))) / _MIDDLE  # fmt: skip
"""(grid, BANDS): what came for what was predicted, were this shift and slope the true ones."""


def band(risk: float) -> int:
    """The band of a predicted risk, 0 .. BANDS - 1."""
    return bisect_right(EDGES, risk)


def log_odds(risk: float) -> float:
    """The log odds of a risk above 0."""
    return math.log(risk / max(1.0 - risk, 1e-9))


class Form:
    """Whether a function heeds how a request is typed: the greeting, the capitals, the thanks.

    Of a few functions that is the point (what tone has a message?): then every second repeat takes another answer. Of
    all others some do because the function does not always answer the same, which is nothing that a cache adds. The
    log odds of the one against the other are a sum over labels (Wald 1945), held within bounds so that a change shows.
    """

    HEEDING: Final = 0.005
    """How many functions heed it, before anything is known."""
    OFTEN, RARELY = 0.5, 0.02
    """How many repeats take another answer where it is heeded, and elsewhere."""
    LEAST: Final = 0.001
    YOUNG: Final = 4
    """Labels before which every repeat that is served is checked."""

    def __init__(self) -> None:
        self._odds = math.log(self.HEEDING / (1.0 - self.HEEDING))
        self.labels = 0

    @property
    def risk(self) -> float:
        """That another answer would be right for a repeat, but for what the function does anyhow."""
        return self.LEAST + self.OFTEN / (1.0 + math.exp(-self._odds))

    def learn(self, right: bool) -> None:
        ratio = (1.0 - self.OFTEN) / (1.0 - self.RARELY) if right else self.OFTEN / self.RARELY
        self._odds = max(-8.0, min(8.0, self._odds + math.log(ratio)))
        self.labels += 1


class Calibration:
    """Corrects predicted risks by what came.

    `shift`, `slope`: mean and standard deviation of what functions show; `least`: the share of a predicted risk that no
    evidence takes away; `trusting`: take what is predicted as it is until something came of it.
    """

    STRENGTH: Final = 1.5
    """Wrong answers that a band's own count needs to weigh as much as the line."""
    KEEP: Final = 1.0 - 1.0 / 4000.0
    """What a label leaves of those before it."""

    _KERNEL = np.exp(-0.5 * (np.subtract.outer(np.arange(BANDS), np.arange(BANDS)) / 1.5) ** 2)

    def __init__(
        self,
        *,
        shift: tuple[float, float] = (-0.1, 0.3),
        slope: tuple[float, float] = (1.03, 0.25),
        least: float = 0.6,
        trusting: bool = False,
    ) -> None:
        self._least = least
        self._prior = -0.5 * (((_SHIFTS - shift[0]) / shift[1]) ** 2 + ((_SLOPES - slope[0]) / slope[1]) ** 2)
        self._likelihood = np.zeros_like(self._prior)
        self.predicted = np.zeros(BANDS)
        self.wrong = np.zeros(BANDS)
        self.factors: list[float] = []
        self._scale = np.ones(BANDS)
        self._set_factors()
        if trusting:
            self._scale = 1.0 / np.array(self.factors)
            self._set_factors()

    def learn(self, risk: float, right: bool) -> None:
        """`risk` as predicted before the truth was known, by a check or a miss."""
        self.predicted *= self.KEEP
        self.wrong *= self.KEEP
        self._likelihood *= self.KEEP
        at = band(risk)
        self.predicted[at] += risk
        self.wrong[at] += not right
        wrong_odds = PIVOT + _SHIFTS + _SLOPES * (log_odds(risk) - PIVOT)
        self._likelihood -= np.logaddexp(0.0, wrong_odds if right else -wrong_odds)
        self._set_factors()

    def _set_factors(self) -> None:
        log = self._prior + self._likelihood
        share = np.exp(log - log.max())
        share /= share.sum()
        line = self._scale * (share @ _RATIOS)
        ratio = (self.STRENGTH * line + self._KERNEL @ self.wrong) / (
            self.STRENGTH + self._KERNEL @ self.predicted
        )
        self.factors = np.maximum(ratio, self._least).tolist()

    def corrected(self, risk: float) -> float:
        return min(1.0, risk * self.factors[band(risk)])

    def temper(self, share: float) -> None:
        """Let what was learned weigh only this share of what it did."""
        self.predicted *= share
        self.wrong *= share
        self._likelihood *= share
        self._set_factors()

    def state(self) -> tuple[Floats, Floats, Floats]:
        """What was learned so far, to return to."""
        return self._likelihood.copy(), self.predicted.copy(), self.wrong.copy()

    def restore(self, state: tuple[Floats, Floats, Floats]) -> None:
        self._likelihood, self.predicted, self.wrong = (part.copy() for part in state)
        self._set_factors()
