"""A memory of what was evicted, in eight bytes an entry."""

from __future__ import annotations

from array import array
from typing import NamedTuple

_TICK = 4096.0
"""Ticks a second; 32 bits of them are twelve days, after which times wrap."""
_TIME, _TURN = (1 << 32) - 1, (1 << 15) - 1
_START = 64


class Ghost(NamedTuple):
    """What is known of an evicted entry: which of two queues it left, how many evictions ago (to 16), and the
    seconds since its last use."""

    where: int
    evictions: int
    idle: float


class Ghosts:
    """Fingerprints in pairs of cells: a new one takes the first, the first becomes the second, the second is lost.

    A cell is 16 bits of the digest, 1 bit of where, 15 bits of the number of the eviction / 16 and 32 bits of the
    last use. S3-FIFO (Yang et al., SOSP 2023) keeps its ghosts likewise. An entry is remembered for about as many
    evictions as there are cells.
    """

    __slots__ = ("_cells", "_mask", "number")

    def __init__(self) -> None:
        self._cells = array("Q", bytes(8 * _START))
        self._mask = _START - 2
        self.number = 0
        """Evictions so far."""

    def __len__(self) -> int:
        """Cells, used or not."""
        return len(self._cells)

    def add(self, digest: int, where: int, used: float) -> None:
        """`digest` (128 bits) was evicted from `where` (0 or 1), last used at `used` seconds."""
        self.number = number = self.number + 1
        cells, index = self._cells, digest & self._mask
        cells[index + 1] = cells[index]
        head = (digest >> 112 << 1 | where) << 15 | (number >> 4 & _TURN)
        cells[index] = head << 32 | int(used * _TICK) & _TIME

    def pop(self, digest: int, now: float) -> Ghost | None:
        """What is known of `digest`, forgotten with that."""
        cells, index, fingerprint = self._cells, digest & self._mask, digest >> 112
        if cells[index] >> 48 != fingerprint:
            index += 1
            if cells[index] >> 48 != fingerprint:
                return None
        cell = cells[index]
        if not cell:
            return None
        cells[index] = 0
        evictions = ((self.number >> 4) - (cell >> 32) & _TURN) << 4
        return Ghost(cell >> 47 & 1, evictions, (int(now * _TICK) - cell & _TIME) / _TICK)

    def grow(self) -> None:
        """Double the table, a copy of memory: each entry is right in one of its two places, dead in the other."""
        self._cells += self._cells
        self._mask = len(self._cells) - 2
