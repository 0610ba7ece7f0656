"""Values that differ in what an answer may show have keys of their own; what is worked out of them does not."""

from __future__ import annotations

import argparse
import array
import datetime
import enum
import functools
import io
import ipaddress
import pathlib
import struct
import threading
import types
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import msgspec
import numpy as np
import pydantic
import pytest

from cachelayer.exact.keys.canonical import NotKeyable, argument, encode


@dataclass
class Base:
    model: str


class Heir(Base):
    """A class that adds to a dataclass without being one."""

    def __init__(self, model: str, tone: Any) -> None:
        super().__init__(model)
        self.tone = tone


@dataclass
class Made:
    model: str
    tone: InitVar[str]

    def __post_init__(self, tone: str) -> None:
        self._tone, self._lock = tone, threading.Lock()

    @functools.cached_property
    def name(self) -> str:
        return f"{self.model} {self._tone}"


@attrs.define
class Asked:
    model: str
    _tone: str = "dry"


class Struct(msgspec.Struct):
    model: str


class OtherStruct(msgspec.Struct):
    model: str


class Link(pydantic.BaseModel):
    url: pydantic.HttpUrl


class Color(enum.Enum):
    RED = 1
    PINK = 2


class OtherColor(enum.Enum):
    RED = 1


class Shade(enum.Enum):
    OF_RED = Color.RED
    FIRST = 1
    BYTES = b"x"


class Word(str):
    __slots__ = ()


class Count(int):
    pass


class Rate(float):
    pass


def reply(kind: type) -> type[pydantic.BaseModel]:
    """A model class, defined anew under the same name, as where a notebook's cell is edited."""
    return pydantic.create_model("Reply", price=(kind, ...))


def in_zone(name: str) -> datetime.datetime:
    return datetime.datetime(2026, 1, 1, tzinfo=ZoneInfo(name))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        ([0], [-0.0]),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        (Heir("m", "kind"), Heir("m", "curt")),
        (Made("m", "kind"), Made("m", "curt")),
        (memoryview(array.array("i", [1])), memoryview(array.array("I", [1]))),
        (in_zone("Europe/Berlin"), in_zone("Africa/Lagos")),
        (datetime.datetime(2026, 10, 25, 2), datetime.datetime(2026, 10, 25, 2, fold=1)),
        (datetime.time(12), datetime.time(12, tzinfo=ZoneInfo("Europe/Berlin"))),
        (pathlib.PureWindowsPath("a", "b"), pathlib.PurePosixPath("a\\b")),
        (reply(int), reply(str)),
        *((kind("1"), kind("2")) for kind in (Word, Count, Rate)),
        *((kind("1"), plain("1")) for kind, plain in ((Word, str), (Count, int), (Rate, float))),
        (Asked("m"), Asked("n")),
        (Asked("m", "dry"), Asked("m", "warm")),
        (Struct("m"), Struct("n")),
        (Struct("m"), OtherStruct("m")),
        (types.SimpleNamespace(a=1), {"a": 1}),
        (argparse.Namespace(a=1), argparse.Namespace(a=2)),
        (argparse.Namespace(a=1), types.SimpleNamespace(a=1)),
        (deque([1]), deque([2])),
        (deque([1]), deque([1], maxlen=1)),
        (deque([1]), [1]),
        (array.array("i", [1]), array.array("I", [1])),
        (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
        (ipaddress.ip_address("10.0.0.1"), ipaddress.ip_interface("10.0.0.1/32")),
        (ipaddress.ip_address("fe80::1%a"), ipaddress.ip_address("fe80::1%b")),
        (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("10.0.0.0/9")),
        (ZoneInfo("Europe/Berlin"), ZoneInfo("Europe/Paris")),
        (datetime.UTC, datetime.timezone(datetime.timedelta(0), "GMT")),
        (datetime.UTC, datetime.timezone(datetime.timedelta(hours=1))),
        (Link(url="https://a/"), Link(url="https://b/")),
        (pydantic.HttpUrl("https://a/"), pydantic.AnyUrl("https://a/")),
        ({1: "a"}, {1: "b"}),
        ({1: "a"}, {2: "a"}),
        ({1: "a"}, {"1": "a"}),
        ({1: "a"}, {1.5: "a"}),
        ({"\0bytes": "eA=="}, b"x"),
        ({"bytes": "eA=="}, b"x"),
        (uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (["\ud800", "\U0001f600"], ["\ud800", "\ud83d\ude00"]),
        (Color.RED, Color.PINK),
        (Color.RED, OtherColor.RED),
        (Color.RED, 1),
        (Shade.OF_RED, Shade.FIRST),
        (Shade.BYTES, Shade.FIRST),
        (range(5), range(1, 5)),
        (range(5), range(6)),
        (range(5), range(0, 5, 2)),
        ({1, 2}, {1, 3}),
        (np.float32(0.1), np.float64(0.1)),
        (np.str_("a\0"), np.str_("a")),
        (np.bytes_(b"a\0"), np.bytes_(b"a")),
        (np.datetime64("2020"), np.datetime64("2020-01-01")),
        (np.timedelta64(5, "M"), np.timedelta64(5, "Y")),
        (np.timedelta64(5, "ns"), 5),
        (np.array([(1, 2)], "i4,i4")[0], np.array([(1, 2)], "i8,i8")[0]),
        ({"a": 1}.keys(), {"a": 1}.items()),
        ({"a": 1, "b": 2}.keys(), {"b": 2, "a": 1}.keys()),
    ],
    ids=repr,
)
def test_what_differs_is_told_apart(one: Any, other: Any) -> None:
    assert encode(argument(one)) != encode(argument(other))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Asked("m", "warm"),
        lambda: Struct("m"),
        lambda: types.SimpleNamespace(a=[1]),
        lambda: argparse.Namespace(model="m", layers=[1, 2]),
        lambda: deque(["a", {"b": 1}], maxlen=3),
        lambda: array.array("f", [1.5]),
        lambda: ipaddress.ip_interface("10.0.0.1/24"),
        lambda: ZoneInfo.no_cache("Europe/Berlin"),
        lambda: datetime.timezone(datetime.timedelta(hours=1)),
        lambda: Link(url="https://example.org/?q=1"),
        lambda: {"a": 1}.keys(),
        lambda: {1: "a", (2, 3): ["b"]},
        lambda: Color.RED,
        lambda: np.float32(0.1),
        lambda: np.datetime64("2020"),
        lambda: np.array([(1, 2)], "i4,i4")[0],
    ],
)
def test_what_is_made_twice_alike_is_the_same(make: Callable[[], Any]) -> None:
    assert encode(argument(make())) == encode(argument(make()))


@pytest.mark.parametrize(
    "value",
    [
        Asked(threading.Lock()),  # type: ignore[arg-type]
        deque([object()]),
        types.SimpleNamespace(lock=threading.Lock()),
        pydantic.SecretStr("s"),
        iter([1]),
        np.ma.array([1, 2], mask=[0, 1]),
        np.array([object()]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_compared_is_refused_inside_others_too(value: Any) -> None:
    with pytest.raises(NotKeyable):
        argument(value)


@pytest.mark.parametrize("whole", [0, 1, 2**53, -(2**53)])
def test_a_whole_number_is_one_as_an_int_and_as_a_float(whole: int) -> None:
    assert encode(argument(float(whole))) == encode(argument(whole)) == str(whole).encode()


@pytest.mark.parametrize("of", [int, lambda n: Fraction(1, n), lambda n: range(n), lambda n: {n: "a"}])
def test_whole_numbers_of_any_length_are_told_apart(of: Callable[[int], Any]) -> None:
    long, longer = 10**5000, 10**5000 + 1
    assert encode(argument(of(long))) == encode(argument(of(long))) != encode(argument(of(longer)))


def test_the_order_of_a_dicts_keys_is_no_part_of_it() -> None:
    assert encode(argument({1: "a", (2, 3): "b"})) == encode(argument({(2, 3): "b", 1: "a"}))


def test_numbers_in_a_file_are_the_numbers(tmp_path: pathlib.Path) -> None:
    rows = np.array([[1.5, 2.5]])
    rows.tofile(tmp_path / "rows")
    there = np.memmap(tmp_path / "rows", float, "r", shape=(1, 2))
    assert encode(argument(there)) == encode(argument(rows)) != encode(argument(rows.T))


def test_a_zone_without_a_name_is_refused() -> None:
    file = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, 4) + bytes(6) + b"UTC\0"
    with pytest.raises(NotKeyable):
        argument(ZoneInfo.from_file(io.BytesIO(file)))


def test_what_is_worked_out_of_a_value_is_no_part_of_it() -> None:
    made = Made("m", "kind")
    before = encode(argument(made))
    assert made.name == "m kind" and encode(argument(made)) == before == encode(argument(Made("m", "kind")))


def test_what_a_dataclass_was_given_openly_must_be_comparable() -> None:
    with pytest.raises(NotKeyable):
        argument(Heir("m", threading.Lock()))


def test_models_that_differ_by_what_is_private_are_told_apart_but_by_handles() -> None:
    class Session(pydantic.BaseModel):
        model: str
        _tone: str = pydantic.PrivateAttr(default="dry")
        _lock: Any = pydantic.PrivateAttr(default_factory=threading.Lock)

    dry, again, warm = (Session(model="m") for _ in range(3))
    warm._tone = "warm"
    assert dry != warm
    assert encode(argument(dry)) == encode(argument(again)) != encode(argument(warm))


def test_a_field_that_a_model_was_rid_of_is_absent() -> None:
    """As LiteLLM's messages, which have only those fields that their server sent."""

    class Message(pydantic.BaseModel):
        content: str
        audio: str | None = None

    said, again, silent = (Message(content="a") for _ in range(3))
    del said.audio, again.audio
    assert encode(argument(said)) == encode(argument(again)) != encode(argument(silent))
