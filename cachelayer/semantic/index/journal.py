"""An append-only log of what happened to an index since its last snapshot.

A file is a head and records: length and kind, payload, and an xxh3 checksum over both, seeded with the record's
place in the file. Reading stops at the first record that does not check: a torn tail is cut, never believed.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from ...types import Vectors

_MAGIC = b"CLJRNL01"
_HEAD = struct.Struct("<8sQI16s")
_RECORD = struct.Struct("<IB")
_SUM = struct.Struct("<Q")
_ADD = struct.Struct("<II")
ADD, REMOVE = 1, 2
_ROWS = 1024
"""Rows per record: what is longer is cut, so that reading never needs more than this at once."""


class Event(NamedTuple):
    """Rows added to a partition, or ids removed (no vectors)."""

    partition: bytes
    ids: NDArray[np.int64]
    vectors: Vectors | None


class Journal:
    """One file, open for appending: `append` collects in memory, `write(take())` writes.

    The owner serializes appends and takes, and writes; `write` raises OSError where the disk is full or gone, and
    leaves the file as it was.
    """

    def __init__(self, path: Path, generation: int, dimension: int, identity: str) -> None:
        """Create the file; it must not exist."""
        self.path = path
        self.pending = 0
        """Bytes not written yet."""
        self.count = 0
        """Records, those that are not written yet too."""
        self._parts: list[bytes] = []
        self._file, self.size = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), 0
        try:
            self.write(_head(generation, dimension, identity), sync=False)
        except OSError:
            self.close()
            path.unlink()
            raise

    @classmethod
    def reopen(cls, path: Path, size: int, count: int) -> Journal:
        """Continue after the `count` good records in the first `size` bytes; the rest is cut off."""
        journal = cls.__new__(cls)
        journal.path, journal.pending, journal._parts = path, 0, []
        journal._file = os.open(path, os.O_WRONLY)
        os.ftruncate(journal._file, size)
        os.lseek(journal._file, size, os.SEEK_SET)
        journal.size, journal.count = size, count
        return journal

    def append(self, event: Event) -> None:
        """Queue an event for the next write."""
        if event.vectors is None:
            self._record(REMOVE, event.ids.tobytes())
            return
        for at in range(0, len(event.ids), _ROWS):
            ids, rows = event.ids[at : at + _ROWS], event.vectors[at : at + _ROWS]
            head = _ADD.pack(len(event.partition), len(ids))
            self._record(ADD, b"".join([head, event.partition, ids.tobytes(), rows.tobytes()]))

    def take(self) -> bytes:
        """What was appended and is not written yet; the caller writes it."""
        data, self._parts, self.pending = b"".join(self._parts), [], 0
        return data

    def write(self, data: bytes, *, sync: bool) -> None:
        """`sync` makes it survive the machine, not only the process. May run while others append."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
            if sync:
                os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self.size)
            raise
        self.size += len(data)

    def close(self) -> None:
        """Release the file; what was not written is lost."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _record(self, kind: int, payload: bytes) -> None:
        body = _RECORD.pack(len(payload), kind) + payload
        record = body + _SUM.pack(xxhash.xxh3_64_intdigest(body, self.count))
        self.count += 1
        self.pending += len(record)
        self._parts.append(record)


class Replay:
    """Reads a journal: iterate over the events; afterwards `size` and `count` say how much of it was good."""

    def __init__(self, path: Path, generation: int, dimension: int, identity: str) -> None:
        self._data = path.read_bytes() if path.exists() else b""
        self._dimension = dimension
        self.size = self.count = 0
        if self._data[: _HEAD.size] == _head(generation, dimension, identity):
            self.size = _HEAD.size

    @property
    def lost(self) -> int:
        """Bytes after the last good record."""
        return len(self._data) - self.size

    def __iter__(self) -> Iterator[Event]:
        while self.size:
            at, data = self.size, self._data
            if len(data) < at + _RECORD.size + _SUM.size:
                return
            length, kind = _RECORD.unpack_from(data, at)
            end = at + _RECORD.size + length
            if len(data) < end + _SUM.size:
                return
            body = memoryview(data)[at:end]
            if _SUM.unpack_from(data, end)[0] != xxhash.xxh3_64_intdigest(body, self.count):
                return
            self.size, self.count = end + _SUM.size, self.count + 1
            yield self._event(kind, bytes(body[_RECORD.size :]))

    def _event(self, kind: int, payload: bytes) -> Event:
        if kind == REMOVE:
            return Event(b"", np.frombuffer(payload, np.int64), None)
        width, count = _ADD.unpack_from(payload)
        at = _ADD.size + width
        ids = np.frombuffer(payload, np.int64, count, at)
        rows = np.frombuffer(payload, np.float32, count * self._dimension, at + 8 * count)
        return Event(payload[_ADD.size : at], ids, rows.reshape(count, self._dimension))


def _head(generation: int, dimension: int, identity: str) -> bytes:
    return _HEAD.pack(_MAGIC, generation, dimension, xxhash.xxh3_128_digest(identity.encode()))
