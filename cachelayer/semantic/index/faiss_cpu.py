"""Large partitions on FAISS: codes that name candidates at memory speed, renewed behind the readers' backs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...types import Vectors
from .codes import Codes, load_faiss, one_thread
from .packed import Found, PackedIndex, Pairs, found, pages_from
from .pages import PAGE, Page, Partition, View
from .topk import best_of

_TAIL_SHARE = 128
"""The exact tail beside coded rows grows to one row in so many, `promote_at` at most, before they take it in."""
_FIXED_WORK = 1000
_CODES_A_ROW = 15
"""A search of codes costs about as much as so many rows compared one by one, and one more for every 15 codes."""
_KERNEL_PAGES = 4
"""Pages up to which FAISS's kernel beats a matrix-vector product and one selection over all."""
_ROUNDING = 1e-4
"""By how much two ways to compare the same rows may differ."""


class FaissIndex(PackedIndex):
    """Exact up to `promote_at` rows a partition; beyond, a scan of 4-bit codes, its best rows compared exactly.

    Coded rows are kept in float16. Codes take in new rows, and leave dead ones behind, in `maintain`: beside those
    that serve, then swapped; until then new rows are an exact tail. Twice as many rows as codes were learnt for are
    coded anew. Dead neighbours are skipped by asking for more, and by exact search where that finds too few.
    """

    _needs = "FaissIndex", "cpu"
    """What needs FAISS, and the extra that brings it."""

    def __init__(self, dimension: int, *, promote_at: int = 4 * PAGE) -> None:
        super().__init__(dimension)
        if promote_at < PAGE:
            raise ValueError(f"promote_at={promote_at}: at least {PAGE}; exact search is faster below")
        self._faiss = load_faiss(*self._needs)
        self.promote_at = promote_at

    def _note(self, home: Partition) -> None:
        sieve: Codes | None = home.view.sieve
        if sieve is None:
            due = home.rows >= self.promote_at
        else:
            due = home.rows - sieve.rows >= min(self.promote_at, sieve.rows // _TAIL_SHARE)
        if due:
            self._due.add(home.key)

    def _tend(self, home: Partition) -> None:
        if home.mostly_dead:
            self._rewrite(home)
        else:
            self._extend(home)

    def _extend(self, home: Partition) -> None:
        """Take the tail in; rows stay where they are, so that nothing else changes."""
        pages, old = home.view
        sieve = self._sieve_over(pages, old)
        with self._lock:
            if sieve is not None and self._partitions.get(home.key) is home:
                self._publish(home, home.view.pages, sieve)

    def _publish(self, home: Partition, pages: tuple[Page, ...], sieve: Any = None) -> None:
        if sieve is not None:
            sieve.share(pages)
        super()._publish(home, pages, sieve)

    def _sieve_over(self, pages: tuple[Page, ...], old: Any = None) -> Any:
        counts = [page.count for page in pages]
        rows = sum(counts)
        if rows < self.promote_at:
            return None
        sieve = old.clone() if old and not old.outgrown(rows) else self._new_sieve(pages)
        for number in range(sieve.rows // PAGE, len(pages)):
            if self._closed:
                return None
            fresh = slice(sieve.rows - number * PAGE, counts[number])
            sieve.add(np.asarray(pages[number].vectors[fresh], dtype=np.float32))
        sieve.settle()
        return sieve

    def _new_sieve(self, pages: tuple[Page, ...]) -> Any:
        return Codes.learnt(self._faiss, pages)

    def _one(self, view: View, queries: Vectors, k: int) -> Found:
        near = self._from_sieve(view, queries, k) if view.sieve else None
        if near is None:
            return super()._one(view, queries, k)
        if view.sieve.rows == view.rows or _farther(view, queries[0], near[0]):
            return near
        pairs = [pair for pair in zip(near[0][0].tolist(), near[1][0].tolist(), strict=True) if pair[1] >= 0]
        tail = self._scan_one(view.pages, queries[0], k, view.sieve.rows)
        return found([sorted(pairs + tail, reverse=True)], k)

    def _many(self, view: View, queries: Vectors, k: int) -> Found:
        near = self._from_sieve(view, queries, k) if view.sieve else None
        if near is None:
            return self._scan_many(view.pages, queries, k)
        if view.sieve.rows == view.rows:
            return near
        tail = self._scan_many(view.pages, queries, k, view.sieve.rows)
        return best_of(np.hstack([near[0], tail[0]]), np.hstack([near[1], tail[1]]), k)

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

    def _from_sieve(self, view: View, queries: Vectors, k: int) -> Found | None:
        """The best of the coded rows; None if the dead crowd out the living of any query."""
        sieve, live = view.sieve, view.pages[0].home.live
        dead = max(0, view.rows - live)
        stretch = 1.0 if not dead else view.rows / max(live, 1)
        wanted = k if not dead else int(2 * k * stretch) + 8
        scores, positions = sieve.search(queries, min(wanted, sieve.rows), stretch)
        ids = sieve.ids[positions]
        if not dead and ids.shape[1] == k and ids.min() >= 0:
            return scores, ids
        if (ids >= 0).sum(axis=1).min() < min(k, max(1, sieve.rows - dead)):
            return None
        return best_of(scores, ids, k)

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
        sieve = home.view.sieve if home else None
        if sieve is None or home is None:
            return super().work(partition)
        return int(home.rows - sieve.rows + _FIXED_WORK + sieve.rows // _CODES_A_ROW)


def _farther(view: View, query: NDArray[np.float32], best: NDArray[np.float32]) -> bool:
    """Whether no row beyond the codes is as near as the last of `best` (1, k): mostly so, and told in one sweep."""
    page, first = view.pages[-1], view.sieve.rows - (len(view.pages) - 1) * PAGE
    if first < 0:
        return False
    near = np.einsum("ij,j->i", page.vectors[first : page.count], query)
    return bool(near[near.argmax()] < best[0, -1] - _ROUNDING)
