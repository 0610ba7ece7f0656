"""Large partitions on FAISS: an HNSW graph over float16 rows, built and renewed behind the readers' backs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import MissingExtra
from ...types import Vectors
from .packed import Found, PackedIndex, Pairs, named, padded, pages_from
from .pages import PAGE, Page, Partition, View, ids_of

if TYPE_CHECKING:
    from types import ModuleType

_TAIL_SHARE = 64
"""The flat tail beside a graph grows to one row in so many before the graph takes it in."""
_GRAPH_WORK = 3000
"""A search of a graph costs about as much as so many rows compared one by one."""
_KERNEL_PAGES = 4
"""Pages up to which FAISS's kernel beats a matrix-vector product and one selection over all."""
_EFFORT = ((16_000, 0.6), (50_000, 0.8), (200_000, 1.0))
"""Share of the search effort that keeps recall@8 above 0.99 in a graph of so many rows; beyond it takes twice."""


class FaissIndex(PackedIndex):
    """Exact up to `promote_at` rows a partition; beyond, an HNSW graph (arXiv:1603.09320) and a short exact tail.

    Rows under a graph are kept in float16 (half the memory and, measured, two thirds of the search time at equal
    recall). The graph takes in new rows, and leaves dead ones behind, in `maintain`: beside the one that
    serves, then swapped. Until then dead neighbours are skipped by asking for more, and by exact search where
    that finds too few. `links` is HNSW's M, `build_effort` efConstruction, `search_effort` efSearch at 100,000 rows.
    """

    def __init__(
        self,
        dimension: int,
        *,
        promote_at: int = 4 * PAGE,
        links: int = 32,
        build_effort: int = 200,
        search_effort: int = 80,
    ) -> None:
        super().__init__(dimension)
        if promote_at < PAGE:
            raise ValueError(f"promote_at={promote_at}: at least {PAGE}; exact search is faster below")
        self._faiss = load_faiss()
        self.promote_at = promote_at
        self._links, self._build_effort, self._search_effort = links, build_effort, search_effort

    def _note(self, home: Partition) -> None:
        graph: Graph | None = home.view.graph
        covered = graph.rows if graph else 0
        if home.rows - covered >= max(self.promote_at if not graph else 0, covered // _TAIL_SHARE):
            self._due.add(home.key)

    def _tend(self, home: Partition) -> None:
        if home.mostly_dead:
            self._rewrite(home)
        else:
            self._extend(home)

    def _extend(self, home: Partition) -> None:
        """Take the tail into the graph; rows stay where they are, so that nothing else changes."""
        pages, old = home.view
        graph = self._graph_over(pages, old)
        with self._lock:
            if graph is not None and self._partitions.get(home.key) is home:
                self._publish(home, home.view.pages, graph)

    def _publish(self, home: Partition, pages: tuple[Page, ...], graph: Graph | None = None) -> None:
        if graph is not None:
            graph.share_rows(pages)
        super()._publish(home, pages, graph)

    def _graph_over(self, pages: tuple[Page, ...], old: Graph | None = None) -> Graph | None:
        counts = [page.count for page in pages]
        if sum(counts) < self.promote_at:
            return None
        graph = old.clone() if old else self._new_graph()
        for number in range(graph.rows // PAGE, len(pages)):
            if self._closed:
                return None
            rows = slice(graph.rows - number * PAGE, counts[number])
            graph.add(np.asarray(pages[number].vectors[rows], dtype=np.float32))
        graph.set_effort(self.effort(graph.rows))
        return graph

    def effort(self, rows: int) -> int:
        """efSearch for a graph of so many rows."""
        share = next((share for most, share in _EFFORT if rows <= most), 2.0)
        return int(self._search_effort * share)

    def _read_graph(self, path: Path) -> Graph | None:
        index = self._faiss.read_index(str(path))
        if index.d != self.dimension:
            return None
        index.hnsw.efSearch = self.effort(index.ntotal)
        return Graph(self._faiss, index)

    def _new_graph(self) -> Graph:
        faiss = self._faiss
        kind, metric = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        index = faiss.IndexHNSWSQ(self.dimension, kind, self._links, metric)
        index.hnsw.efConstruction = self._build_effort
        return Graph(faiss, index)

    def _one(self, view: View, query: NDArray[np.float32], k: int) -> Pairs:
        graph: Graph | None = view.graph
        near = self._from_graph(graph, view.pages, query[None], k) if graph else None
        if near is None or graph is None:
            return self._scan_one(view.pages, query, k)
        pairs = named(view.pages, near[1][0].tolist(), near[0][0].tolist())
        if graph.rows == view.pages[0].home.rows:
            return pairs
        return sorted(pairs + self._scan_one(view.pages, query, k, graph.rows), reverse=True)

    def _many(self, view: View, queries: Vectors, k: int) -> Found:
        graph: Graph | None = view.graph
        near = self._from_graph(graph, view.pages, queries, k) if graph else None
        if near is None or graph is None:
            return self._scan_many(view.pages, queries, k)
        scores, ids = near[0], ids_of(view.pages, near[1])
        scores[ids < 0] = -np.inf
        beside = view.pages[0].home.rows - graph.rows
        if not beside and scores.shape[1] == k and ids.min() >= 0:
            return scores, ids
        tail = self._scan_many(view.pages, queries, k, graph.rows) if beside else padded(len(queries), k)
        scores, ids = np.hstack([scores, tail[0]]), np.hstack([ids, tail[1]])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(scores, order, 1), np.take_along_axis(ids, order, 1)

    def _scan_one(self, pages: tuple[Page, ...], query: NDArray[np.float32], k: int, start: int = 0) -> Pairs:
        """By FAISS's own kernel, where every row is alive and in float32: it stores no scores and calls no BLAS."""
        skipped = start // PAGE
        scanned = pages[skipped:] if skipped else pages
        if len(scanned) > _KERNEL_PAGES or any(page.dead or page.halved for page in scanned):
            return super()._scan_one(pages, query, k, start)
        faiss, near = self._faiss, Pairs()
        pointer = faiss.swig_ptr
        for page, first in pages_from(pages, start):
            count = page.count - first
            best = min(k, count)
            scores, places = np.empty(best, np.float32), np.empty(best, np.int64)
            rows, out = page.vectors[first:], (pointer(scores), pointer(places))
            faiss.knn_inner_product(pointer(query), pointer(rows), self.dimension, 1, count, best, *out)
            near += zip(scores.tolist(), page.ids[first:][places].tolist(), strict=True)
        alive = [pair for pair in near if pair[1] >= 0]
        return alive if len(scanned) == 1 else sorted(alive, reverse=True)

    def _from_graph(self, graph: Any, pages: tuple[Page, ...], queries: Vectors, k: int) -> Found | None:
        """Scores and positions of the best rows under the graph; None where the dead crowd out the living of any."""
        rows, live = pages[0].home.rows, pages[0].home.live
        dead = rows - live
        stretch = rows / max(live, 1)
        wanted = k if not dead else int(2 * k * stretch) + 8
        scores, positions = graph.search(queries, min(wanted, graph.rows), stretch)
        if not dead:
            return scores, positions
        alive = (ids_of(pages, positions) >= 0).sum(axis=1)
        return (scores, positions) if alive.min() >= min(k, max(1, graph.rows - dead)) else None

    def _product(self, rows: Vectors, queries: Vectors) -> NDArray[np.float32]:
        """By FAISS's own BLAS, whose threads this thread can set: numpy's wait for busy cores, 8 ms for 0.5."""
        faiss = self._faiss
        out = np.empty((len(rows), len(queries)), dtype=np.float32)
        transform = faiss.LinearTransform(self.dimension, len(queries), False)
        faiss.copy_array_to_vector(np.ascontiguousarray(queries).ravel(), transform.A)
        transform.is_trained = True
        rows = np.ascontiguousarray(rows)
        with one_thread(faiss):
            transform.apply_noalloc(len(rows), faiss.swig_ptr(rows), faiss.swig_ptr(out))
        return out

    def work(self, partition: bytes) -> int:
        home = self._partitions.get(partition)
        graph: Graph | None = home.view.graph if home else None
        return (
            super().work(partition) if graph is None or home is None else home.rows - graph.rows + _GRAPH_WORK
        )


class Graph:
    """An HNSW index that is never changed once it is published; position i is row i of the partition's pages."""

    kept = True
    """Worth saving with a snapshot."""

    def __init__(self, faiss: ModuleType, index: Any) -> None:
        self._faiss, self._index = faiss, index
        self.rows = int(index.ntotal)

    def clone(self) -> Graph:
        return Graph(self._faiss, self._faiss.clone_index(self._index))

    def add(self, rows: Vectors) -> None:
        """On one thread, in C++, with the interpreter free for others."""
        with one_thread(self._faiss):
            self._index.add(np.ascontiguousarray(rows))
        self.rows = int(self._index.ntotal)

    def save(self, path: Path) -> None:
        self._faiss.write_index(self._index, str(path))

    def set_effort(self, search: int) -> None:
        self._index.hnsw.efSearch = search

    def search(self, queries: Vectors, k: int, stretch: float) -> Found:
        """Scores and positions (q, k), -1 where there are none; `stretch` times the effort where some are dead."""
        options: dict[str, Any] = {}
        if stretch > 1:
            effort = int(self._index.hnsw.efSearch * stretch)
            options["params"] = self._faiss.SearchParametersHNSW(efSearch=effort)
        if len(queries) == 1:
            scores, positions = self._index.search(queries, k, **options)
        else:
            with one_thread(self._faiss):
                scores, positions = self._index.search(queries, k, **options)
        return scores, positions

    def share_rows(self, pages: tuple[Page, ...]) -> None:
        """Let full pages read their rows from here, so that they are kept once."""
        matrix = np.asarray(_Rows(self._faiss, self._index)).reshape(self.rows, -1)
        for number, page in enumerate(pages[: self.rows // PAGE]):
            page.vectors = matrix[number * PAGE : (number + 1) * PAGE]


class _Rows:
    """The stored rows of a graph as an array that keeps the graph alive, whoever still reads them."""

    def __init__(self, faiss: ModuleType, index: Any) -> None:
        self._index = index
        storage = faiss.downcast_index(index.storage)
        self.__array_interface__ = {
            "version": 3,
            "typestr": "<f2",
            "shape": (index.ntotal * storage.code_size // 2,),
            "data": (int(storage.codes.data()), True),
        }


@contextmanager
def one_thread(faiss: ModuleType) -> Iterator[None]:
    """Keep FAISS to this thread: its team waits for busy cores (measured: 8 ms for 30 us)."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def load_faiss() -> ModuleType:
    try:
        import faiss
    except ImportError as fault:
        raise MissingExtra("FaissIndex", "faiss", "cpu") from fault
    module: ModuleType = faiss
    return module
