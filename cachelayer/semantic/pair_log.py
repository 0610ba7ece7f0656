"""Pairs of requests that are kept apart, on disk: the latest of them, each of one size.

They are few and independent of each other, so none has a checksum.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..flow import forks
from .index.snapshot import whole_file

_MAGIC = b"CLPAIR01"


class PairLog:
    """One file of records of `size` bytes: at least the latest `most`. Thread-safe; blocks; raises OSError."""

    def __init__(self, path: Path, size: int, most: int) -> None:
        self.path, self._size, self._most = path, size, most
        self._lock = forks.lock()

    def load(self) -> list[bytes]:
        """The latest records, oldest first. A torn one at the end is cut, and a file that is no such log emptied."""
        with self._lock:
            held, odd = self._read()
            if odd:
                self._write(held)
            return held

    def append(self, record: bytes) -> None:
        """Keep one more; it is on the disk when this returns."""
        with self._lock:
            held, odd = self._read()
            if odd or not self.path.exists():
                self._write([*held, record])
                return
            with self.path.open("ab", buffering=0) as file:
                file.write(record)
                os.fsync(file)

    def drop(self, beginnings: Sequence[bytes] | None) -> None:
        """Leave no record that begins so, or none at all."""
        with self._lock:
            if self.path.exists():
                gone = () if beginnings is None else tuple(beginnings)
                kept = [] if beginnings is None else [r for r in self._read()[0] if not r.startswith(gone)]
                self._write(kept)

    def _read(self) -> tuple[list[bytes], bool]:
        """The latest records, and whether the file holds anything else, or twice as many."""
        if not self.path.exists():
            return [], False
        data = self.path.read_bytes()
        whole = data.startswith(_MAGIC)
        body = data[len(_MAGIC) :] if whole else b""
        torn, number = len(body) % self._size, len(body) // self._size
        first = max(number - self._most, 0)
        records = [body[at * self._size : (at + 1) * self._size] for at in range(first, number)]
        return records, not whole or torn > 0 or number >= 2 * self._most

    def _write(self, records: Sequence[bytes]) -> None:
        with whole_file(self.path) as file:
            file.write(b"".join((_MAGIC, *records)))
