"""The device that tests of torch's indexes run on: a GPU, or with TRITON_INTERPRET=1 the CPU, in place of one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

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
