"""What every embedder and every vector index is tested with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from index_rows import DIMENSION
from numpy_device import CpuGpu, NumpyGpu
from oracle_index import NumpyIndex

from cachelayer.protocols import VectorIndex
from cachelayer.semantic.index.packed import PackedIndex


def faiss_cpu(dimension: int) -> VectorIndex:
    pytest.importorskip("faiss")
    from cachelayer.semantic.index.faiss_cpu import FaissIndex

    return FaissIndex(dimension, promote_at=1024)


def _needs(missing: str) -> None:
    if missing:
        pytest.skip(missing)


def faiss_gpu(dimension: int) -> VectorIndex:
    """All rows compared by FAISS on a device."""
    faiss = pytest.importorskip("faiss")
    from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex, unavailable
    from cachelayer.semantic.index.gpu_rows import Gpu

    _needs(unavailable())
    small = {"promote_at": 1024, "device_at": 1024, "recall": 1}
    return FaissGpuIndex(dimension, **small, open_gpu=lambda scratch: Gpu(faiss, 0, scratch))


def torch_rows(dimension: int) -> VectorIndex:
    """All rows compared by torch on a device."""
    return _by_torch(dimension, recall=1)


def torch_lists(dimension: int) -> VectorIndex:
    """Those of the nearest lists compared by torch on a device."""
    return _by_torch(dimension, lists_at=1024, recall=0.999)


def _by_torch(dimension: int, **settings: Any) -> VectorIndex:
    pytest.importorskip("faiss")
    from torch_device import torch_device, torch_gpu

    from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex

    torch_device()
    return FaissGpuIndex(dimension, promote_at=1024, device_at=1024, open_gpu=torch_gpu, **settings)


def gpu_missing(dimension: int) -> VectorIndex:
    """The GPU index where there is no GPU: the contract holds by falling back."""
    pytest.importorskip("faiss")
    from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex, unavailable

    if not unavailable():
        pytest.skip("there is a GPU: tested as faiss-gpu")
    return FaissGpuIndex(dimension, promote_at=1024, device_at=1024)


def gpu_stand_in(dimension: int) -> VectorIndex:
    """The GPU index with numpy for a device."""
    pytest.importorskip("faiss")
    from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex

    return FaissGpuIndex(dimension, promote_at=1024, device_at=1024, recall=1, open_gpu=NumpyGpu)


def gpu_lists(dimension: int) -> VectorIndex:
    """The GPU index with lists, of FAISS's index for the CPU."""
    pytest.importorskip("faiss")
    from cachelayer.semantic.index.faiss_gpu import FaissGpuIndex

    small = {"promote_at": 1024, "device_at": 1024, "lists_at": 1024}
    return FaissGpuIndex(dimension, **small, recall=0.995, open_gpu=CpuGpu)


INDEXES = [
    pytest.param(NumpyIndex, id="numpy"),
    pytest.param(PackedIndex, id="packed"),
    pytest.param(faiss_cpu, id="faiss-cpu"),
    pytest.param(gpu_missing, id="faiss-gpu-missing"),
    pytest.param(gpu_stand_in, id="faiss-gpu-stand-in"),
    pytest.param(gpu_lists, id="faiss-gpu-lists"),
    pytest.param(faiss_gpu, id="faiss-gpu", marks=pytest.mark.gpu),
    pytest.param(torch_rows, id="torch-gpu", marks=pytest.mark.gpu),
    pytest.param(torch_lists, id="torch-lists", marks=pytest.mark.gpu),
]


@pytest.fixture(params=INDEXES)
def make_index(request: pytest.FixtureRequest) -> Callable[[int], VectorIndex]:
    make = request.param
    make(DIMENSION)  # skips here where the package or the device is missing
    return make


@pytest.fixture
def index(make_index):
    return make_index(DIMENSION)
