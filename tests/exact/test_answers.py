"""Answers kept in process: what a caller does to an answer never changes the cache."""

from __future__ import annotations

import array
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import math
import pathlib
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachelayer.exact.answers import Freezer


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
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
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


@settings(max_examples=400, deadline=None)
@given(values)
def test_an_answer_comes_back_equal_and_of_the_same_classes(value: Any) -> None:
    assert same(FREEZER.freeze(value).answer(), value)


@settings(max_examples=300, deadline=None)
@given(values)
def test_spoiling_answers_and_the_original_changes_nothing(value: Any) -> None:
    kept = FREEZER.freeze(value)
    reference = copy.deepcopy(value)
    first, second = kept.answer(), kept.answer()
    assert not set(mutables(first)) & (set(mutables(second)) | set(mutables(value)))
    spoil(first)
    spoil(value)
    assert same(kept.answer(), reference)
    spoil(second)
    assert same(kept.answer(), reference)


@settings(max_examples=200, deadline=None)
@given(values)
def test_compiled_and_recursive_copies_agree(value: Any) -> None:
    frugal = Freezer(shapes=4)
    frugal.shapes._credit = 0
    assert same(frugal.freeze(value).answer(), Freezer().freeze(value).answer())
    assert len(frugal.shapes) == 0


@pytest.mark.parametrize(
    "value",
    [
        "text",
        b"bytes",
        7,
        1.5,
        True,
        None,
        Color.RED,
        Money(decimal.Decimal(1)),
        dt.datetime.now(dt.UTC),
        uuid.uuid4(),
        (1, ("a", None), frozenset({1})),
        Point(1, 2),
        pathlib.PurePosixPath("/a"),
        np.float32(1.5),
        range(3),
    ],
    ids=repr,
)
def test_fixed_values_come_back_as_they_are(value: Any) -> None:
    kept = FREEZER.freeze(value)
    assert kept.thaw is None and kept.value is value and kept.answer() is value


def test_a_frozen_dataclass_is_as_changeable_as_its_fields() -> None:
    bag, memo = Bag([1]), Memo(3)
    assert FREEZER.freeze(bag).answer() is not bag
    kept = FREEZER.freeze(memo)
    kept.answer().squares.append(99)
    assert kept.answer().squares == [0, 1, 4]


def test_equal_looking_keys_and_numbers_keep_their_classes() -> None:
    value: Any
    for value in (
        {1: [2]},
        {True: [2]},
        {1.0: [2]},
        {"1": [2]},
        {None: [2]},
        [1, [True], [1.0]],
        {"a": [], "b": ()},
    ):
        assert same(FREEZER.freeze(value).answer(), value)


def test_hostile_keys_are_data() -> None:
    value = {'"]}; raise SystemExit #': [1, {}], "\ud800\n\\'": {"{v0}": [[]]}, "ﬁ": [[]], "\x00": {}}
    assert same(FREEZER.freeze(value).answer(), value)


def test_one_object_in_two_places_becomes_two() -> None:
    inner = [1, {"a": 2}]
    answer = FREEZER.freeze({"x": inner, "y": inner}).answer()
    answer["x"][1]["a"] = 9
    assert answer["y"] == [1, {"a": 2}]


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_keep_dtype_shape_and_order(order: str) -> None:
    for dtype in (np.float32, np.int8, "<U5", "datetime64[s]", [("a", "i4"), ("b", "f8", 2)], ">f4"):
        value = np.zeros((3, 4), dtype, order=order)  # type: ignore[call-overload]
        for frozen in (FREEZER.freeze(value), FREEZER.freeze({"v": value})):
            answer = frozen.answer() if isinstance(frozen.answer(), np.ndarray) else frozen.answer()["v"]
            assert answer.dtype == value.dtype and answer.shape == value.shape
            assert answer.flags.c_contiguous == value.flags.c_contiguous
            assert not np.shares_memory(answer, value) and not np.shares_memory(answer, frozen.answer())


def test_containers_from_collections_keep_their_class_and_settings() -> None:
    value: dict[str, Any] = {
        "d": defaultdict(list, a=[1]),
        "c": Counter("aab"),
        "q": deque([[1], 2], maxlen=3),
        "o": OrderedDict(a=[]),
    }
    answer = FREEZER.freeze(value).answer()
    assert same(answer["d"], value["d"]) and answer["d"].default_factory is list
    assert answer["q"].maxlen == 3 and answer["c"].most_common(1) == [("a", 2)]
    answer["d"]["a"].append(2)
    answer["q"][0].append(2)
    assert value["d"]["a"] == [1] and value["q"][0] == [1]
    assert FREEZER.freeze(array.array("d", [1.5])).answer() == array.array("d", [1.5])


@settings(max_examples=300, deadline=None)
@given(values, values)
def test_meeting_a_shape_again_changes_nothing(value: Any, other: Any) -> None:
    freezer = Freezer()
    for _ in range(3):
        freezer.freeze(value)
    assert same(freezer.freeze(other).answer(), other)
    assert same(freezer.freeze(value).answer(), value)
