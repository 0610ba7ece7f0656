"""All vectors of an index in one file, believed only where its checksum holds.

It is read, never mapped into memory: a file that is cut under a mapping, or a disk that fails, kills the process.

Layout: head; table of partitions (length of key, rows); keys; ids (int64); vectors (float32, row after row); then
xxh3-128 over everything before it. Ids and vectors begin at multiples of 64 bytes.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from ...types import Vectors

_MAGIC = b"CLSNAP01"
_HEAD = struct.Struct("<8sIIQQ")
_TABLE = np.dtype([("key", "<u4"), ("rows", "<u8")])
_ALIGN = 64


class Part(NamedTuple):
    """One partition: its key, ids (n,), and blocks with the rows of each that count, (n, d) together."""

    key: bytes
    ids: NDArray[np.int64]
    blocks: Sequence[tuple[NDArray[np.float32] | NDArray[np.float16], slice | NDArray[np.bool_]]]


class Corrupt(ValueError):
    """A file is not what was written."""


def write_snapshot(path: Path, parts: Sequence[Part], dimension: int) -> str:
    """Write and sync; the checksum as hex. The file appears under its name only when whole."""
    with whole_file(path) as file:
        out = _Summed(file)
        keys = b"".join(part.key for part in parts)
        rows = sum(len(part.ids) for part in parts)
        out.write(_HEAD.pack(_MAGIC, dimension, len(parts), rows, len(keys)))
        out.write(np.array([(len(part.key), len(part.ids)) for part in parts], _TABLE).tobytes())
        out.write(keys)
        out.align()
        for part in parts:
            out.write(part.ids.tobytes())
        out.align()
        for part in parts:
            for block, rows_of in part.blocks:
                out.write(np.ascontiguousarray(block[rows_of], dtype=np.float32).tobytes())
        file.write(out.sum.digest())
    return out.sum.hexdigest()


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when all of it is on the disk."""
    aside = path.with_name(path.name + ".new")
    try:
        with open(aside, "wb", opener=_for_the_owner) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        aside.rename(path)
    finally:
        aside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def read_snapshot(path: Path, dimension: int, digest: str) -> list[tuple[bytes, NDArray[np.int64], Vectors]]:
    """Partitions with ids and vectors. Raises Corrupt where anything is off."""
    with path.open("rb") as file:
        data = _Checked(file)
        magic, width, count, _, size = _HEAD.unpack(data.take(np.uint8, _HEAD.size).data)
        if magic != _MAGIC or width != dimension:
            raise Corrupt(f"{path.name} has format {magic!r} and dimension {width}, not {dimension}")
        table = data.take(_TABLE, count)
        keys = data.take(np.uint8, size).tobytes()
        data.align()
        ids = [data.take(np.int64, rows) for rows in table["rows"].tolist()]
        data.align()
        vectors = [data.take(np.float32, len(part) * width).reshape(-1, width) for part in ids]
        if file.read() != data.sum.digest() or data.sum.hexdigest() != digest:
            raise Corrupt(f"{path.name} does not match its checksum")
    ends = np.cumsum(table["key"], dtype=np.int64).tolist()
    names = [keys[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return list(zip(names, ids, vectors, strict=True))


class _Checked:
    """A file with a running checksum of what was read."""

    def __init__(self, file: BinaryIO) -> None:
        self.sum = xxhash.xxh3_128()
        self._file = file
        self._left = os.fstat(file.fileno()).st_size

    def take(self, kind: Any, count: int) -> NDArray[Any]:
        """The next `count` of a kind. Whatever damage says, no more memory is asked for than the file is long."""
        self._left -= count * np.dtype(kind).itemsize
        if self._left < 0:
            raise Corrupt(f"{Path(self._file.name).name} is too short")
        out = np.empty(count, kind)
        self._file.readinto(out)  # type: ignore[attr-defined]
        self.sum.update(out.data)
        return out

    def align(self) -> None:
        self.take(np.uint8, -self._file.tell() % _ALIGN)


class _Summed:
    """A file with a running checksum of what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self.sum = xxhash.xxh3_128()
        self._file = file
        self._at = 0

    def write(self, data: bytes | memoryview) -> None:
        self.sum.update(data)
        self._file.write(data)
        self._at += len(data)

    def align(self) -> None:
        self.write(bytes(-self._at % _ALIGN))
