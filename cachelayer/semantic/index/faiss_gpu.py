"""Large partitions on a GPU: float16 rows compared there, all of them or those of the nearest lists."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ...types import Vectors
from .codes import Codes, load_faiss
from .faiss_cpu import FaissIndex
from .gpu_rows import LISTS_SCRATCH, MOST, Gpu, GpuLists, GpuRows, TorchGpu, Turns
from .packed import Found
from .pages import PAGE, Page, Partition, View, name_rows
from .replayed import built
from .torch_flat import imported_torch

_BLOCK = 32
"""Pages that go to the device in one call: FAISS moves all rows of a flat index at every add."""
_FULL = ("out of memory", "memory allocation", "alloc fail")
"""What FAISS says where there is no room."""


class FaissGpuIndex(FaissIndex):
    """As FaissIndex, with partitions of `device_at` rows and more on GPU `device`: compared there with the rows of the
    nearest lists, as many as it takes for a recall of `recall`.

    All rows are compared at a recall of 1, and in partitions of fewer than `lists_at` rows (`device_at` unless told).
    The work there is done by torch, where it is installed, at the speed of the device's memory (one query or few by
    kernels of Triton, which needs a C compiler once), else by FAISS. The host keeps the rows: what the device
    cannot hold (`max_bytes` of float16 rows, or its memory), and all where there is no device, is served from there,
    exactly at first and by codes once `maintain` has made them. `fallbacks` counts why. Where FAISS meets a failing
    device, it ends the process. The device is not asked for before a partition has grown to it; a child process leaves
    it to its parent. `Searches` gives it one call at a time, of many queries.
    """

    _needs = "FaissGpuIndex", "gpu"

    def __init__(
        self,
        dimension: int,
        *,
        device: int = 0,
        max_bytes: int | None = None,
        promote_at: int = 4 * PAGE,
        device_at: int = 128 * PAGE,
        lists_at: int | None = None,
        recall: float = 0.99,
        open_gpu: Callable[[int | None], Turns] | None = None,
    ) -> None:
        super().__init__(dimension, promote_at=promote_at)
        if device_at < promote_at:
            raise ValueError(f"device_at={device_at}: at least promote_at, {promote_at}")
        if not 0 < recall <= 1:
            raise ValueError(f"recall={recall}: a share above 0, at most 1")
        self.device_at, self.device, self.recall = device_at, device, recall
        self.lists_at: float = float("inf") if recall == 1 else device_at if lists_at is None else lists_at
        self.fallbacks: Counter[str] = Counter()
        self.lost = False
        self._asked = open_gpu is not None
        self._torch = imported_torch() if open_gpu is None else None
        self._open = open_gpu or self._device_by
        self._opens = 0
        self._gpu: Turns | None = None
        self._max_bytes = float("inf") if max_bytes is None else max_bytes

    @property
    def device_bytes(self) -> int:
        """Bytes of rows on the device, those that `maintain` is about to publish not counted."""
        with self._lock:
            homes = list(self._partitions.values())
        return sum(sieve.bytes for sieve in map(_on_device, homes) if sieve)

    def on_device(self, partition: bytes) -> bool:
        home = self._partitions.get(partition)
        sieve = _on_device(home) if home else None
        return bool(sieve and not sieve.failed)

    def work(self, partition: bytes) -> int:
        """All rows where they are on the device: waiting for it never belongs on the loop."""
        home = self._partitions.get(partition)
        return home.rows if home and _on_device(home) else super().work(partition)

    def _sieve_over(self, pages: tuple[Page, ...], old: Any = None) -> Any:
        rows = sum(page.count for page in pages)
        kept = isinstance(old, Codes) and old.rows >= self.device_at and not old.outgrown(rows)
        if rows < self.device_at or kept or not self._there():
            return self._coded_over(pages, old)
        if not (isinstance(old, OnDevice) and old.sound and not old.outgrown(rows)):
            old = None
        if self.device_bytes + 2 * rows * self.dimension - (old.bytes if old else 0) > self._max_bytes:
            self.fallbacks["over the memory budget"] += 1
            return self._coded_over(pages)
        try:
            return super()._sieve_over(pages, old)
        except (RuntimeError, MemoryError) as fault:
            self._count(fault)
            return self._coded_over(pages)

    def _coded_over(self, pages: tuple[Page, ...], old: Any = None) -> Any:
        rows = sum(page.count for page in pages)
        if rows < self.promote_at:
            return None
        fits = isinstance(old, Codes) and not old.outgrown(rows)
        return super()._sieve_over(pages, old if fits else super()._new_sieve(pages))

    def _new_sieve(self, pages: tuple[Page, ...]) -> Any:
        """Lists have resources of their own: while they learn, other partitions are searched."""
        rows = sum(page.count for page in pages)
        if rows >= self.lists_at:
            lists = GpuLists(self._opened(LISTS_SCRATCH), self.recall, pages, self._scan_many)
            return OnDevice(lists, self.dimension, 2 * rows)
        self._gpu = self._gpu or self._opened(None)
        rows_there = GpuRows(self._gpu.flat(self.dimension), self._gpu)
        return OnDevice(rows_there, self.dimension, self.lists_at - 1)

    def _there(self) -> bool:
        """Whether there is a device; asked once."""
        if not self._asked:
            self._asked = True
            reason = unavailable()
            if reason:
                self.lost = True
                self.fallbacks[reason] += 1
            elif self._torch and not self._torch.cuda.is_available():
                self._torch = None
        return not self.lost

    def _device_by(self, scratch: int | None) -> Turns:
        """By torch where it is faster: all rows, and lists where there are kernels for them."""
        if self._torch:
            device = self._torch.device("cuda", self.device)
            kernels = built(self._torch, self.dimension, device)
            if kernels or scratch is None:
                return TorchGpu(self._torch, kernels, device)
        return Gpu(self._faiss, self.device, scratch)

    def _opened(self, scratch: int | None) -> Any:
        if not self._opens:
            forked = weakref.WeakMethod(self._forked)
            os.register_at_fork(after_in_child=lambda: _call(forked))
        self._opens += 1
        return self._open(scratch)

    def _forked(self) -> None:
        """The device is the parent's: to ask it, or to free what is there, would end this process."""
        for home in self._partitions.values():
            sieve = _on_device(home)
            if sieve:
                sieve.device.abandon()
        if self._gpu is not None:
            self._gpu.abandon()
        self.fallbacks["the device is a parent process's"] += 1
        self._lose()

    def _from_sieve(self, view: View, queries: Vectors, k: int) -> Found | None:
        sieve = view.sieve
        if not isinstance(sieve, OnDevice):
            return super()._from_sieve(view, queries, k)
        if sieve.failed:
            return None
        try:
            return super()._from_sieve(view, queries, k)
        except (RuntimeError, MemoryError) as fault:
            sieve.failed = True
            self._count(fault)
            self._due.add(view.pages[0].home.key)
            return None

    def _count(self, fault: RuntimeError | MemoryError) -> None:
        """Out of memory passes; what else FAISS refuses, it will refuse again."""
        message = str(fault).lower()
        full = isinstance(fault, MemoryError) or any(words in message for words in _FULL)
        self.fallbacks["out of memory" if full else "device lost"] += 1
        if not full:
            self._lose()

    def _lose(self) -> None:
        """What is on the device is served from the host."""
        self.lost = True
        for home in list(self._partitions.values()):
            sieve = _on_device(home)
            if sieve:
                sieve.failed = True
                self._due.add(home.key)


class OnDevice:
    """The first `rows` rows of a device's; as Codes, position i is row i of the partition's pages."""

    def __init__(self, device: GpuRows, dimension: int, room: float, rows: int = 0) -> None:
        self.device, self.room, self.rows = device, room, rows
        self.failed = False
        self.ids = np.full(1, -1, np.int64)
        self._dimension = dimension
        self._waiting: list[Vectors] = []

    @property
    def bytes(self) -> int:
        return 2 * self.rows * self._dimension

    @property
    def sound(self) -> bool:
        """Whether more can be added: an add that was broken off leaves rows that nobody knows of."""
        return not self.failed and len(self.device) == self.rows

    def clone(self) -> OnDevice:
        """A copy with the same rows on the same device."""
        return OnDevice(self.device, self._dimension, self.room, self.rows)

    def add(self, rows: Vectors) -> None:
        self._waiting.append(rows)
        self.rows += len(rows)
        if len(self._waiting) == _BLOCK:
            self._send()

    def settle(self) -> None:
        self._send()
        self.device.settle()

    def search(self, queries: Vectors, k: int, stretch: float) -> Found:
        """As `Codes.search`; what the device compares is compared exactly, and needs no more effort for dead rows."""
        scores, positions = self.device.search(queries, min(k, MOST))
        return scores, np.where(positions < self.rows, positions, -1)

    def outgrown(self, rows: int) -> bool:
        """Whether so many rows are better laid out anew."""
        return rows > self.room

    def share(self, pages: tuple[Page, ...]) -> None:
        """The host keeps its rows."""
        self.ids = name_rows(pages, self.rows)

    def _send(self) -> None:
        rows, self._waiting = self._waiting, []
        if rows:
            self.device.add(np.concatenate(rows))


def _on_device(home: Partition) -> OnDevice | None:
    sieve = home.view.sieve
    return sieve if isinstance(sieve, OnDevice) else None


def _call(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    alive = method()
    if alive is not None:
        alive()


def for_gpus() -> bool:
    """Whether the installed FAISS is built for GPUs; no device is asked."""
    return hasattr(load_faiss(), "StandardGpuResources")


def unavailable() -> str:
    """Why there is no GPU to search on, or ''."""
    if not for_gpus():
        return "this faiss is built without GPU support"
    return "" if load_faiss().get_num_gpus() else "no CUDA device"
