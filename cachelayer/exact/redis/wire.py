"""A record as bytes: a versioned header, the epochs it was written under, then scope, meta, canonical and payload.

    header (110) | epochs (24 each; the scope's first) | body, perhaps compressed, signed or encrypted as in `seal`

The header begins with magic, format version, flags and schema version, then a checksum (XXH3-64) of all that follows;
where the body is signed or encrypted, all of the header but that checksum is vouched for too. All times on the wire are
the server's, so that processes whose clocks differ agree. Numbers are little-endian.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from math import isfinite
from struct import Struct, error
from typing import Any, NamedTuple

import orjson
from xxhash import xxh3_64_intdigest

from ...errors import Unusable
from ...types import Reason, Record
from .names import digest_of
from .seal import ENCRYPTED, SIGNED, Seal

MAGIC, VERSION = b"CL", 3
COMPRESSED = 1
FLAGS = COMPRESSED | SIGNED | ENCRYPTED
START = Struct("<2sBBI")
HEADER = Struct("<8sQQ4s8s8sdddddQIIIIH")
"""Start, checksum, fence, key id, incarnation, function's digest, times of writing, creation, end of freshness and of
staleness, seconds and tokens that the answer took, lengths of scope, meta, canonical and the unpacked body, number of
epochs."""
_READ = Struct("<8sQ8x4x8s8xdddddQIIIIH")  # what a read needs of it
PEEK = 24
"""Bytes that tell whether an entry may be overwritten: start, checksum, fence."""
SUMMED = 16
DEP = 24
LARGEST = 64 << 20
"""Bytes a compressed body may claim to unpack to."""
Dep = tuple[bytes, bytes]
"""Digest of a tag's or scope's name, 16 bytes, and the epoch's token, 8 bytes."""

COLD = ("key", "canonical", "stale_until", "scope", "tags", "text", "function", "principal", "id")
Opened = tuple[Record, bytes, bytes, float]
"""An entry that a peer wrote for this very request: the record; its epochs, yet to be compared, 24 bytes each; the
incarnation of the server process that it was written to; when, by that server's clock."""


class Outline(NamedTuple):
    """What identifies an entry that was read before."""

    head: bytes
    """Header and epochs: all before the scope."""
    canonical: int
    """Where the canonical bytes stand."""
    length: int
    deps: bytes
    incarnation: bytes
    written: float
    fresh_until: float
    """Server's clock, as `written`."""


class Stored(Record):
    """A record read back. What a hit does not need is parsed when first asked for."""

    __slots__ = ("_source",)
    _source: tuple[bytes, bytes, float, bytes, int, int, int]
    """Key, canonical, end of staleness, body, and where in the body scope, meta and canonical start."""

    def __getattr__(self, name: str) -> Any:
        if name not in COLD:
            raise AttributeError(name)
        key, canonical, stale, body, scope, meta, end = self._source
        try:
            tags, *rest = orjson.loads(memoryview(body)[meta:end])
            if not ({str}.issuperset(map(type, tags)) and tuple(map(type, rest)) in _REST):
                raise TypeError
            values = (key, canonical, stale, body[scope:meta], tuple(tags), *rest)
            for put, value in zip(_SET_COLD, values, strict=True):
                put(self, value)
        except (ValueError, TypeError) as fault:
            raise Unusable("an entry's meta is malformed", Reason.CORRUPT) from fault
        return object.__getattribute__(self, name)

    @property
    def outline(self) -> Outline | None:
        """What identifies this entry; None if its body was compressed, signed or encrypted."""
        _, _, _, body, scope, _, canonical = self._source
        if not scope:
            return None
        head = body[:scope]
        _, _, incarnation, written, _, fresh, *_ = _READ.unpack_from(body)
        return Outline(head, canonical, len(body), head[HEADER.size :], incarnation, written, fresh)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in Record.__match_args__)

    def __hash__(self) -> int:
        return hash((self.key, self.canonical))


_CHECKSUM = Struct("<Q")
_REST = {(text, str, str, int) for text in (str, type(None))}
"""Of what classes a text, a function, a principal and an id are."""
_new = object.__new__
_SET_COLD = [vars(Record)[name].__set__ for name in COLD]
_set_payload, _set_created, _set_fresh, _set_seconds, _set_tokens = (
    vars(Record)[name].__set__ for name in ("payload", "created", "fresh_until", "seconds", "tokens")
)
_set_source = vars(Stored)["_source"].__set__


class Wire:
    """Writes and reads entries of one deployment: prefix, schema version, keys."""

    __slots__ = ("_compress_above", "_plain", "_prefix", "schema", "seal")

    def __init__(self, prefix: bytes, schema: int, seal: Seal, compress_above: int | None) -> None:
        self._prefix, self.schema, self.seal, self._compress_above = prefix, schema, seal, compress_above
        # the start of an entry that may be read without further questions; with keys there is none
        self._plain = b"" if seal.flag else START.pack(MAGIC, VERSION, 0, schema)

    def write(
        self,
        record: Record,
        deps: Sequence[Dep],
        *,
        offset: float,
        now: float,
        incarnation: bytes,
        fence: int = 0,
    ) -> bytes:
        """`offset` is the server's clock minus ours, `now` the server's time; seconds. `deps[0]` is the scope's."""
        meta = orjson.dumps((record.tags, record.text, record.function, record.principal, record.id))
        plain = b"".join((record.scope, meta, record.canonical, record.payload))
        body, flags = plain, self.seal.flag
        if self._compress_above is not None and len(plain) > self._compress_above:
            packed = zlib.compress(plain, 1)
            if len(packed) < len(plain):
                body, flags = packed, flags | COMPRESSED
        start = START.pack(MAGIC, VERSION, flags, self.schema)
        header = HEADER.pack(
            start, 0, fence, self.seal.key_id, incarnation, _function(record.function),
            now, record.created + offset, record.fresh_until + offset, record.stale_until + offset,
            record.seconds, record.tokens,
            len(record.scope), len(meta), len(record.canonical), len(plain), len(deps),
        )  # fmt: skip
        rest = header[SUMMED:] + b"".join(digest + token for digest, token in deps)
        if self.seal.flag:
            rest += self.seal.close(self._around(record.key, start, rest), body)
        else:
            rest += body
        return start + _CHECKSUM.pack(xxh3_64_intdigest(rest)) + rest

    def read(self, raw: bytes, key: bytes, canonical: bytes, offset: float, now: float) -> Opened | None:
        """None if the entry belongs to another request under the same key; raises Unusable with the reason.

        `offset` and `now` as for `write`. The record's times are ours.
        """
        try:
            (start, checksum, incarnation, written, created, fresh, stale, seconds, tokens, scope_length,
             meta_length, canonical_length, length, deps) = _READ.unpack_from(raw)  # fmt: skip
        except error as fault:
            raise Unusable("an entry is shorter than its header", Reason.CORRUPT) from fault
        end = HEADER.size + DEP * deps
        if start == self._plain:
            body, at = raw, end
            if xxh3_64_intdigest(raw[SUMMED:]) != checksum:
                raise Unusable("an entry's checksum is wrong", Reason.CORRUPT)
        else:
            body, at = self._unseal(raw, key, end, length), 0
        meta = at + scope_length
        text = meta + meta_length
        payload = text + canonical_length
        if len(body) - at != length or payload > len(body) or not deps:
            raise Unusable("an entry's lengths are wrong", Reason.CORRUPT)
        if canonical_length != len(canonical) or not body.startswith(canonical, text):
            return None
        # what is no number spoils every sum that it is added to
        if not isfinite(created + fresh + stale + seconds):
            raise Unusable("an entry's times are no numbers", Reason.CORRUPT)
        if stale <= now:
            raise Unusable("an entry is past its time", Reason.EXPIRED)
        record = _new(Stored)
        _set_payload(record, body[payload:])
        _set_created(record, created - offset)
        _set_fresh(record, fresh - offset)
        _set_seconds(record, seconds)
        _set_tokens(record, tokens)
        _set_source(record, (key, canonical, stale - offset, body, at, meta, text))
        return record, raw[HEADER.size : end], incarnation, written

    def _unseal(self, raw: bytes, key: bytes, end: int, length: int) -> bytes:
        """The body of an entry that is not simply plain. Raises Unusable."""
        start = raw[: START.size]
        magic, version, flags, schema = START.unpack(start)
        if magic != MAGIC:
            raise Unusable("what is stored under the key is not an entry", Reason.CORRUPT)
        if version != VERSION or schema != self.schema or flags & ~FLAGS:
            raise Unusable("an entry is of another schema version", Reason.SCHEMA)
        if self.seal.flag or flags & (SIGNED | ENCRYPTED):
            key_id = raw[PEEK : PEEK + 4]
            body = self.seal.open(flags, key_id, self._around(key, start, raw[SUMMED:end]), raw[end:])
        elif _CHECKSUM.pack(xxh3_64_intdigest(raw[SUMMED:])) != raw[START.size : SUMMED]:
            raise Unusable("an entry's checksum is wrong", Reason.CORRUPT)
        else:
            body = raw[end:]
        return _unpack(body, length) if flags & COMPRESSED else body

    def _around(self, key: bytes, start: bytes, rest: bytes) -> bytes:
        return b"%b\0%b%b%b" % (self._prefix, key, start, rest)

    def newer(self, head: bytes, fence: int, now: float) -> bool:
        """Whether what lies there must not be overwritten: a newer schema or format, or a later lease holder's.

        `head` is its first PEEK bytes, or b"" if there is nothing. `now`: the server's time; a fence from its future
        tells nothing, since the clock was set back.
        """
        if len(head) < PEEK:
            return False
        magic, version, _, schema = START.unpack_from(head)
        other = int.from_bytes(head[SUMMED:PEEK], "little")
        later = other > fence > 0 and other < (now + 1.0) * 1e6
        return bool(magic == MAGIC and (version > VERSION or schema > self.schema or later))


def head_size(head: bytes) -> int:
    """The bytes that an entry's header and epochs take; 0 if `head`, its beginning, is no entry of this format."""
    if len(head) < HEADER.size or head[:2] != MAGIC or head[2] != VERSION:
        return 0
    return HEADER.size + DEP * int(HEADER.unpack_from(head)[-1])


def of_other_format(head: bytes) -> bool:
    """Whether `head` begins an entry of another version of this library: nobody here can tell whose it is."""
    return head[:2] == MAGIC and len(head) > 2 and head[2] != VERSION


def digests(head: bytes) -> list[bytes]:
    """The digests of the scope and tags that an entry was written under, as far as `head` goes."""
    return [head[at : at + 16] for at in range(HEADER.size, head_size(head), DEP) if at + 16 <= len(head)]


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
