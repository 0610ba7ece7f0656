"""All vectors of an index in one file: read by mapping it into memory, believed only where its checksum holds.

Layout: head; table of partitions (length of key, rows); keys; ids (int64); vectors (float32, row after row); then
xxh3-128 over everything before it. Ids and vectors begin at multiples of 64 bytes.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from ...types import Vectors

_MAGIC = b"CLSNAP01"
_HEAD = struct.Struct("<8sIIQQ")
_TABLE = np.dtype([("key", "<u4"), ("rows", "<u8")])
_ALIGN = 64
_CHUNK = 16 * 2**20


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
    return os.open(path, flags, 0o600)


def read_snapshot(
    path: Path, dimension: int, digest: str
) -> Iterator[tuple[bytes, NDArray[np.int64], Vectors]]:
    """Partitions with ids and read-only mapped vectors. Raises Corrupt before the first where anything is off."""
    if path.stat().st_size < _HEAD.size + 16:
        raise Corrupt(f"{path.name} is too short")
    data = np.memmap(path, np.uint8, mode="r")
    found = xxhash.xxh3_128()
    for at in range(0, len(data) - 16, _CHUNK):
        found.update(data[at : min(at + _CHUNK, len(data) - 16)].data)
    if found.digest() != data[-16:].tobytes() or found.hexdigest() != digest:
        raise Corrupt(f"{path.name} does not match its checksum")
    magic, width, count, rows, size = _HEAD.unpack(data[: _HEAD.size].tobytes())
    if magic != _MAGIC or width != dimension:
        raise Corrupt(f"{path.name} has format {magic!r} and dimension {width}, not {dimension}")
    at = _HEAD.size
    table = data[at : at + count * _TABLE.itemsize].view(_TABLE)
    at += count * _TABLE.itemsize
    keys = data[at : at + size].tobytes()
    at = _aligned(at + size)
    ids = data[at : at + 8 * rows].view(np.int64)
    at = _aligned(at + 8 * rows)
    vectors = data[at : at + 4 * rows * width].view(np.float32).reshape(rows, width)
    return _parts(table, keys, ids, vectors)


def _parts(
    table: NDArray[np.void], keys: bytes, ids: NDArray[np.int64], vectors: Vectors
) -> Iterator[tuple[bytes, NDArray[np.int64], Vectors]]:
    key = row = 0
    for width, count in table.tolist():
        yield keys[key : key + width], ids[row : row + count], vectors[row : row + count]
        key, row = key + width, row + count


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
        self.write(bytes(_aligned(self._at) - self._at))


def _aligned(at: int) -> int:
    return -(-at // _ALIGN) * _ALIGN
