"""Rows on a GPU in float16, by FAISS or by torch: all of them compared, or those of the nearest lists."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...types import Vectors
from .packed import Found
from .pages import Page
from .torch_flat import TorchFlat
from .torch_lists import TorchLists

if TYPE_CHECKING:
    from types import ModuleType

MOST = 2048
"""FAISS selects no more on a GPU, neighbours as well as lists."""
LISTS_SCRATCH = 512 * 2**20
"""Bytes of scratch memory beside lists; FAISS itself would take 1.5 GiB."""
_SAMPLE = 40
"""Rows a list whose centroid is learnt from them: one more than FAISS asks for without a warning."""
_NEAR = 8
_ASKED = 64
_MOVED = (0.3, 1.0)
"""Lengths of the noise that rows are moved by: to a cosine of 0.96 and of 0.71."""
_ROUNDING = 2e-4
"""By how much a score on the device, of float16 rows, may differ from the host's."""


class Turns(ABC):
    """A device serves one call at a time, and to free what is on it is one: `with gpu` takes turns."""

    def __init__(self) -> None:
        self._owner = threading.Lock()
        self._dead: deque[Any] = deque()

    def __enter__(self) -> None:
        self._owner.acquire()

    def __exit__(self, *fault: object) -> None:
        self._dead.clear()
        self._owner.release()

    def retire(self, rows: GpuRows) -> None:
        """Free its index, now or at the end of the turn under way. Never waits: it may be the collector that calls."""
        self._dead.append(rows.__dict__.pop("index"))
        if self._owner.acquire(blocking=False):
            self.__exit__()

    def abandon(self) -> None:
        """After a fork the device is the parent's: to free anything there would end this process."""
        for index in self._dead:
            self.leave(index)

    @abstractmethod
    def leave(self, index: Any) -> None:
        """Let what it has on the device be."""

    @abstractmethod
    def flat(self, dimension: int) -> Any:
        """An index that compares all rows."""

    @abstractmethod
    def lists(self, sample: Vectors, count: int, room: int) -> Any:
        """One that compares the rows of `nprobe` of its `nlist` lists, about `count`, learnt from `sample` (n, d)."""


class Gpu(Turns):
    """A device's stream and its scratch memory, up to 1.5 GiB there and 256 MiB pinned here: made once, shared.

    FAISS's resources serve one call at a time, whichever of their indexes it is for.
    """

    def __init__(self, faiss: ModuleType, number: int, scratch: int | None = None) -> None:
        super().__init__()
        self.faiss, self.number = faiss, number
        self.resources = faiss.StandardGpuResources()
        if scratch is not None:
            self.resources.setTempMemory(scratch)

    def abandon(self) -> None:
        super().abandon()
        self.leave(self.resources)

    def leave(self, index: Any) -> None:
        index.thisown = False

    def flat(self, dimension: int) -> Any:
        config = self.faiss.GpuIndexFlatConfig()
        config.device, config.useFloat16 = self.number, True
        return self.faiss.GpuIndexFlatIP(self.resources, dimension, config)

    def lists(self, sample: Vectors, count: int, room: int) -> Any:
        faiss = self.faiss
        config = faiss.GpuIndexIVFScalarQuantizerConfig()
        config.device = self.number
        kind, metric = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        shape = sample.shape[1], count
        index = faiss.GpuIndexIVFScalarQuantizer(self.resources, *shape, kind, metric, False, config)
        index.train(sample)
        return index


class TorchGpu(Turns):
    """A device by torch, `torch.device("cuda", 0)` for one. It needs no scratch memory of FAISS."""

    def __init__(self, torch: ModuleType, kernels: ModuleType | None, device: Any) -> None:
        super().__init__()
        self._torch, self._kernels, self._device = torch, kernels, device

    def leave(self, index: Any) -> None:
        index.abandon()

    def flat(self, dimension: int) -> Any:
        return TorchFlat(self._torch, dimension, self._device)

    def lists(self, sample: Vectors, count: int, room: int) -> Any:
        assert self._kernels is not None
        return TorchLists(self._torch, self._kernels, self._device, sample, count, room)


class GpuRows:
    """All rows are compared: `index` is a flat one."""

    def __init__(self, index: Any, gpu: Turns) -> None:
        self.index, self._gpu = index, gpu

    def __del__(self) -> None:
        self._gpu.retire(self)

    def __len__(self) -> int:
        return int(self.index.ntotal)

    def add(self, rows: Vectors) -> None:
        with self._gpu:
            self.index.add(np.ascontiguousarray(rows))

    def search(self, queries: Vectors, k: int) -> Found:
        with self._gpu:
            scores, positions = self.index.search(np.ascontiguousarray(queries), k)
        return scores, positions

    def settle(self) -> None:
        """All rows are in."""

    def abandon(self) -> None:
        """As Turns'."""
        self._gpu.leave(self.index)


class GpuLists(GpuRows):
    """Rows by nearest centroid, of which those of the `nprobe` nearest lists are compared.

    How many lists that must be for `recall` is measured once all rows are in: on rows that were moved a little, as a
    request is near rows and none of them.
    """

    def __init__(
        self, gpu: Turns, recall: float, pages: tuple[Page, ...], exact: Callable[..., Found]
    ) -> None:
        """Lists learnt from the rows of `pages`, with none of them in yet; `exact(pages, queries, k)` finds there."""
        rows = sum(page.count for page in pages)
        count = list_count(rows)
        step = max(1, rows // (count * _SAMPLE))
        sample = np.concatenate([np.asarray(p.vectors[: p.count : step], np.float32) for p in pages])
        self._recall, self._asked = recall, _moved(sample[:: max(1, len(sample) // _ASKED)][:_ASKED])
        self._tried = self._asked[:1]
        self._least = exact(pages, self._asked, _NEAR)[0][:, -1:]
        with gpu:
            index = gpu.lists(sample, count, rows)
        super().__init__(index, gpu)

    def settle(self) -> None:
        most, nprobe = min(MOST, int(self.index.nlist)), 8
        while len(self._asked):
            self.index.nprobe = min(nprobe, most)
            found = self.search(self._asked, _NEAR)[0]
            if nprobe >= most or (found >= self._least - _ROUNDING).mean() >= self._recall:
                self._asked = self._asked[:0]
            nprobe *= 2
        self.search(self._tried, _NEAR)  # what a first search takes, no request waits for


def list_count(rows: int) -> int:
    """Four times the root of the rows, as FAISS advises, in powers of two."""
    return int(1 << max(2, round(math.log2(4 * rows**0.5))))


def _moved(rows: Vectors) -> Vectors:
    noise = np.random.default_rng(0).standard_normal(rows.shape, np.float32)
    noise *= np.resize(_MOVED, (len(rows), 1)) / np.linalg.norm(noise, axis=1, keepdims=True)
    away = rows + noise
    return np.asarray(away / np.linalg.norm(away, axis=1, keepdims=True), np.float32)
