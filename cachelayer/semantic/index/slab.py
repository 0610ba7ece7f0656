"""Rows of small pages, from one store: pages that grow row by row, in turn, would leave holes all over the heap."""

from __future__ import annotations

from array import array
from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...types import Vectors

_BLOCK: Final = 4096
"""Rows per block. Memory that was never written is the system's still, so a block that is begun costs nothing."""


class Slab:
    """Rows of `dimension` float32 by number. One writer at a time; readers need no lock."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.free: deque[int] = deque()
        self._blocks: list[NDArray[np.float32]] = []
        self._bytes: list[memoryview] = []
        """The same blocks as bytes: a slice of those costs a fifth of an array's."""
        self._next = 0

    def write(self, row: Vectors) -> int:
        """Keep a row (d,); returns its number."""
        try:
            number = self.free.pop()
        except IndexError:
            number, self._next = self._next, self._next + 1
            if number // _BLOCK == len(self._blocks):
                # where this was cut short, the bytes are there already
                block = np.empty((_BLOCK, self.dimension), np.float32)
                self._bytes[len(self._blocks) :] = [block.data.cast("B")]
                self._blocks.append(block)
        self._blocks[number // _BLOCK][number % _BLOCK] = row
        return number

    def read(self, numbers: list[int]) -> NDArray[np.float32]:
        """A copy of rows, (n, d)."""
        blocks, wide = self._bytes, 4 * self.dimension
        starts = [(blocks[number // _BLOCK], number % _BLOCK * wide) for number in numbers]
        copied = bytearray().join([block[start : start + wide] for block, start in starts])
        return np.frombuffer(copied, np.float32).reshape(-1, self.dimension)


class Held(array):  # type: ignore[type-arg]
    """The numbers of one page's rows. They are free again when the page and its last reader have let go of this."""

    __slots__ = ("slab",)
    slab: Slab

    @classmethod
    def of(cls, slab: Slab) -> Held:
        held = cls("I")
        held.slab = slab
        return held

    def rows(self) -> NDArray[np.float32]:
        """A copy of the rows, (n, d)."""
        return self.slab.read(self.tolist())

    def extend_from(self, count: int, vectors: Vectors) -> None:
        """Add rows behind the first `count`; what an extension that was cut short left there goes."""
        del self[count:]
        self.extend(map(self.slab.write, vectors))

    def __del__(self) -> None:
        self.slab.free.extend(self)
