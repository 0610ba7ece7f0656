"""The form of a log of entries: a head, and parts that live and die each by themselves.

A part begins with the log's own mark, 8 random bytes that nobody's text contains, and has a checksum seeded with its
place: a copy elsewhere, or what another log left on the disk there, is no part. Its death is written over its
beginning, in place. So whatever happens to other bytes brings nothing back: damage can only take away.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from struct import Struct
from typing import BinaryIO, NamedTuple

import xxhash

KIND = b"CLENTR"
MAGIC = KIND + b"02"
MARK = 8
HEAD = len(MAGIC) + MARK
"""Bytes of a log that holds nothing."""
AT_ONCE = 2**20
"""Bytes read and written at once: a whole file in memory would be twice as much again as all that is kept there."""
_SOUGHT = 2**16
"""Bytes looked through at once for the next part: where none of many checks, each is looked for."""
_PART = Struct("<8sIQQ")
"""The mark, or what is written over it; length of the body, id of the entry, checksum. The body follows."""
_SUMMED = _PART.size - 8


class Span(NamedTuple):
    """Where a part begins, and how long its body is."""

    key: int
    at: int
    length: int

    @property
    def end(self) -> int:
        """Where the next part begins."""
        return self.at + _PART.size + self.length


@dataclass(slots=True)
class Scan:
    """What a log holds."""

    mark: bytes = b""
    whole: int = 0
    """Where the last part that checks ends; 0 if the file is no log of this version."""
    damaged: int = 0
    """Bytes before that end that do not check."""
    alive: dict[int, Span] = field(default_factory=dict)
    """By id, oldest first."""
    doubled: list[Span] = field(default_factory=list)
    """Parts whose entries are there again later: a death that never reached the disk."""


def new_mark() -> bytes:
    """Another one for each log."""
    return os.urandom(MARK)


def part_of(mark: bytes, key: int, body: bytes, at: int) -> bytes:
    """An entry as it stands at that place."""
    return _head_of(mark, key, len(body), at, body) + body


def death_of(mark: bytes, span: Span) -> bytes:
    """What is written over the beginning of a part that is gone."""
    return _head_of(_struck(mark), span.key, span.length, span.at, b"")


def _head_of(mark: bytes, key: int, length: int, at: int, body: bytes) -> bytes:
    head = _PART.pack(mark, length, key, 0)[:_SUMMED]
    return head + _sum(head, body, at)


def _sum(head: bytes, body: bytes, at: int) -> bytes:
    found = xxhash.xxh3_64(head, at)
    found.update(body)
    return found.intdigest().to_bytes(8, "little")


def _struck(mark: bytes) -> bytes:
    """The mark of what is gone: no few damaged bytes make the one of the other."""
    return bytes(byte ^ 0xFF for byte in mark)


def scan(data: BinaryIO) -> Scan:
    """Read all of a log. Where a part does not check, nothing of it is believed, its length neither."""
    found, size = Scan(), data.seek(0, os.SEEK_END)
    data.seek(0)
    head = data.read(HEAD)
    mark, at = head[len(MAGIC) :], HEAD
    marks = mark, _struck(mark)
    if not head.startswith(MAGIC) or len(head) < HEAD:  # a damaged beginning is told from another program's
        if head.startswith(KIND) or _part_at(data, HEAD, size, marks)[0] is None:
            return found
        found.damaged = len(MAGIC)
    found.mark, found.whole = mark, HEAD
    while at < size:
        span, alive = _part_at(data, at, size, marks)
        if span is None:
            at = _next(data, at + 1, marks)
            continue
        found.damaged += at - found.whole
        found.whole = at = span.end
        if alive:
            if (older := found.alive.pop(span.key, None)) is not None:
                found.doubled.append(older)
            found.alive[span.key] = span
    return found


def _part_at(data: BinaryIO, at: int, size: int, marks: tuple[bytes, bytes]) -> tuple[Span | None, bool]:
    """The part that begins there, if one does that checks; and whether it is alive. What is gone needs no body."""
    if size - at < _PART.size:
        return None, False
    data.seek(at)
    head = data.read(_PART.size)
    mark, length, key, _ = _PART.unpack(head)
    span, alive = Span(key, at, length), mark == marks[0]
    if mark not in marks or span.end > size:
        return None, False
    body = data.read(length) if alive else b""
    return (span if head[_SUMMED:] == _sum(head[:_SUMMED], body, at) else None), alive


def _next(data: BinaryIO, at: int, marks: tuple[bytes, bytes]) -> int:
    """Where the next part may begin; the end of the file where none does."""
    data.seek(at)
    block, end = b"", at
    while more := data.read(_SOUGHT):
        block, end = block[1 - MARK :] + more, end + len(more)
        places = [place for mark in marks if (place := block.find(mark)) >= 0]
        if places:
            return end - len(block) + min(places)
    return end


def body_at(data: BinaryIO, span: Span) -> bytes:
    """The body of a part."""
    data.seek(span.at + _PART.size)
    return data.read(span.length)


def copy_alive(data: BinaryIO, file: int, mark: bytes) -> dict[int, Span]:
    """Write a new log of what is alive in `data`; where each stands there."""
    spans, at = dict[int, Span](), HEAD
    with open(file, "wb", AT_ONCE, closefd=False) as out:
        out.write(MAGIC + mark)
        for key, span in scan(data).alive.items():
            out.write(part_of(mark, key, body_at(data, span), at))
            spans[key] = Span(key, at, span.length)
            at = spans[key].end
    return spans
