"""Remembered embeddings in a file: a head in JSON, then vectors, then xxh3-128 over all of it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from ..index.snapshot import whole_file

Entry = tuple[NDArray[np.float32], bool]
"""Vector (d,), and whether it covers the whole text."""

_MAGIC = b"CLEMBD02"
_HEAD = struct.Struct("<8sI")


def save_entries(path: Path, identity: str, entries: Sequence[tuple[str, Entry]]) -> None:
    """Write the entries, all or nothing. Texts that UTF-8 cannot carry are left out. Raises OSError."""
    kept = [(text, entry) for text, entry in entries if _encodable(text)]
    head = orjson.dumps(
        {
            "identity": identity,
            "texts": [text for text, _ in kept],
            "complete": [entry[1] for _, entry in kept],
            "widths": [len(entry[0]) for _, entry in kept],
        }
    )
    content = bytearray(_HEAD.pack(_MAGIC, len(head)) + head)
    for _, (vector, _) in kept:
        content += vector.tobytes()
    with whole_file(path) as file:
        file.write(content)
        file.write(xxhash.xxh3_128_digest(content))


def load_entries(path: Path, identity: str) -> list[tuple[str, Entry]]:
    """What was saved for this model; nothing where the file is missing, damaged or another model's."""
    data = path.read_bytes() if path.exists() else b""
    body = memoryview(data)[:-16]
    if len(body) < _HEAD.size or xxhash.xxh3_128_digest(body) != data[-16:]:
        return []
    magic, length = _HEAD.unpack_from(body)
    head = orjson.loads(body[_HEAD.size : _HEAD.size + length])
    if magic != _MAGIC or head["identity"] != identity:
        return []
    out: list[tuple[str, Entry]] = []
    at = _HEAD.size + length
    for text, complete, width in zip(head["texts"], head["complete"], head["widths"], strict=True):
        vector = np.frombuffer(body, np.float32, width, at)
        at += vector.nbytes
        out.append((text, (vector, complete)))
    return out


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
