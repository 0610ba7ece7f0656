"""The default index without extras: exact, one partition per scope, many small scopes packed side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...flow import forks
from ...types import Vectors
from .checks import check_k, check_queries, check_rows
from .pages import PAGE, Page, Partition, Repacked, View
from .slab import Slab
from .snapshot import Part
from .topk import Best, largest, padded

Found = tuple[NDArray[np.float32], NDArray[np.int64]]
Pairs = list[tuple[float, int]]
"""Scores and ids of one query's neighbours, best first."""


class PackedIndex:
    """Exact inner-product search on numpy. Readers take no lock; writers share one.

    One query is a matrix-vector product per page of 1,024 rows; several are a blocked matrix product with the best
    k kept as it goes, cheaper per query by a factor of 2 to 7. A batch's product runs on the BLAS threads of
    numpy: OPENBLAS_NUM_THREADS=1 keeps it from waiting for busy cores.
    """

    def __init__(self, dimension: int) -> None:
        if dimension < 1:
            raise ValueError(f"dimension={dimension}: pass the embedder's, at least 1")
        self.dimension = dimension
        self._slab = Slab(dimension)
        self._partitions: dict[bytes, Partition] = {}
        self._page_of: dict[int, Page] = {}
        self._due: set[bytes] = set()
        self._lock = forks.lock()
        self._maintaining = forks.lock()
        self._closed = False

    def __len__(self) -> int:
        return len(self._page_of)

    def size(self, partition: bytes) -> int:
        home = self._partitions.get(partition)
        return home.live if home else 0

    def work(self, partition: bytes) -> int:
        """Rows that one query is compared with, about: what a search costs."""
        home = self._partitions.get(partition)
        return home.rows if home else 0

    def on_device(self, partition: bytes) -> bool:
        """Whether a search waits for a device, which serves one call at a time."""
        return False

    def add(self, partition: bytes, ids: NDArray[np.int64], vectors: Vectors) -> None:
        """Add rows under ids that the index does not hold; ValueError otherwise, and nothing is added."""
        check_rows(ids, vectors, self.dimension)
        self._closed = False
        with self._lock:
            for key in ids.tolist():
                if key in self._page_of:
                    raise ValueError(f"id {key} is in the index already: remove it first")
            home = self._partitions.get(partition) or Partition(partition, self._slab)
            for page, taken in home.append(ids, vectors):
                self._page_of.update(dict.fromkeys(taken.tolist(), page))
            self._partitions[partition] = home
            self._note(home)

    def remove(self, ids: NDArray[np.int64]) -> int:
        """Forget what is known of `ids`; returns how many were."""
        removed = 0
        touched: set[Partition] = set()
        with self._lock:
            for key in ids.tolist():
                page = self._page_of.pop(key, None)
                if page is not None:
                    page.bury(key)
                    page.home.live -= 1
                    touched.add(page.home)
                    removed += 1
            for home in touched:
                self._shrink(home)
        return removed

    def search(self, partition: bytes, queries: Vectors, k: int) -> Found:
        check_queries(queries, self.dimension)
        check_k(k)
        home = self._partitions.get(partition)
        view = home.view if home else View(())
        if not view.pages:
            return padded(len(queries), k)
        if len(queries) == 1:
            return self._one(view, queries, k)
        return self._many(view, queries, k)

    def __contains__(self, key: int) -> bool:
        return key in self._page_of

    def vector(self, key: int) -> NDArray[np.float32] | None:
        """The row of id `key`, (d,) float32 of length 1; None if it is not here."""
        page = self._page_of.get(key)
        for holder in () if page is None else page.moved or (page,):
            rows = np.flatnonzero(holder.ids[: holder.count] == key)
            if len(rows):
                row = np.array(holder.vectors[rows[0]], dtype=np.float32)
                return np.asarray(row / np.linalg.norm(row), dtype=np.float32)
        return None

    def ids(self) -> NDArray[np.int64]:
        """All live ids, in no order."""
        with self._lock:
            return np.fromiter(self._page_of, np.int64, len(self._page_of))

    def export(self) -> Iterator[Part]:
        """Every partition as it is when its turn comes; what happens meanwhile may be in it or not."""
        with self._lock:
            homes = list(self._partitions.values())
        for home in homes:
            pages = home.view.pages
            blocks, ids = [], []
            for page in pages:
                count = page.count
                names = page.ids[:count].copy()
                alive: slice | NDArray[np.bool_] = names >= 0 if page.dead else slice(None)
                blocks.append((page.vectors[:count], alive))
                ids.append(names[alive])
            if pages:
                yield Part(home.key, np.concatenate(ids), blocks)

    def adopt(self, key: bytes, ids: NDArray[np.int64], vectors: Vectors) -> None:
        """Take a partition over as `export` gave it, its vectors where they are."""
        home = Partition(key, self._slab)
        pages = []
        for at in range(0, len(ids), PAGE):
            names = ids[at : at + PAGE].copy()
            page = Page(home, vectors[at : at + PAGE], names, len(names))
            page.dead = int((names < 0).sum())
            home.live += len(names) - page.dead
            pages.append(page)
        self._publish(home, tuple(pages))
        if home.live:
            with self._lock:
                self._partitions[key] = home
                self._point_to(home.view.pages)
                self._note(home)
                self._shrink(home)

    @property
    def due(self) -> bool:
        """Whether `maintain` has something to do."""
        return bool(self._due)

    def maintain(self) -> int:
        """Do the work that is too long for a write; returns how many partitions had some.

        Blocks for as long as it takes: call it in a thread. Reads and writes go on meanwhile. Where another thread
        is at it already it returns 0 at once.
        """
        if not self._maintaining.acquire(blocking=False):
            return 0
        try:
            done = 0
            while self._due and not self._closed:
                with self._lock:
                    key = self._due.pop()
                    home = self._partitions.get(key)
                if home is not None:
                    self._tend(home)
                    done += 1
            return done
        finally:
            self._maintaining.release()

    def close(self) -> None:
        """End maintenance at its next page, until rows are added again; searches go on."""
        self._closed = True

    def _one(self, view: View, queries: Vectors, k: int) -> Found:
        return found([self._scan_one(view.pages, queries[0], k)], k)

    def _many(self, view: View, queries: Vectors, k: int) -> Found:
        return self._scan_many(view.pages, queries, k)

    def _scan_one(self, pages: tuple[Page, ...], query: NDArray[np.float32], k: int, start: int = 0) -> Pairs:
        """The best of the rows from `start` on, exactly."""
        scores = np.empty((len(pages) - 1) * PAGE + pages[-1].count - start, dtype=np.float32)
        at = 0
        for page, first in pages_from(pages, start):
            part = scores[at : at + PAGE - first]
            rows = slice(first, first + len(part))
            np.dot(np.asarray(page.vectors[rows], dtype=np.float32), query, out=part)
            if page.dead:
                part[page.ids[rows] < 0] = -np.inf
            at += len(part)
        best = largest(scores, k)
        return named(pages, (best + start).tolist(), scores[best].tolist())

    def _scan_many(self, pages: tuple[Page, ...], queries: Vectors, k: int, start: int = 0) -> Found:
        best = Best(len(queries), k)
        for page, first in pages_from(pages, start):
            rows = slice(first, page.count)
            scores = self._product(np.asarray(page.vectors[rows], np.float32), queries)
            if page.dead:
                scores[page.ids[rows] < 0] = -np.inf
            best.offer(scores, page.ids[rows])
        return best.scores, best.ids

    def _product(self, rows: Vectors, queries: Vectors) -> NDArray[np.float32]:
        """Scores (rows, queries)."""
        return rows @ queries.T

    def _note(self, home: Partition) -> None:
        """Called under the lock after rows were added."""

    def _shrink(self, home: Partition) -> None:
        """Called under the lock after rows died."""
        if not home.live:
            self._partitions.pop(home.key, None)
            home.let_go()
        elif home.mostly_dead:
            if home.rows <= PAGE:
                pages = Repacked(home, home.view.pages).settle(())
                self._publish(home, pages)
                self._point_to(pages)
            else:
                self._due.add(home.key)

    def _tend(self, home: Partition) -> None:
        """Work on one partition, outside the lock."""
        self._rewrite(home)

    def _rewrite(self, home: Partition) -> None:
        """Leave the dead behind. The copy is made beside the old pages, which serve until it is published."""
        old = home.view.pages[:-1]
        if not old:
            return
        repacked = Repacked(home, old)
        sieve = self._sieve_over(repacked.pages)
        with self._lock:
            if self._partitions.get(home.key) is not home:
                return
            pages = repacked.settle(home.view.pages[len(old) :])
            self._publish(home, pages, sieve)
            self._note(home)
        for page in pages:  # one lock per page: a write waits for a page, not for a partition
            with self._lock:
                self._point_to((page,))

    def _sieve_over(self, pages: tuple[Page, ...]) -> Any:
        """What finds candidates among the rows of `pages`; exact search has none."""

    def _publish(self, home: Partition, pages: tuple[Page, ...], sieve: Any = None) -> None:
        home.view = View(pages, sieve)

    def _point_to(self, pages: tuple[Page, ...]) -> None:
        for page in pages:
            alive = (key for key in page.ids[: page.count].tolist() if key >= 0)
            self._page_of.update(dict.fromkeys(alive, page))


def named(pages: tuple[Page, ...], positions: list[int], scores: list[float]) -> Pairs:
    """Pairs from positions into `pages` and their scores, best first, without rows that died."""
    pairs = [
        (score, int(pages[at // PAGE].ids[at % PAGE]))
        for at, score in zip(positions, scores, strict=True)
        if at >= 0 and score > -np.inf
    ]
    return [pair for pair in pairs if pair[1] >= 0]


def found(rows: list[Pairs], k: int) -> Found:
    """Arrays (len(rows), k) of the first k pairs of each row."""
    absent = (-np.inf, -1)
    whole = [pairs[:k] + [absent] * (k - len(pairs)) for pairs in rows]
    scores = [[score for score, _ in pairs] for pairs in whole]
    return np.array(scores, dtype=np.float32), np.array(
        [[key for _, key in pairs] for pairs in whole], dtype=np.int64
    )


def pages_from(pages: tuple[Page, ...], start: int) -> Iterator[tuple[Page, int]]:
    """Pages from row `start` on, each with its first row that counts."""
    skipped = start // PAGE
    for number, page in enumerate(pages[skipped:]):
        yield page, 0 if number else start % PAGE
