"""A device for the GPU index made of numpy: rows in float16, compared one by one, and lost on demand."""

from __future__ import annotations

import numpy as np
from index_rows import DIMENSION


class NumpyDevice:
    """`fault`, once set, is what every call raises; `room` bounds the rows it holds."""

    fault: RuntimeError | None = None
    room = 10**9

    def __init__(self) -> None:
        self._rows = np.empty((0, DIMENSION), np.float16)

    def add(self, rows: np.ndarray) -> None:
        self._fail()
        if len(self._rows) + len(rows) > self.room:
            raise RuntimeError("Error: cudaMalloc failed: out of memory")
        self._rows = np.concatenate([self._rows, rows.astype(np.float16)])

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        self._fail()
        scores = queries @ self._rows.astype(np.float32).T
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int64)
        return np.take_along_axis(scores, order, axis=1), order

    def _fail(self) -> None:
        if self.fault is not None:
            raise self.fault
