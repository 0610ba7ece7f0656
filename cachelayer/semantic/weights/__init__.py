"""Trained tables that ship with the package, as flat arrays, without pickle. See benchmarks/decide."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .boosted import Trees


def load_arrays(name: str) -> dict[str, NDArray[Any]]:
    """The arrays of one file of this folder."""
    with np.load(BytesIO(files(__package__).joinpath(name).read_bytes()), allow_pickle=False) as arrays:
        return dict(arrays)


class Judge:
    """Trees over measures of two things, and the risk of each score. `grid` rises, `risk` falls; both (g,)."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.logits = Trees(
            arrays["feature"], arrays["threshold"], arrays["mask"], arrays["value"], float(arrays["start"])
        ).logits
        self._grid: list[float] = arrays["grid"].tolist()
        self._risk: list[float] = arrays["risk"].tolist()

    def probabilities(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """n rows of d measures to n probabilities."""
        return [self.probability(score) for score in self.logits(rows)]

    def probability(self, score: float) -> float:
        """The probability at these log odds: interpolated within the grid; beyond its ends as there."""
        grid, risk = self._grid, self._risk
        at = bisect_right(grid, score)
        if at == 0 or at == len(grid):
            return 1.0 - risk[min(at, len(grid) - 1)]
        low, high = grid[at - 1], grid[at]
        return 1.0 - (risk[at - 1] + (risk[at] - risk[at - 1]) / (high - low) * (score - low))


@cache
def load_judge(name: str) -> Judge:
    """`pairs`: two texts; `close`: the same, read closely, weighed with the first; `turns`: two of a conversation,
    without the embedder's view; `talks`: two conversations. Read once, at the first call."""
    return Judge(load_arrays(f"{name}.npz"))
