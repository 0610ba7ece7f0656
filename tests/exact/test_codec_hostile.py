"""No bytes do harm, and what another version wrote is ignored."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import xxhash
from codec_samples import CODEC, Color, Leaf, Point, Tree
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cachelayer.errors import ConfigurationError
from cachelayer.exact.wire.codec import Codec, CodecError, CorruptPayload, ForeignClass, NewerSchema
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
    many = b"[" + b"[]," * 1_000_000 + b"[]]"
    with pytest.raises(CorruptPayload):  # a few KB, a million lists: no writer packs as much
        Codec().decode(sealed(0x83, zlib.compress(many)))
    with pytest.raises(CodecError, match="takes 10001 bytes, more than 10000; it stays in memory") as large:
        small.encode("x" * 10_001)
    assert large.value.reason is Reason.OVERSIZE


@given(st.binary(min_size=1, max_size=50), st.integers(0, 1000))
def test_compression_changes_nothing_but_the_length(piece: bytes, times: int) -> None:
    value = piece * times
    packed, plain = Codec(compress=1), Codec(compress=None)
    assert packed.decode(packed.encode(value)) == plain.decode(packed.encode(value)) == value
    assert len(packed.encode(value)) <= len(plain.encode(value))


RAN: list[Any] = []


@dataclasses.dataclass
class Acting:
    n: Any = None

    def __post_init__(self) -> None:
        RAN.append(self.n)


class Texts(str):
    __slots__ = ()

    def __new__(cls, given: str) -> Texts:
        RAN.append(given)
        return super().__new__(cls, given)


@pytest.mark.parametrize("tag", "vBneo")
@pytest.mark.parametrize("cls", [Acting, Texts, Color, Point])
@pytest.mark.parametrize("rest", [["x"], [1], [None, []], [{}, []]])
def test_no_class_is_constructed_or_filled_as_one_of_another_kind(
    tag: str, cls: type, rest: list[Any]
) -> None:
    codec = Codec([cls])
    classes = [[name, allowed.fingerprint] for name, allowed in codec._known.items()]
    with contextlib.suppress(CodecError):
        made = codec.decode(forged([classes, {"$": [tag, 0, *rest]}]))
        assert (type(made), tag) in ((Acting, "o"), (Texts, "B"))
    assert not RAN


def test_what_lies_beside_the_document_is_read_once() -> None:
    raw = b"x" * 1000
    for tag in "ubl":
        assert CODEC.decode(forged([[], [{"$": [tag, [0, 1000]]}]], raw))
        with pytest.raises(CorruptPayload):
            CODEC.decode(forged([[], [{"$": [tag, [0, 1000]]}] * 1000], raw))


@pytest.mark.parametrize("tag", "szdOCD")
def test_members_that_all_have_one_hash_are_not_compared_each_with_each(tag: str) -> None:
    alike = [{"$": ["i", hex(sys.hash_info.modulus * n)]} for n in range(1, 100)]
    told = [alike] if tag in "sz" else [[[one, 1] for one in alike]]
    with pytest.raises(CorruptPayload):
        CODEC.decode(forged([[], {"$": [tag, *(["int"] if tag == "D" else []), *told]}]))
    for many in (set(range(10_000)), dict.fromkeys([None, True, *map(float, range(2, 5000))])):
        assert CODEC.decode(CODEC.encode(many)) == many


def test_a_fraction_of_any_length_takes_no_square_of_it() -> None:
    longest = Fraction(2**16_000 + 1, 3**9_000)
    assert CODEC.decode(CODEC.encode(longest)) == longest
    with pytest.raises(CorruptPayload):
        CODEC.decode(forged([[], {"$": ["F", "1" * 5000, "3" * 5000]}]))
    with pytest.raises(ForeignClass):
        CODEC.encode(Fraction(2**33_000 + 1, 5))


def test_a_time_zone_that_names_a_folder_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package tzdata, where the system has no zones."""
    (tmp_path / "tzdata/zoneinfo/Somewhere").mkdir(parents=True)
    for folder in ("tzdata", "tzdata/zoneinfo"):
        (tmp_path / folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CorruptPayload):
        CODEC.decode(forged([[], {"$": ["T", "zone", "Somewhere"]}]))


@pytest.mark.parametrize("text", [np.str_(""), np.bytes_(b""), np.str_("x\0"), np.bytes_(b"x\0")])
def test_a_text_that_numpy_would_read_as_a_shorter_one_stays_in_memory(text: Any) -> None:
    with pytest.raises(ForeignClass):
        CODEC.encode([text])


def test_a_forged_name_of_a_class_writes_no_lines_of_its_own_into_a_log() -> None:
    with pytest.raises(ForeignClass) as caught:
        CODEC.decode(forged([[["x\nERROR forged" + "x" * 10_000, ""]], {"$": ["o", 0, {}, []]}]))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200
