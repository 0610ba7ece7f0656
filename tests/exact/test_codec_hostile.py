"""No bytes do harm, and what another version wrote is ignored."""

from __future__ import annotations

import contextlib
import dataclasses
import zlib
from typing import Any

import numpy as np
import orjson
import pytest
import xxhash
from codec_samples import CODEC, Leaf, Tree
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cachelayer.errors import ConfigurationError
from cachelayer.exact.wire.codec import Codec, CodecError, CorruptPayload, NewerSchema
from cachelayer.types import Reason


class Opaque:
    pass


def variant(fields: dict[str, Any], name: str = "Answer") -> type:
    cls = dataclasses.make_dataclass(name, list(fields.items()))
    cls.__module__ = __name__
    return cls


def test_another_version_of_a_class_is_ignored_not_misread() -> None:
    old, new, other = variant({"a": int}), variant({"a": int, "b": str}), variant({"a": str})
    payload = Codec([old]).encode(old(1))
    for cls in (new, other):
        with pytest.raises(NewerSchema) as caught:
            Codec([cls]).decode(payload)
        assert caught.value.reason is Reason.SCHEMA
    assert Codec([variant({"a": int})]).decode(payload).a == 1
    with pytest.raises(ConfigurationError, match="two classes"):
        Codec([old, new])


def test_a_newer_version_is_ignored_not_destroyed() -> None:
    payload = CODEC.encode("x")
    with pytest.raises(NewerSchema):
        CODEC.decode(b"\x03" + payload[1:])


def sealed(kind: int, body: bytes) -> bytes:
    """Forged: a right checksum over anything."""
    return bytes([1, kind]) + xxhash.xxh3_64_digest(body, seed=1 << 8 | kind) + body


def forged(document: Any, blobs: bytes = b"") -> bytes:
    text = orjson.dumps(document)
    return sealed(4, len(text).to_bytes(4, "little") + text + blobs)


PAYLOADS = [
    CODEC.encode(v)
    for v in ("text", b"raw", {"a": [1]}, (1, {2}), Tree([Leaf("a")]), np.zeros(9), "x" * 9000)
]


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(PAYLOADS), st.data())
def test_a_flipped_bit_or_a_cut_never_gives_another_value(payload: bytes, data: st.DataObject) -> None:
    bit = data.draw(st.integers(0, len(payload) * 8 - 1))
    flipped = bytearray(payload)
    flipped[bit // 8] ^= 1 << bit % 8
    for bad in (bytes(flipped), payload[: bit // 8], payload + b"\0"):
        with pytest.raises(CodecError):
            CODEC.decode(bad)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 255), st.binary(max_size=60))
def test_garbage_with_a_right_checksum_gives_a_codec_error_or_a_value(kind: int, body: bytes) -> None:
    with contextlib.suppress(CodecError):
        CODEC.decode(sealed(kind, body))


TAGS = st.sampled_from([*"luifdtszbcxFUraqOCDnoevANT-?"])
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
    | st.sampled_from(
        ["Decimal", "datetime", "date", "delta", "zone", "<f4", "2026-01-01", "../../etc/passwd", "list"]
    ),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.builds(lambda tag, rest: {"$": [tag, *rest]}, TAGS, st.lists(inner, max_size=4))
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=800, deadline=None)
@given(JUNK, st.binary(max_size=20))
@example({"$": ["A", "<f4", [2**40], "C", [0, 0]]}, b"")
@example({"$": ["A", "|O", [1], "C", [0, 8]]}, b"12345678")
@example({"$": ["o", 0, {}, []]}, b"")
@example({"$": ["T", "zone", "../../etc/passwd"]}, b"")
def test_forged_documents_give_a_codec_error_or_a_value(document: Any, blobs: bytes) -> None:
    classes = [[name, allowed.fingerprint] for name, allowed in CODEC._known.items()]
    with contextlib.suppress(CodecError):
        CODEC.decode(forged([classes, document], blobs))


def test_deep_and_swollen_payloads_are_refused() -> None:
    with pytest.raises(CorruptPayload):
        CODEC.decode(sealed(3, b"[" * 100_000 + b"]" * 100_000))
    small = Codec(max_bytes=10_000)
    bomb = sealed(0x81, zlib.compress(b"x" * 10_000_000))
    for payload in (bomb, sealed(1, b"x" * 10_001)):
        with pytest.raises(CorruptPayload):
            small.decode(payload)
    with pytest.raises(CodecError, match="takes 10001 bytes, more than 10000; it stays in memory") as large:
        small.encode("x" * 10_001)
    assert large.value.reason is Reason.OVERSIZE


@given(st.binary(min_size=1, max_size=50), st.integers(0, 1000))
def test_compression_changes_nothing_but_the_length(piece: bytes, times: int) -> None:
    value = piece * times
    packed, plain = Codec(compress=1), Codec(compress=None)
    assert packed.decode(packed.encode(value)) == plain.decode(packed.encode(value)) == value
    assert len(packed.encode(value)) <= len(plain.encode(value))
