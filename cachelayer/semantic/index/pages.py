"""Storage of one partition: pages of rows that are appended and marked dead, never moved, so readers take no lock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...types import Vectors
from .slab import Held, Slab

PAGE = 1024
"""Rows per page: 1.5 MB at 384 dimensions, a block that a matrix product works through in the second-level cache."""
SMALL = 32
"""Rows up to which a page that grew here has them in the common slab: 100,000 small scopes would pay for spare room."""
_EXACT_FIT = 64
"""Rows up to which a page of its own has no room to spare."""
_DEAD_SHARE = 3
"""A partition is repacked when one row in so many is dead: searching a graph then costs 1.3 to 1.4 times (measured at
20,000 rows, equal recall), and each removal costs two insertions in the background."""

Rows = NDArray[np.float32] | NDArray[np.float16]


class Page:
    """At most `PAGE` rows. Readers take `count` first: rows below it are whole, whatever a writer does meanwhile.

    Nor does it matter where a writer was cut short, as in a forked child: what stands beyond `count` is nothing yet.
    A dead row has id -1. `moved` names the pages that hold the rows now, where maintenance has rewritten them.
    """

    __slots__ = ("_rows", "count", "dead", "home", "ids", "moved")

    def __init__(self, home: Partition, rows: Rows | Held, ids: NDArray[np.int64], count: int) -> None:
        self.home = home
        self._rows = rows
        self.ids = ids
        self.count = count
        self.dead = 0
        self.moved: tuple[Page, ...] = ()

    @property
    def vectors(self) -> Rows:
        """(>= count, d); a copy while the page is small."""
        rows = self._rows
        return rows.rows() if isinstance(rows, Held) else rows

    @vectors.setter
    def vectors(self, rows: Rows) -> None:
        self._rows = rows

    @property
    def halved(self) -> bool:
        """Whether the rows are in float16."""
        return not isinstance(self._rows, Held) and self._rows.itemsize == 2

    def append(self, ids: NDArray[np.int64], vectors: Vectors) -> int:
        """Take as many rows as fit; returns how many."""
        taken = min(PAGE - self.count, len(ids))
        end = self.count + taken
        if end > len(self.ids):
            self._grow(end)
        if isinstance(self._rows, Held):
            self._rows.extend_from(self.count, vectors[:taken])
        else:
            self._rows[self.count : end] = vectors[:taken]
        self.ids[self.count : end] = ids[:taken]
        self.count = end
        return taken

    def bury(self, key: int) -> None:
        """Mark the row of id `key` dead."""
        for page in self.moved or (self,):
            rows = np.flatnonzero(page.ids[: page.count] == key)
            if len(rows):
                page.ids[rows[0]] = -1
                page.dead += 1

    def keep_ids_in(self, room: NDArray[np.int64]) -> None:
        """Move the ids to `room` (PAGE,); the rows get as much."""
        room[: self.count] = self.ids[: self.count]
        if len(self.ids) < PAGE:
            self._room_for_rows(PAGE)
        self.ids = room

    def _grow(self, needed: int) -> None:
        small = isinstance(self._rows, Held) and needed <= SMALL
        exact = small or needed <= _EXACT_FIT
        room = needed if exact else min(PAGE, max(needed, self.count + self.count // 16))
        if not small:
            self._room_for_rows(room)
        ids = np.empty(room, dtype=np.int64)
        ids[: self.count] = self.ids[: self.count]
        self.ids = ids  # at last: as long as these are short, there is more to be made room for

    def _room_for_rows(self, room: int) -> None:
        old = self.vectors
        rows = np.empty((room, old.shape[1]), dtype=old.dtype)
        rows[: self.count] = old[: self.count]
        self._rows = rows


class View(NamedTuple):
    """What a reader sees of a partition, replaced as a whole. All pages but the last are full."""

    pages: tuple[Page, ...]
    sieve: Any = None
    """What finds candidates among the first rows, where there is one."""

    @property
    def rows(self) -> int:
        """Rows kept, dead ones included."""
        pages = self.pages
        return (len(pages) - 1) * PAGE + pages[-1].count if pages else 0


class Partition:
    """The pages of one scope."""

    __slots__ = ("key", "live", "slab", "view")

    def __init__(self, key: bytes, slab: Slab) -> None:
        self.key, self.slab = key, slab
        self.live = 0
        self.view = View(())

    @property
    def rows(self) -> int:
        return self.view.rows

    def let_go(self) -> None:
        """Nothing lives here any more: small pages are let go of now, not when the collector finds the circle."""
        if self.view.sieve is None:
            self.view = View(())

    @property
    def mostly_dead(self) -> bool:
        """Whether so many rows are dead that repacking pays."""
        return (self.rows - self.live) * _DEAD_SHARE >= self.rows

    def append(self, ids: NDArray[np.int64], vectors: Vectors) -> Iterator[tuple[Page, NDArray[np.int64]]]:
        """Add rows; yields each page with the ids that it took."""
        while len(ids):
            pages = self.view.pages
            if not pages or pages[-1].count == PAGE:
                page = Page(self, Held.of(self.slab), np.empty(0, dtype=np.int64), 0)
                taken = page.append(ids, vectors)
                self.view = self.view._replace(pages=(*pages, page))
            else:
                page = pages[-1]
                taken = page.append(ids, vectors)
            self.live += taken
            yield page, ids[:taken]
            ids, vectors = ids[taken:], vectors[taken:]


class Repacked:
    """Fresh float32 pages with the live rows of old ones, in their order; `settle` before they are published."""

    def __init__(self, home: Partition, pages: tuple[Page, ...]) -> None:
        self._home = home
        self._old = pages
        self._kept = [np.flatnonzero(page.ids[: page.count] >= 0) for page in pages]
        ids = self._current_ids()
        vectors = np.empty((len(ids), pages[0].vectors.shape[1]), dtype=np.float32)
        np.concatenate([p.vectors[rows] for p, rows in zip(pages, self._kept, strict=True)], out=vectors)
        self.pages = tuple(
            Page(home, vectors[at : at + PAGE].copy(), ids[at : at + PAGE].copy(), min(PAGE, len(ids) - at))
            for at in range(0, len(ids), PAGE)
        )

    def settle(self, tail: tuple[Page, ...]) -> tuple[Page, ...]:
        """All pages to publish: deaths since the copy are carried over, the live rows of `tail` follow."""
        ids = self._current_ids()
        for number, page in enumerate(self.pages):
            page.ids[: page.count] = ids[number * PAGE : number * PAGE + page.count]
            page.dead = int((page.ids[: page.count] < 0).sum())
        whole = Partition(self._home.key, self._home.slab)
        whole.view = View(self.pages)
        for page in tail:
            rows = np.flatnonzero(page.ids[: page.count] >= 0)
            for fresh, _ in whole.append(page.ids[rows], np.asarray(page.vectors[rows], np.float32)):
                fresh.home = self._home
        for page in (*self._old, *tail):
            page.moved = whole.view.pages
        return whole.view.pages

    def _current_ids(self) -> NDArray[np.int64]:
        return np.concatenate([page.ids[rows] for page, rows in zip(self._old, self._kept, strict=True)])


def name_rows(pages: tuple[Page, ...], rows: int) -> NDArray[np.int64]:
    """The ids of the first `rows` rows, and of some more, in one array that their pages write to from now on.

    Its last is -1, what position -1 is called. Called under the lock.
    """
    pages = pages[: -(-rows // PAGE)]
    every = np.full(len(pages) * PAGE + 1, -1, dtype=np.int64)
    for number, page in enumerate(pages):
        page.keep_ids_in(every[number * PAGE : (number + 1) * PAGE])
    return every
