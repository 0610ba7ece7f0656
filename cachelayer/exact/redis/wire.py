"""A record as bytes: a versioned header, the epochs it was written under, then scope, meta, canonical and payload.

    header (86) | epochs (24 each; the scope's first) | body, perhaps compressed | checksum (8)
    header (86) | epochs (24 each; the scope's first) | body, signed or encrypted as in `seal`

All times on the wire are the server's, so that processes whose clocks differ agree. Numbers are little-endian.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from struct import Struct, error
from typing import Any

import orjson
from xxhash import xxh3_64_digest

from ...errors import Unusable
from ...types import Reason, Record
from .names import digest_of
from .seal import ENCRYPTED, PLAIN_ID, SIGNED, Seal

MAGIC, VERSION = b"CL", 1
COMPRESSED = 1
FLAGS = COMPRESSED | SIGNED | ENCRYPTED
HEADER = Struct("<2sBBIQ4s8s8sddddIIIIH")
PEEK = Struct("<2sBBIQ")
DEP = 24
CHECKSUM = 8
LARGEST = 64 << 20
"""Bytes a compressed body may claim to unpack to."""
Dep = tuple[bytes, bytes]
"""Digest of a tag's or scope's name, 16 bytes, and the epoch's token, 8 bytes."""

COLD = ("key", "canonical", "scope", "tags", "text", "function", "seconds", "tokens", "principal")
Opened = tuple[Record, bytes, bytes, float]
"""An entry that a peer wrote for this very request: the record; its epochs, yet to be compared, 24 bytes each; the
incarnation of the server process that it was written to; when, by that server's clock."""


class Stored(Record):
    """A record read back. What a hit does not need is parsed when first asked for."""

    __slots__ = ("_source",)
    _source: tuple[bytes, bytes, bytes, int, int, int]
    """Key, canonical, body, and where in the body scope, meta and canonical start."""

    def __getattr__(self, name: str) -> Any:
        if name not in COLD:
            raise AttributeError(name)
        key, canonical, body, scope, meta, end = self._source
        try:
            tags, *rest = orjson.loads(memoryview(body)[meta:end])
            values = (key, canonical, body[scope:meta], tuple(tags), *rest)
            found = dict(zip(COLD, values, strict=True))
        except (ValueError, TypeError) as fault:
            raise Unusable("an entry's meta is malformed", Reason.CORRUPT) from fault
        for field, value in found.items():
            object.__setattr__(self, field, value)
        return found[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in Record.__match_args__)

    def __hash__(self) -> int:
        return hash((self.key, self.canonical))


_new = object.__new__
_set_payload, _set_created, _set_fresh, _set_stale = (
    vars(Record)[name].__set__ for name in ("payload", "created", "fresh_until", "stale_until")
)
_set_source = vars(Stored)["_source"].__set__


class Wire:
    """Writes and reads entries of one deployment: prefix, schema version, keys."""

    __slots__ = ("_compress_above", "_prefix", "schema", "seal")

    def __init__(self, prefix: bytes, schema: int, seal: Seal, compress_above: int | None) -> None:
        self._prefix, self.schema, self.seal, self._compress_above = prefix, schema, seal, compress_above

    def write(
        self, record: Record, deps: Sequence[Dep], *, offset: float, now: float, incarnation: bytes, fence: int = 0
    ) -> bytes:
        """`offset` is the server's clock minus ours, `now` the server's time; seconds. `deps[0]` is the scope's."""
        meta = orjson.dumps(
            (record.tags, record.text, record.function, record.seconds, record.tokens, record.principal)
        )
        plain = b"".join((record.scope, meta, record.canonical, record.payload))
        body, flags = plain, self.seal.flag
        if self._compress_above is not None and len(plain) > self._compress_above:
            packed = zlib.compress(plain, 1)
            if len(packed) < len(plain):
                body, flags = packed, flags | COMPRESSED
        header = HEADER.pack(
            MAGIC, VERSION, flags, self.schema, fence, self.seal.key_id, incarnation, _function(record.function),
            now, record.created + offset, record.fresh_until + offset, record.stale_until + offset,
            len(record.scope), len(meta), len(record.canonical), len(plain), len(deps),
        )  # fmt: skip
        head = header + b"".join(digest + token for digest, token in deps)
        if self.seal.flag:
            return head + self.seal.close(self._around(record.key, head), body)
        entry = head + body
        return entry + xxh3_64_digest(entry)

    def read(self, raw: bytes, key: bytes, canonical: bytes, offset: float, now: float) -> Opened | None:
        """None where the entry belongs to another request under the same key; raises Unusable with the reason.

        `offset` and `now` as for `write`. The record's times are ours.
        """
        try:
            (magic, version, flags, schema, _, key_id, incarnation, function, written, created, fresh, stale,
             scope_length, meta_length, canonical_length, length, deps) = HEADER.unpack_from(raw)  # fmt: skip
        except error as fault:
            raise Unusable("an entry is shorter than its header", Reason.CORRUPT) from fault
        if magic != MAGIC:
            raise Unusable("what lies under the key is no entry", Reason.CORRUPT)
        if version != VERSION or schema != self.schema or flags & ~FLAGS:
            raise Unusable("an entry is of another schema version", Reason.SCHEMA)
        end = HEADER.size + DEP * deps
        if flags or self.seal.flag:
            body = self._unseal(raw, key, end, flags, key_id, length)
            start, last = 0, len(body)
        else:
            body, start, last = raw, end, len(raw) - CHECKSUM
            if key_id != PLAIN_ID or xxh3_64_digest(memoryview(raw)[:last]) != raw[last:]:
                raise Unusable("an entry's checksum is wrong", Reason.CORRUPT)
        at = start + scope_length + meta_length
        if last - start != length or at + canonical_length > last or not deps:
            raise Unusable("an entry's lengths are wrong", Reason.CORRUPT)
        if canonical_length != len(canonical) or not body.startswith(canonical, at):
            return None
        if stale <= now:
            raise Unusable("an entry is past its time", Reason.EXPIRED)
        record = _new(Stored)
        _set_payload(record, body[at + canonical_length : last])
        _set_created(record, created - offset)
        _set_fresh(record, fresh - offset)
        _set_stale(record, stale - offset)
        _set_source(record, (key, canonical, body, start, start + scope_length, at))
        if flags and function != _function(record.function):
            raise Unusable("an entry names two functions", Reason.CORRUPT)
        return record, raw[HEADER.size : end], incarnation, written

    def _unseal(self, raw: bytes, key: bytes, end: int, flags: int, key_id: bytes, length: int) -> bytes:
        if self.seal.flag or flags & (SIGNED | ENCRYPTED):
            body = self.seal.open(flags, key_id, self._around(key, raw[:end]), raw[end:])
        else:
            body = raw[end:-CHECKSUM]
            if xxh3_64_digest(memoryview(raw)[:-CHECKSUM]) != raw[-CHECKSUM:]:
                raise Unusable("an entry's checksum is wrong", Reason.CORRUPT)
        return _unpack(body, length) if flags & COMPRESSED else body

    def _around(self, key: bytes, head: bytes) -> bytes:
        return b"%b\0%b%b" % (self._prefix, key, head)

    def newer(self, head: bytes, fence: int) -> bool:
        """Whether what lies there must not be overwritten: a newer schema or format, or a later lease holder's.

        `head` is its first 16 bytes, or b"" where there is nothing.
        """
        if len(head) < PEEK.size:
            return False
        magic, version, _, schema, other = PEEK.unpack(head)
        return bool(magic == MAGIC and (version > VERSION or schema > self.schema or other > fence > 0))


def digests(head: bytes) -> list[bytes]:
    """The digests of the tags and scope that an entry was written under; [] where the head holds none.

    `head` is the entry's beginning; digests beyond it are left out.
    """
    if len(head) < HEADER.size or head[:2] != MAGIC or head[2] != VERSION:
        return []
    count = HEADER.unpack_from(head)[-1]
    spots = range(HEADER.size, HEADER.size + DEP * count, DEP)
    return [head[at : at + 16] for at in spots if at + 16 <= len(head)]


def _function(name: str) -> bytes:
    return digest_of(name.encode())[:8]


def _unpack(packed: bytes, length: int) -> bytes:
    if length > LARGEST:
        raise Unusable("an entry claims to unpack to too much", Reason.CORRUPT)
    unpacker = zlib.decompressobj()
    try:
        body = unpacker.decompress(packed, length or 1)
    except zlib.error as fault:
        raise Unusable("an entry does not unpack", Reason.CORRUPT) from fault
    if len(body) != length or not unpacker.eof:
        raise Unusable("an entry does not unpack to its length", Reason.CORRUPT)
    return body
