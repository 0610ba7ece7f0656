"""What every embedder and every vector index is tested with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cachelayer.protocols import VectorIndex
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.semantic.index.reference import NumpyIndex

DIMENSION = 16


def faiss_cpu(dimension: int) -> VectorIndex:
    pytest.importorskip("faiss")
    from cachelayer.semantic.index.faiss_cpu import FaissIndex

    return FaissIndex(dimension, promote_at=1024)


def faiss_gpu(dimension: int) -> VectorIndex:
    gpu = pytest.importorskip("cachelayer.semantic.index.faiss_gpu")
    reason = gpu.unavailable()
    if reason:
        pytest.skip(reason)
    return gpu.FaissGpuIndex(dimension, promote_at=1024)


INDEXES = [
    pytest.param(NumpyIndex, id="numpy"),
    pytest.param(PackedIndex, id="packed"),
    pytest.param(faiss_cpu, id="faiss-cpu"),
    pytest.param(faiss_gpu, id="faiss-gpu", marks=pytest.mark.gpu),
]


@pytest.fixture(params=INDEXES)
def make_index(request: pytest.FixtureRequest) -> Callable[[int], VectorIndex]:
    make = request.param
    make(DIMENSION)  # skips here where the package or the device is missing
    return make


@pytest.fixture
def index(make_index):
    return make_index(DIMENSION)


def unit(rng: np.random.Generator, n: int, dimension: int = DIMENSION):
    """Random unit rows (n, dimension) float32."""
    rows = rng.standard_normal((n, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
