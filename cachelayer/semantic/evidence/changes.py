"""What changed: the answers to questions asked before, or the questions.

Both are told by a cumulative sum (Page 1954) of log likelihood ratios over requests.
"""

from __future__ import annotations

import math
from typing import Final


class Shift:
    """Tells that answers changed: labelled requests are wrong far more often than was predicted.

    The ratios are between "wrong with probability .8" and the predicted risk.
    A request that was doubtful anyway tells of new questions, not of changed answers: a burst of them says nothing.
    """

    DOUBTFUL: Final = 0.3
    """Predicted risk from which a label does not count."""
    TOLD: Final = 14.0

    def __init__(self) -> None:
        self.sum = 0.0

    def learn(self, risk: float, wrong: bool) -> bool:
        """`risk`: as predicted, corrected. True once when the sum reaches TOLD."""
        if risk > self.DOUBTFUL:
            return False
        predicted = max(risk, 0.02)
        step = math.log(0.8 / predicted) if wrong else math.log(0.2 / (1.0 - predicted))
        self.sum = max(0.0, self.sum + step)
        if self.sum < self.TOLD:
            return False
        self.sum = 0.0
        return True


class Novelty:
    """Tells that questions of a new kind come: answers that were never given before are far more frequent than usual.

    What was learned of a risk holds for questions like those before. When a product is new, the neighbours of the first
    questions about it agree on answers that are all wrong, and the budget would be spent on them until labels show it.
    """

    MEMORY: Final = 400
    """Requests over which the usual share of new answers is taken."""
    SUDDEN: Final = (0.3, 4.0)
    """The share of new answers that is looked for: at least this much, and so many times the usual one."""
    EACH: Final = 3.0
    """The most that one new answer tells, in log odds: a single one may be anybody's."""
    ALARM: Final = 4.0
    """The sum from which on it is a burst."""
    MOST: Final = 8.0
    """What the sum grows to at most, so that a dozen known answers end a burst where hardly any are new."""

    def __init__(self) -> None:
        self._requests, self._new, self._sum = 2.0, 2.0, 0.0

    def learn(self, *, new: bool) -> None:
        """One request came. `new`: its answer was never given before; not so of a hit that nobody checked."""
        usual = min(0.95, max(self._new / self._requests, 1.0 / self.MEMORY))
        sudden = min(0.95, max(self.SUDDEN[0], self.SUDDEN[1] * usual))
        step = math.log(sudden / usual) if new else math.log((1.0 - sudden) / (1.0 - usual))
        self._sum = min(self.MOST, max(0.0, self._sum + min(self.EACH, step)))
        keep = 1.0 if self._requests < self.MEMORY else 1.0 - 1.0 / self.MEMORY
        self._requests, self._new = keep * self._requests + 1.0, keep * self._new + new

    @property
    def burst(self) -> bool:
        return self._sum >= self.ALARM
