"""Rows as 4-bit codes, which name candidates at memory speed, and in float16 to compare those exactly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingExtra, broken
from ...types import Vectors
from .packed import Found
from .pages import PAGE, Page, name_rows

if TYPE_CHECKING:
    from types import ModuleType

_SAMPLE = 4096
"""Rows the codes are learnt from, at least: 256 for each of 16 centroids."""
_ASKED = 64
"""Rows whose neighbours are looked up to see how many candidates are needed."""
_NEAR = 8
"""Neighbours that are looked for in that."""
_BLOCK, _KERNEL = 64, 15
"""Rows a block of the scan, and FAISS's number of its variant: measured, these take a tenth less, batches a seventh."""
_COMPARED = (128, 256, 512, 1024, 2048)
_RECALL = 0.995


class Codes:
    """The first `rows` rows of a partition, never changed once published; position i is row i of its pages.

    Product quantization with 16 centroids for four dimensions each, scanned in registers (PQ fast scan, VLDB 2015;
    arXiv:1812.09162): 48 bytes a row of 384 dimensions. The best `compared` by their codes are compared exactly, by
    float16 rows; how many that must be for a recall of 0.995 is measured on rows of the partition when codes are
    learnt. Those who extend the same codes take turns, and all but the last of them are never asked again for more.
    """

    def __init__(self, faiss: ModuleType, coded: Any, room: NDArray[np.float16], compared: int) -> None:
        self._faiss, self._coded, self._room = faiss, coded, room
        self._exact: Any = None
        self._index: Any = None
        self.compared = compared
        self.rows = int(coded.ntotal)
        self.ids = np.full(1, -1, np.int64)

    @classmethod
    def learnt(cls, faiss: ModuleType, pages: tuple[Page, ...]) -> Codes:
        """Codes for the rows of `pages` and for as many more, with none of them in yet."""
        rows = sum(page.count for page in pages)
        step = max(1, rows // _SAMPLE)
        sample = np.concatenate([np.asarray(p.vectors[: p.count : step], np.float32) for p in pages])
        width = sample.shape[1]
        codes = width // _numbers(width)
        coded = faiss.IndexPQFastScan(width, codes, 4, faiss.METRIC_INNER_PRODUCT, _BLOCK)
        coded.implem = _KERNEL
        with one_thread(faiss):
            coded.train(sample)
        return cls(faiss, coded, np.empty((2 * rows, width), np.float16), 0)

    def outgrown(self, rows: int) -> bool:
        """Whether so many rows are better coded anew: they may be unlike those that the codes were learnt from."""
        return rows > len(self._room)

    def clone(self) -> Codes:
        """A copy to add to while this one serves; it has the same float16 rows."""
        return Codes(self._faiss, self._faiss.clone_index(self._coded), self._room, self.compared)

    def add(self, rows: Vectors) -> None:
        """On one thread, in C++, with the interpreter free for others."""
        self._room[self.rows : self.rows + len(rows)] = rows
        with one_thread(self._faiss):
            self._coded.add(np.ascontiguousarray(rows))
        self.rows += len(rows)

    def settle(self) -> None:
        """All rows are in: from here on there are searches."""
        faiss = self._faiss
        exact = faiss.IndexScalarQuantizer(
            self._room.shape[1], faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        )
        held = self._room[: self.rows].view(np.uint8).reshape(-1)
        exact.codes = faiss.MaybeOwnedVectorUInt8.create_view(
            faiss.swig_ptr(held), held.size, exact.codes.owner
        )
        exact.ntotal, exact.is_trained = self.rows, True
        self._exact, self._index = exact, faiss.IndexRefine(self._coded, exact)
        if not self.compared:
            self._measure()
        self._index.k_factor = self.compared / _NEAR

    def search(self, queries: Vectors, k: int, stretch: float) -> Found:
        """Scores and positions (q, k), -1 where there are none; `stretch` times the candidates where some are dead."""
        options: dict[str, Any] = {}
        if k != _NEAR or stretch > 1:
            factor = max(1.0, self.compared * stretch / k)
            options["params"] = self._faiss.IndexRefineSearchParameters(k_factor=factor)
        if len(queries) == 1:
            scores, positions = self._index.search(queries, k, **options)
        else:
            with one_thread(self._faiss):
                scores, positions = self._index.search(queries, k, **options)
        return scores, positions

    def share(self, pages: tuple[Page, ...]) -> None:
        """Let full pages read their rows from here, so that they are kept once, and all their ids."""
        for number, page in enumerate(pages[: self.rows // PAGE]):
            page.vectors = self._room[number * PAGE : (number + 1) * PAGE]
        self.ids = name_rows(pages, self.rows)

    def _measure(self) -> None:
        """Compare as many candidates as it takes to find the neighbours of some of the rows."""
        asked = np.asarray(self._room[: self.rows : self.rows // _ASKED], dtype=np.float32)
        with one_thread(self._faiss):
            least = self._exact.search(asked, _NEAR)[0][:, -1:]
            for self.compared in _COMPARED:
                self._index.k_factor = self.compared / _NEAR
                if (self._index.search(asked, _NEAR)[0] >= least - 1e-5).mean() >= _RECALL:
                    return


def _numbers(width: int) -> int:
    """Dimensions that share a code: four at most, fewer where that leaves under 64 codes."""
    return next((number for number in (4, 2) if width % number == 0 and width >= 64 * number), 1)


@contextmanager
def one_thread(faiss: ModuleType) -> Iterator[None]:
    """Keep FAISS to this thread: its team waits for busy cores (measured: 8 ms for 30 us)."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def load_faiss(needed_by: str = "FaissIndex", extra: str = "cpu") -> ModuleType:
    try:
        import faiss
    except ImportError as fault:
        raise MissingExtra(needed_by, "faiss", extra, broken("faiss", fault)) from fault
    module: ModuleType = faiss
    return module
