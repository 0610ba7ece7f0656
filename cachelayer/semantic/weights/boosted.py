"""Boosted regression trees as flat arrays: all comparisons at once, leaves by bit masks, no loop over trees.

Source: Lucchese et al., "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression
trees", SIGIR 2015. A comparison that fails rules out the leaves to its left; the first leaf left over is the exit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAVES: Final = 32
Floats = NDArray[np.float32]
_BIAS: Final = 127
"""A power of two in float32 has its exponent, and this, above its 23 lower bits."""
_ONE: Final = np.uint32(1)


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
        self._trees, self._nodes = (
            feature.shape
        )  # kept node by node, so that the masks of a tree meet in one sweep
        self._feature = feature.T.ravel().astype(np.intp)
        self._threshold = threshold.T.ravel().astype(np.float32)
        self._ruled_out = (~mask.T.ravel().astype(np.uint32)).view(np.int32)
        self._value = value.astype(np.float32).ravel()
        self._first = np.arange(self._trees, dtype=np.int32) * LEAVES - _BIAS
        self._start = start

    def logits(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """n rows of d numbers, taken as float32, to n log odds. Pure."""
        room = np.array(rows, np.float32).take(self._feature, axis=1)
        np.subtract(self._threshold, room, out=room)
        gone = room.view(np.int32)  # its sign is that of the comparison: all ones where it fails
        np.right_shift(gone, 31, out=gone)
        np.bitwise_and(gone, self._ruled_out, out=gone)
        out = np.bitwise_or.reduce(gone.reshape(len(rows), self._nodes, self._trees), axis=1).view(np.uint32)
        lowest = ~out & (out + _ONE)
        leaf = (lowest.astype(np.float32).view(np.int32) >> 23) + self._first
        found = np.add.reduce(self._value.take(leaf), axis=1, dtype=np.float64) + self._start
        logits: list[float] = found.tolist()
        return logits
