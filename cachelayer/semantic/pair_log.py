"""Pairs of requests that are kept apart, on disk: the latest of them, each of one size.

They are few, and nobody reports a pair again that is lost, so there are two files of them: what one is damaged in is in
the other. None has a checksum, since what it makes of damage are pairs of nobody's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..flow import forks
from .index.snapshot import whole_file

_MAGIC = b"CLPAIR01"


class PairLog:
    """Two files of records of `size` bytes: at least the latest `most`. Thread-safe; blocks; raises OSError."""

    def __init__(self, path: Path, size: int, most: int) -> None:
        self.path, self._size, self._most = path, size, most
        self._paths = path, path.with_name(f"{path.name}.twin")
        self._lock = forks.lock()
        self._owed: list[bytes] = []
        """Records that the disk refused."""
        self.unlike = False
        """Whether they were not the same when they were read last, as by damage; not one record, as by a kill."""

    def load(self) -> list[bytes]:
        """The latest records, oldest first. A torn one at the end is cut, and a file that is no such log begun anew."""
        with self._lock:
            held, odd = self._read()
            if odd:
                self._write(held)
            return held

    def append(self, record: bytes) -> None:
        """Keep one more; it is on the disk when this returns, and is kept for `settle` where this raises."""
        with self._lock:
            self._owed = [*self._owed[1 - self._most :], record]
        self.settle()

    @property
    def due(self) -> bool:
        """Whether something was refused."""
        return bool(self._owed)

    def settle(self) -> None:
        """Write what was refused before."""
        with self._lock:
            if not self._owed:
                return
            held, odd = self._read()
            if odd or not self.path.exists():
                self._write(list(dict.fromkeys((*held, *self._owed))))
            else:
                for path in self._paths:
                    with path.open("ab", buffering=0) as file:
                        file.write(b"".join(self._owed))
                        os.fsync(file)
            self._owed = []

    def drop(self, beginnings: Sequence[bytes] | None) -> None:
        """Leave no record that begins so, or none at all."""
        gone = (b"",) if beginnings is None else tuple(beginnings)
        with self._lock:
            self._owed = [record for record in self._owed if not record.startswith(gone)]
            if any(path.exists() for path in self._paths):
                self._write([record for record in self._read()[0] if not record.startswith(gone)])

    def _read(self) -> tuple[list[bytes], bool]:
        """The latest records, and whether the files hold anything else, or twice as many, or not the same."""
        one, other = (self._read_one(path) for path in self._paths)
        if one == other:
            return one[0][-self._most :], one[1] or len(one[0]) >= 2 * self._most
        short, long = sorted((one[0], other[0]), key=len)
        self.unlike = len(long) - len(short) > 1 or long[: len(short)] != short
        return list(dict.fromkeys((*other[0], *one[0]))), True

    def _read_one(self, path: Path) -> tuple[list[bytes], bool]:
        """What is whole of a file, and whether it holds anything else."""
        data = path.read_bytes() if path.exists() else b""
        whole = data.startswith(_MAGIC)
        records = [data[at : at + self._size] for at in range(len(_MAGIC), len(data), self._size)]
        torn = bool(records) and len(records[-1]) < self._size
        return (records[:-1] if torn else records) if whole else [], bool(data) and (torn or not whole)

    def _write(self, records: Sequence[bytes]) -> None:
        for path in self._paths:
            with whole_file(path) as file:
                file.write(b"".join((_MAGIC, *records)))
