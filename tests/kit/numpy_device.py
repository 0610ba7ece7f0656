"""Devices for the GPU index without a GPU: made of numpy and lost on demand, or of FAISS's indexes for the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from index_rows import DIMENSION

from cachelayer.semantic.index.gpu_rows import Gpu


class NumpyDevice:
    """Rows in float16, compared one by one. `fault`, once set, is what every call raises; `room` bounds the rows."""

    fault: BaseException | None = None
    room = 10**9

    def __init__(self) -> None:
        self._rows = np.empty((0, DIMENSION), np.float16)
        self.added: list[int] = []

    @property
    def ntotal(self) -> int:
        return len(self._rows)

    def add(self, rows: np.ndarray) -> None:
        self._fail()
        if len(self._rows) + len(rows) > self.room:
            raise RuntimeError("Error: cudaMalloc failed: out of memory")
        self._rows = np.concatenate([self._rows, rows.astype(np.float16)])
        self.added.append(len(rows))

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        self._fail()
        if k > 2048:
            raise RuntimeError("GPU index only supports min/max-K selection up to 2048")
        scores = queries @ self._rows.astype(np.float32).T
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int64)
        return np.take_along_axis(scores, order, axis=1), order

    def _fail(self) -> None:
        if self.fault is not None:
            raise self.fault


class Resources:
    """In place of FAISS's for the GPU."""

    thisown = True

    def StandardGpuResources(self) -> Resources:
        return self

    def setTempMemory(self, size: int) -> None:
        self.scratch = size


class NumpyGpu(Gpu):
    """With NumpyDevices in place of FAISS's indexes."""

    def __init__(self, scratch: int | None = None) -> None:
        super().__init__(Resources(), 0, scratch)
        self.devices: list[NumpyDevice] = []

    def flat(self, dimension: int) -> Any:
        self.devices.append(NumpyDevice())
        return self.devices[-1]


class CpuGpu(NumpyGpu):
    """With the indexes of FAISS that are its own for the GPU on the CPU: they answer alike, and train alike."""

    def flat(self, dimension: int) -> Any:
        import faiss

        kind, metric = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        return faiss.IndexScalarQuantizer(dimension, kind, metric)

    def lists(self, sample: np.ndarray, count: int, room: int) -> Any:
        import faiss

        kind, metric, width = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT, sample.shape[1]
        index = faiss.IndexIVFScalarQuantizer(faiss.IndexFlatIP(width), width, count, kind, metric, False)
        index.train(sample)
        return index
