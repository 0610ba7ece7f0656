"""Boosted regression trees as tables: each feature rules out leaves of all trees at once, no loop over trees.

Source: Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression
trees", SIGIR 2015. A comparison that fails rules out the leaves to its left; the first leaf left over is the exit. The
comparisons of one feature, by rising threshold, fail up to the feature's value: so what they leave together is kept
ready for each number of them, one row of masks for all trees.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAVES: Final = 32
Floats = NDArray[np.float32]
_FLOAT_BIAS: Final = 127
"""Of the exponent of a float32, which lies above 23 bits of fraction (IEEE 754)."""


class Trees:
    """t trees of at most 32 leaves over d features.

    `feature` (t, 31) int16 and `threshold` (t, 31) float32 of inner nodes, padded with comparisons that always hold
    (feature 0, threshold inf); `mask` (t, 31) uint32, the leaves that remain where `x <= threshold` fails; `value`
    (t, 32) float32, leaves from left to right; `start` the sum before the first tree.
    """

    def __init__(
        self,
        feature: NDArray[np.int16],
        threshold: Floats,
        mask: NDArray[np.uint32],
        value: Floats,
        start: float,
    ) -> None:
        trees = len(feature)
        asked, nodes = np.unique(
            np.stack((feature.ravel(), threshold.ravel()), axis=1, dtype=np.float64),
            axis=0,
            return_inverse=True,
        )
        left = np.full((len(asked), trees), np.uint32(0xFFFFFFFF))
        np.bitwise_and.at(left, (nodes.ravel(), np.arange(trees).repeat(feature.shape[1])), mask.ravel())
        self._feature = asked[:, 0].astype(np.intp)
        self._threshold = asked[:, 1].astype(np.float32)
        self._starts = np.flatnonzero(np.diff(self._feature, prepend=-1))
        """Of each feature that is asked for, where its thresholds begin."""
        self._first = self._starts + np.arange(len(self._starts))
        self._left = np.concatenate([_together(part) for part in np.split(left, self._starts[1:])])
        self._value = value.astype(np.float32).ravel()
        self._tree = np.arange(trees, dtype=np.intp) * LEAVES - _FLOAT_BIAS
        self._start = start

    def logits(self, x: Floats) -> NDArray[np.float64]:
        """(n, d) float32 to (n,) log odds. Pure."""
        failed = np.less(self._threshold, x.take(self._feature, axis=1))
        rows = np.add.reduceat(failed, self._starts, axis=1, dtype=np.intp) + self._first
        alive = np.bitwise_and.reduce(self._left.take(rows, axis=0), axis=1)
        lowest = (alive & (~alive + np.uint32(1))).astype(np.float32).view(np.int32) >> 23
        found: NDArray[np.float64] = self._value.take(lowest + self._tree).sum(axis=1, dtype=np.float64)
        return found + self._start


def _together(left: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """(k, t) what each failed comparison leaves, to (k + 1, t): what the first 0 .. k of them leave."""
    none = np.full((1, left.shape[1]), np.uint32(0xFFFFFFFF))
    return np.bitwise_and.accumulate(np.concatenate([none, left]), axis=0)
