"""What leaves the process: answers as bytes, for Redis and snapshots. No pickle, no code from the wire.

    version (1 byte) | kind and flags (1) | xxh3-64 of all but this field (8) | body

Bodies: UTF-8, raw bytes, JSON, or tagged JSON with raw bytes beside it (`wire`). Compressed by zlib, from 4 KiB up:
level 1 halves prose and shrinks a recorded stream 27 times, at 70-100 us to write and 9-23 us to read (measured);
it is in the standard library wherever the payload may be read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any

import orjson
from orjson import loads
from xxhash import xxh3_64_intdigest

from ...errors import ConfigurationError
from ..answers.kinds import Kinds
from .hints import travels, types_from
from .reader import Reader
from .tapes import Chunks, TapeWire
from .writer import Allowed, CodecError, CorruptPayload, ForeignClass, NewerSchema, TooLarge, Writer, name_of

__all__ = [
    "Chunks",
    "Codec",
    "CodecError",
    "CorruptPayload",
    "ForeignClass",
    "NewerSchema",
    "types_from",
]

VERSION = 2
"""The newest that is read. Version 1 is all but streams in runs (see `tape_wire`), which older readers leave alone."""
_HEAD = struct.Struct(">BBQ")
_LENGTH = struct.Struct("<I")
_TEXT, _BYTES, _JSON, _TAGGED = 1, 2, 3, 4
_STREAM, _PACKED = 0x40, 0x80
_PROBE = 4096
_PACK_MOST = 256 * 1024
"""Larger bodies stay as they are: compressing them would hold the loop for milliseconds. Nor is more read: of a few
kilobytes that others wrote gigabytes of lists could be made."""
_NONSENSE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,  # a time zone that is the name of a folder
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)


class Codec:
    """Answers to bytes and back, exactly, for plain values and the classes on the allow-list.

    `types`: classes that may leave the process, with those that their fields name: dataclasses, attrs classes,
    pydantic models, enums, named tuples. `compress`: bytes from which bodies are compressed, None for never.
    `max_bytes`: bound on what is written or read, compressed or not. Raises ConfigurationError for a class that
    cannot travel. Thread-safe.
    """

    def __init__(
        self, types: Iterable[Any] = (), *, compress: int | None = 4096, max_bytes: int = 64 * 1024 * 1024
    ) -> None:
        self.compress, self.max_bytes = compress, max_bytes
        self._kinds, self._tapes = Kinds(), TapeWire(max_bytes)
        self._known: dict[str, Allowed] = {}
        self.allow(types)

    def allow(self, types: Iterable[Any]) -> None:
        """Put more classes, or those of unions, on the list, with those that their fields name."""
        for one in types:
            found = types_from(one)
            if not found or (isinstance(one, type) and not travels(one)):
                remedy = "give dataclasses, pydantic models, enums, named tuples or unions of such"
                raise ConfigurationError("types", one, remedy)
            for each in sorted(found, key=name_of):
                known = self._known.setdefault(name_of(each), Allowed(self._kinds[each]))
                if known.plan.cls is not each:
                    raise ConfigurationError(
                        "types", each, f"two classes are called {name_of(each)}; rename one"
                    )

    def encode(self, value: Any) -> bytes:
        """Raises ForeignClass for a class not on the list or one that never travels; TooLarge beyond `max_bytes`."""
        runs = self._tapes.write(value) if type(value) is Chunks else None
        kind, body = self._body(value if runs is None else runs)
        version, kind = (1, kind) if runs is None else (2, kind | _STREAM)
        if len(body) > self.max_bytes:
            raise TooLarge(
                f"the answer takes {len(body)} bytes, more than {self.max_bytes}; it stays in memory"
            )
        if self.compress is not None and self.compress <= len(body) <= _PACK_MOST:
            packed = _pack(body)
            if packed is not None:
                kind, body = kind | _PACKED, packed
        return _HEAD.pack(version, kind, xxh3_64_intdigest(body, version << 8 | kind)) + body

    def _body(self, value: Any) -> tuple[int, bytes]:
        cls = type(value)
        if cls is str:
            try:
                return _TEXT, value.encode()
            except UnicodeEncodeError:
                pass
        if cls is bytes:
            return _BYTES, value
        stream = _STREAM if cls is Chunks else 0
        writer = Writer(self._kinds, self._known)
        try:
            plain = writer.write(list(value) if stream else value)
        except RecursionError:
            raise ForeignClass("the answer is nested too deeply to leave the process") from None
        if not writer.tagged:
            return stream | _JSON, orjson.dumps(plain)
        text = orjson.dumps([writer.classes, plain])
        return stream | _TAGGED, b"".join([_LENGTH.pack(len(text)), text, *writer.blobs])

    def decode(self, payload: bytes) -> Any:
        """The value that was encoded; of a stream its `Chunks`.

        Raises CorruptPayload, ForeignClass, or NewerSchema where a newer version, or one with other fields in a
        class, wrote it. Never anything else, whatever the bytes.
        """
        if len(payload) < _HEAD.size:
            raise CorruptPayload("shorter than its header")
        version, kind, given = _HEAD.unpack_from(payload)
        if version > VERSION:
            raise NewerSchema(f"written by version {version} of the format; this one reads up to {VERSION}")
        body = payload[_HEAD.size :]
        if version < 1 or given != xxh3_64_intdigest(body, version << 8 | kind):
            raise CorruptPayload("the checksum differs")
        if kind & _PACKED:
            body = self._unpack(body)
        elif len(body) > self.max_bytes:
            raise CorruptPayload(f"larger than {self.max_bytes} bytes")
        try:
            value = loads(body) if kind & 0x3F == _JSON else self._value(kind & 0x3F, body)
            if version == 2:
                return self._tapes.read(value)
            return Chunks(value) if kind & _STREAM else value
        except _NONSENSE as fault:
            raise CorruptPayload(f"no answer ({type(fault).__name__})") from fault

    def _unpack(self, body: bytes) -> bytes:
        inflate, most = zlib.decompressobj(), min(self.max_bytes, _PACK_MOST)
        try:
            whole = inflate.decompress(body, most)
        except zlib.error as fault:
            raise CorruptPayload("cannot be decompressed") from fault
        if not inflate.eof:
            raise CorruptPayload(f"incomplete, or larger than {most} bytes")
        return whole

    def _value(self, kind: int, body: bytes) -> Any:
        match kind:
            case 1:
                return body.decode()
            case 2:
                return body
            case 4:
                (n,) = _LENGTH.unpack_from(body)
                rest = memoryview(body)[_LENGTH.size :]
                classes, value = orjson.loads(rest[:n])
                return Reader(self._known, classes, rest[n:]).read(value)
            case _:
                raise CorruptPayload(f"unknown kind {kind}")


def _pack(body: bytes) -> bytes | None:
    """The body compressed, or None if a probe of its beginning, or the whole, shrinks by less than a tenth."""
    if len(body) > 2 * _PROBE and len(zlib.compress(body[:_PROBE], 1)) > 0.9 * _PROBE:
        return None
    packed = zlib.compress(body, 1)
    return packed if len(packed) < 0.9 * len(body) else None
