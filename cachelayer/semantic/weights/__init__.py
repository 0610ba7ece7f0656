"""What was learned elsewhere and ships with the package: flat arrays, no pickle. See benchmarks/decide."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..boosted import Trees
from ..risk import Prior


def load_arrays(name: str) -> dict[str, NDArray[Any]]:
    """The arrays of one file of this folder."""
    with np.load(BytesIO(files(__package__).joinpath(name).read_bytes()), allow_pickle=False) as arrays:
        return dict(arrays)


def load_prior() -> Prior:
    """Where the risk model of a new function starts."""
    return Prior.read(files(__package__).joinpath("risk.npz").read_bytes())


class Judge:
    """Trees over measures of two things, and the risk of each score. `grid` rises, `risk` falls; both (g,)."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.logits = Trees(
            arrays["feature"], arrays["threshold"], arrays["mask"], arrays["value"], float(arrays["start"])
        ).logits
        self._grid, self._risk = arrays["grid"], arrays["risk"]

    def probabilities(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n, d) measures to (n,) probabilities."""
        out: NDArray[np.float64] = 1.0 - np.interp(self.logits(x), self._grid, self._risk)
        return out


@cache
def load_judge(name: str) -> Judge:
    """`pairs`: two texts; `turns`: two texts of a conversation, without the embedder's view; `talks`: two
    conversations. Read once, at the first call."""
    return Judge(load_arrays(f"{name}.npz"))
