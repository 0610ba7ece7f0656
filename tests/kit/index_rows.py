"""Random unit rows for the contract suites."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIMENSION = 16


def unit(rng: np.random.Generator, n: int, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Unit rows (n, dimension) float32, uniform on the sphere."""
    rows = rng.standard_normal((n, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def ids(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
