"""Values of every kind that answers are made of, and how tests compare and spoil them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import functools
import math
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from cachelayer.exact.answers.freezer import Freezer


class Color(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Money:
    amount: decimal.Decimal
    currency: str = "EUR"


@dataclasses.dataclass(frozen=True)
class Bag:
    things: list[Any]


@dataclasses.dataclass
class Node:
    name: str
    children: list[Node] = dataclasses.field(default_factory=list)
    extra: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    name: str
    labels: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Memo:
    n: int

    @functools.cached_property
    def squares(self) -> list[int]:
        return [i * i for i in range(self.n)]


def same(a: Any, b: Any) -> Any:
    """Equal, of the same classes everywhere, in the same order, nan and -0.0 told apart from others."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return math.copysign(1, a) == math.copysign(1, b) and (a == b or (math.isnan(a) and math.isnan(b)))
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(k, q) and same(x, y) for (k, x), (q, y) in zip(a.items(), b.items(), strict=True)
        )
    if isinstance(a, list | tuple | deque):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dt.datetime | dt.time):
        return a == b and a.fold == b.fold and repr(a.tzinfo) == repr(b.tzinfo)
    if isinstance(a, decimal.Decimal):
        return str(a) == str(b)
    if dataclasses.is_dataclass(a):
        fields = all(same(getattr(a, f.name, None), getattr(b, f.name, None)) for f in dataclasses.fields(a))
        return fields and same(getattr(a, "__dict__", None), getattr(b, "__dict__", None))
    return a == b


def mutables(value: Any) -> Iterator[int]:
    """Identities of everything in `value` that a caller could change."""
    if isinstance(value, dict | list | set | bytearray | deque | np.ndarray | Node | Slotted | Bag):
        yield id(value)
    if isinstance(value, dict):
        for x in value.values():
            yield from mutables(x)
    elif isinstance(value, list | tuple | deque):
        for x in value:
            yield from mutables(x)
    elif dataclasses.is_dataclass(value):
        for f in dataclasses.fields(value):
            yield from mutables(getattr(value, f.name, None))


def spoil(value: Any) -> None:
    """Do to an answer the worst that a caller can."""
    if isinstance(value, dict):
        for x in list(value.values()):
            spoil(x)
        value.clear()
    elif isinstance(value, list | deque):
        for x in list(value):
            spoil(x)
        value.clear()
    elif isinstance(value, tuple):
        for x in value:
            spoil(x)
    elif isinstance(value, set | bytearray):
        value.clear()
    elif isinstance(value, np.ndarray):
        value[...] = 0
    elif isinstance(value, Node | Slotted):
        for f in dataclasses.fields(value):
            spoil(getattr(value, f.name))
            setattr(value, f.name, None)
    elif isinstance(value, Bag):
        spoil(value.things)


finite_keys = st.one_of(
    st.text(max_size=4),
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False),
    st.binary(max_size=3),
)
atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**70),
    st.floats(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(),
    st.uuids(),
    st.just(Color.RED),
    st.just(Money(decimal.Decimal("1.10"))),
    st.tuples(st.text(), st.integers()),
    st.frozensets(st.integers()),
)
leaves = st.one_of(
    atoms,
    st.sets(st.integers() | st.text()),
    st.binary().map(bytearray),
    st.lists(st.floats(), max_size=40),
    st.lists(st.floats(width=32), max_size=9).map(lambda x: np.array(x, np.float32)),
    st.dictionaries(st.text(), st.integers(), max_size=40),
)


def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=12),
        st.dictionaries(st.text(max_size=6), inner, max_size=6),
        st.dictionaries(st.integers(0, 99), inner, min_size=20, max_size=40),
        st.dictionaries(finite_keys, inner, max_size=4),
        st.tuples(inner, inner),
        st.builds(Point, inner, inner),
        st.builds(Node, st.text(), extra=inner),
        st.builds(Slotted, st.text(), st.dictionaries(st.text(), st.floats(), max_size=3)),
        st.builds(Bag, st.lists(inner, max_size=3)),
        st.lists(inner, max_size=4).map(deque),
        st.dictionaries(st.text(), inner, max_size=3).map(OrderedDict),
    )


values = st.recursive(leaves, wider, max_leaves=25)
FREEZER = Freezer()
