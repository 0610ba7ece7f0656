"""Large partitions on a GPU: float16 rows compared one by one, which reads at the device's memory bandwidth."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...types import Vectors
from .codes import Codes, load_faiss
from .faiss_cpu import FaissIndex
from .packed import Found
from .pages import PAGE, Page, View, name_rows

if TYPE_CHECKING:
    from types import ModuleType


class Device(Protocol):
    """Rows on a device. A fault of the device is a RuntimeError, as FAISS raises it."""

    def add(self, rows: Vectors) -> None: ...
    def search(self, queries: Vectors, k: int) -> Found: ...


class FaissGpuIndex(FaissIndex):
    """As FaissIndex, with partitions of `promote_at` rows and more compared exactly on GPU `device`.

    The host keeps the float32 rows: what the device cannot hold (`max_bytes` of float16 rows, or its memory) or
    loses is served from there, exactly at first and by codes once `maintain` has made them.
    `fallbacks` counts why. One call uses the device at a time; many queries in one call share its reading, so put
    `Searches(index, workers=1, inline_work=0, limit=...)` in front.
    """

    def __init__(
        self,
        dimension: int,
        *,
        device: int = 0,
        max_bytes: int | None = None,
        promote_at: int = 4 * PAGE,
        open_device: Callable[[], Device] | None = None,
    ) -> None:
        super().__init__(dimension, promote_at=promote_at)
        self.fallbacks: Counter[str] = Counter()
        reason = "" if open_device else unavailable()
        self.lost = bool(reason)
        if reason:
            self.fallbacks[reason] += 1
        self._open = open_device or (lambda: GpuRows(self._faiss, dimension, device))
        self._max_bytes = float("inf") if max_bytes is None else max_bytes

    @property
    def device_bytes(self) -> int:
        """Bytes of rows on the device, those that `maintain` is about to publish not counted."""
        with self._lock:
            sieves = [home.view.sieve for home in self._partitions.values()]
        return sum(sieve.bytes for sieve in sieves if isinstance(sieve, OnDevice))

    def _sieve_over(self, pages: tuple[Page, ...], old: Any = None) -> Any:
        if isinstance(old, OnDevice) and (self.lost or old.failed):
            old = None
        rows = sum(page.count for page in pages)
        if self.lost or rows < self.promote_at or isinstance(old, Codes):
            return super()._sieve_over(pages, old)
        needed = 2 * rows * self.dimension - (old.bytes if old else 0)
        if self.device_bytes + needed > self._max_bytes:
            self.fallbacks["over the memory budget"] += 1
            return super()._sieve_over(pages, super()._new_sieve(pages))
        try:
            return super()._sieve_over(pages, old)
        except RuntimeError as fault:
            self._count(fault)
            return super()._sieve_over(pages, super()._new_sieve(pages))

    def _new_sieve(self, pages: tuple[Page, ...]) -> Any:
        return super()._new_sieve(pages) if self.lost else OnDevice(self._open(), self.dimension)

    def _from_sieve(self, view: View, queries: Vectors, k: int) -> Found | None:
        sieve = view.sieve
        if not isinstance(sieve, OnDevice):
            return super()._from_sieve(view, queries, k)
        if sieve.failed or self.lost:
            return None
        try:
            return super()._from_sieve(view, queries, k)
        except RuntimeError as fault:
            sieve.failed = True
            self._count(fault)
            self._due.add(view.pages[0].home.key)
            return None

    def work(self, partition: bytes) -> int:
        """All rows: a search on the device waits for it, and never belongs on the loop."""
        home = self._partitions.get(partition)
        return home.rows if home else 0

    def _count(self, fault: RuntimeError) -> None:
        """Out of memory passes; anything else means that the device is gone."""
        full = "memory" in str(fault).lower()
        self.fallbacks["out of memory" if full else "device lost"] += 1
        if not full:
            self.lost = True


class OnDevice:
    """The first `rows` rows of a device's; as Codes, position i is row i of the partition's pages."""

    def __init__(self, device: Device, dimension: int, rows: int = 0) -> None:
        self.device, self.rows = device, rows
        self.failed = False
        self.ids = np.full(1, -1, np.int64)
        self._dimension = dimension

    @property
    def bytes(self) -> int:
        return 2 * self.rows * self._dimension

    def clone(self) -> OnDevice:
        """The same rows on the same device: adding to a flat index moves none."""
        return OnDevice(self.device, self._dimension, self.rows)

    def add(self, rows: Vectors) -> None:
        self.device.add(rows)
        self.rows += len(rows)

    def search(self, queries: Vectors, k: int, stretch: float) -> Found:
        """As Codes'; exact search needs no more effort for dead rows."""
        scores, positions = self.device.search(queries, k)
        return scores, np.where(positions < self.rows, positions, -1)

    def outgrown(self, rows: int) -> bool:
        """Rows that are not coded never are."""
        return False

    def settle(self) -> None:
        """Nothing is left to do."""

    def share(self, pages: tuple[Page, ...]) -> None:
        """The host keeps its rows."""
        self.ids = name_rows(pages, self.rows)


class GpuRows:
    """A GpuIndexFlatIP in float16; one call at a time owns its stream."""

    def __init__(self, faiss: ModuleType, dimension: int, device: int) -> None:
        config = faiss.GpuIndexFlatConfig()
        config.device, config.useFloat16 = device, True
        self._resources = faiss.StandardGpuResources()
        self._index = faiss.GpuIndexFlatIP(self._resources, dimension, config)
        self._owner = threading.Lock()

    def add(self, rows: Vectors) -> None:
        with self._owner:
            self._index.add(np.ascontiguousarray(rows))

    def search(self, queries: Vectors, k: int) -> Found:
        with self._owner:
            scores, positions = self._index.search(np.ascontiguousarray(queries), k)
        return scores, positions


def unavailable() -> str:
    """Why there is no GPU to search on, or ''."""
    faiss = load_faiss()
    if not hasattr(faiss, "StandardGpuResources"):
        return "this faiss is built without GPU support"
    return "" if faiss.get_num_gpus() else "no CUDA device"
