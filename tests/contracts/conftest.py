"""What every embedder and every vector index is tested with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cachelayer.protocols import VectorIndex
from cachelayer.semantic.index.packed import PackedIndex
from cachelayer.semantic.index.reference import NumpyIndex

sys.path.insert(0, str(Path(__file__).parent / "kit"))  # helpers; test directories are no packages

from index_rows import DIMENSION


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
