"""What objects hold besides their content or their fields tells them apart: attributes, slots, a key's other values."""

from __future__ import annotations

import datetime
import enum
import functools
import pathlib
import threading
import types
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from decimal import Decimal
from typing import Any

import attrs
import httpx
import numpy as np
import pydantic
import pytest
from multidict import MultiDict
from starlette.datastructures import QueryParams
from werkzeug.datastructures import MultiDict as FormDict

from cachelayer.exact.keys.canonical import NotKeyable, argument, encode


def with_attributes(value: Any, **attributes: Any) -> Any:
    for name, held in attributes.items():
        setattr(value, name, held)
    return value


class Currency(enum.Enum):
    EURO = 1
    DOLLAR = 2


class Text(str):
    pass


class Amount(Decimal):
    pass


class Settings(dict[str, Any]):
    pass


class Turns(list[Any]):
    pass


class Attributes(dict[str, Any]):
    """The usual dict whose items are attributes, too."""

    def __init__(self, **items: Any) -> None:
        super().__init__(items)
        self.__dict__ = self


class Slots:
    __slots__ = ("model",)


class Hidden:
    __slots__ = ("__hidden",)

    def hide(self, value: Any) -> Any:
        self.__hidden = value
        return self


@attrs.define
class BelowSlots(Slots):
    question: str


@dataclass
class BelowHidden(Hidden):
    question: str


@dataclass(slots=True)
class Asked:
    question: str


class AskedOf(Asked):
    __slots__ = ("model",)


@dataclass
class Output(OrderedDict[str, Any]):
    """As those of transformers are made: fields that are items, too."""

    score: float

    def __post_init__(self) -> None:
        self["score"] = self.score


@dataclass
class Batch(list[int]):
    size: int


def batch(*items: int, size: int = 1) -> Batch:
    out = Batch(size)
    out.extend(items)
    return out


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (with_attributes(Text("a"), version=1), with_attributes(Text("a"), version=2)),
        (with_attributes(Text("a"), version=1), Text("a")),
        (with_attributes(Amount(1), currency="EUR"), with_attributes(Amount(1), currency="USD")),
        (with_attributes(Settings(a=1), version=1), with_attributes(Settings(a=1), version=2)),
        (with_attributes(Settings(a=1), version=1), Settings(a=1)),
        (with_attributes(Turns("a"), version=1), with_attributes(Turns("a"), version=2)),
        (Attributes(a=1), Attributes(a=2)),
        (with_attributes(BelowSlots("q"), model="m"), with_attributes(BelowSlots("q"), model="n")),
        (BelowHidden("q").hide(1), BelowHidden("q").hide(2)),
        (with_attributes(AskedOf("q"), model="m"), with_attributes(AskedOf("q"), model="n")),
        (Output(0.5), Output(0.6)),
        (batch(1), batch(2)),
        (batch(1, size=1), batch(1, size=2)),
        (QueryParams("a=1&a=3"), QueryParams("a=2&a=3")),
        (QueryParams("a=1&a=3"), QueryParams("a=3&a=1")),
        (httpx.QueryParams("a=1&a=2"), httpx.QueryParams("a=1&a=3")),
        (MultiDict([("a", 1), ("a", 2)]), MultiDict([("a", 2), ("a", 1)])),
        (FormDict([("a", 1), ("a", 2)]), FormDict([("a", 1), ("a", 3)])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_held_besides_tells_apart(one: Any, other: Any) -> None:
    assert encode(argument(one)) != encode(argument(other))


class Duration(datetime.timedelta):
    """As pandas' are: finer than those of the class below it."""

    @property
    def nanoseconds(self) -> int:
        return int(self.seconds)


def test_nanoseconds_of_durations_are_part_of_them() -> None:
    assert b"[0,7,0,7]" in encode(argument(Duration(seconds=7)))


class NoTime(datetime.datetime):
    """As pandas' NaT is: it has no zone, and cannot be asked for the name of one."""

    def tzname(self) -> str | None:
        raise ValueError("NaTType does not support tzname")

    def isoformat(self, *args: object, **kwargs: object) -> str:
        return "NaT"


def test_a_time_that_is_none_can_be_part_of_a_key() -> None:
    one, other = NoTime(1, 1, 1), datetime.datetime(1, 1, 1)
    assert encode(argument([one])) == encode(argument([NoTime(1, 1, 1)])) != encode(argument([other]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: with_attributes(Text("a"), version=1),
        lambda: with_attributes(Settings(a=1), _lock=threading.Lock()),
        lambda: Attributes(a=Attributes(b=1)),
        lambda: BelowHidden("q").hide(1),
        lambda: Output(0.5),
        lambda: batch(1, 2),
        lambda: QueryParams("a=1&a=2"),
    ],
)
def test_what_is_made_twice_alike_is_the_same(make: Callable[[], Any]) -> None:
    assert encode(argument(make())) == encode(argument(make()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"a", b"b"),
        (np.zeros(1), np.ones(1)),
        (datetime.date(2026, 1, 1), "2026-01-01"),
        (datetime.time(1), datetime.time(2)),
        (datetime.timedelta(1), datetime.timedelta(2)),
        (Decimal(1), Decimal(2)),
        (Currency.EURO, Currency.DOLLAR),
        (uuid.UUID(int=1), uuid.UUID(int=2)),
        ({"a": 1}, {"a": 2}),
        (np.float64(1), np.float64(2)),
        ({1}, {2}),
        (1j, 2j),
        (pathlib.Path("a"), pathlib.Path("b")),
        (Counter("a"), Counter("b")),
        (Asked("a"), Asked("b")),
        (int, str),
    ],
    ids=lambda value: type(value).__name__,
)
def test_attributes_of_every_class_that_can_be_compared_are_followed(one: Any, other: Any) -> None:
    first, second = (with_attributes(Text("a"), held=held) for held in (one, other))
    assert encode(argument(first)) != encode(argument(second))


@pytest.mark.parametrize(
    ("base", "one", "other"), [(str, "a", "b"), (int, 1, 2), (float, 1.5, 2.5), (tuple, (1,), (2,))]
)
def test_what_a_dataclass_is_below_is_part_of_it(base: type, one: Any, other: Any) -> None:
    said = {"__doc__": "Python 3.11.2, which Debian 12 has, cannot make one of its signature."}
    kind = make_dataclass("Below", [("unit", str)], bases=(base,), init=False, namespace=said)
    first, second = (with_attributes(kind(value), unit="m") for value in (one, other))
    assert encode(argument(first)) != encode(argument(second))


class Model(pydantic.BaseModel):
    a: int = 1


class Open(pydantic.BaseModel, extra="allow"):
    """A model that takes fields that it does not declare."""


class Space(types.SimpleNamespace):
    __slots__ = ("model",)

    @functools.cached_property
    def worked_out(self) -> int:
        return 1


@pytest.mark.parametrize("make", [Model, Open, Space])
@pytest.mark.parametrize("name", ["model", "_model"])
def test_what_an_object_is_given_that_its_class_does_not_declare_is_part_of_it(make: Any, name: str) -> None:
    one, other, without = make(), make(), make()
    for thing, held in ((one, "m"), (other, "n")):
        object.__setattr__(thing, name, held)
    assert len({encode(argument(thing)) for thing in (one, other, without)}) == 3


def test_what_is_worked_out_of_an_object_is_no_part_of_it() -> None:
    one, before = Space(a=1), encode(argument(Space(a=1)))
    assert one.worked_out == 1 and encode(argument(one)) == before


def test_items_that_are_attributes_too_are_written_once() -> None:
    assert encode(argument(Attributes(a="once"))).count(b"once") == 1


def test_the_order_of_different_keys_does_not_count() -> None:
    assert argument(QueryParams("a=1&b=2&a=3")) == argument(QueryParams("b=2&a=1&a=3"))


def test_an_attribute_that_is_no_data_is_not_followed() -> None:
    """As of a parsed page's strings, each of which leads to its neighbours, and so to the whole page."""
    one, other = Text("a"), Text("b")
    one.page, one.next, other.previous = object(), other, one  # type: ignore[attr-defined]
    assert argument(one) == argument(Text("a"))


@dataclass
class Leaf:
    name: str

    def __post_init__(self) -> None:
        self._tree = self._root = self


def test_what_leads_back_to_itself_by_two_ways_is_refused_at_once() -> None:
    with pytest.raises((NotKeyable, RecursionError)):
        argument(Leaf("a"))


@attrs.define
class Unset:
    question: str
    answer: str = attrs.field(init=False)


def test_a_field_that_was_never_set_is_no_part_of_a_value() -> None:
    assert argument(Unset("a")) == argument(Unset("a"))
    assert argument(Unset("a")) != argument(with_attributes(Unset("a"), answer="b"))
