"""The device that tests of torch's indexes run on: a GPU, or with TRITON_INTERPRET=1 the CPU, in place of one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cachelayer.semantic.index.gpu_rows import TorchGpu
from cachelayer.semantic.index.replayed import imported_kernels


def torch_device() -> tuple[ModuleType, Any]:
    """torch and the device; skips where there is neither."""
    torch, kernels = pytest.importorskip("torch"), imported_kernels()
    if torch.cuda.is_available():
        return torch, torch.device("cuda", 0)
    if not (kernels and kernels.INTERPRETED):
        pytest.skip("torch finds no CUDA device")
    return torch, torch.device("cpu")


def torch_gpu(scratch: int | None = None) -> TorchGpu:
    """What FaissGpuIndex is to open."""
    torch, device = torch_device()
    return TorchGpu(torch, imported_kernels(), device)


def near(queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Scores (n, rows) of float16 rows, in double precision."""
    return queries.astype(np.float64) @ rows.astype(np.float16).astype(np.float64).T


def check_found(found: tuple[np.ndarray, np.ndarray], rows: np.ndarray, queries: np.ndarray, k: int) -> None:
    """Scores are the k best; positions are of rows with such scores, each named once; the rest is padding."""
    (scores, positions), exact, best = found, near(queries, rows), min(k, len(rows))
    assert scores.shape == positions.shape == (len(queries), k)
    assert np.allclose(scores[:, :best], -np.sort(-exact, axis=1)[:, :best], atol=1e-5)
    assert np.allclose(np.take_along_axis(exact, positions[:, :best], 1), scores[:, :best], atol=1e-5)
    assert all(len(set(row)) == best for row in positions[:, :best].tolist())
    assert (scores[:, best:] == -np.inf).all() and (positions[:, best:] == -1).all()
