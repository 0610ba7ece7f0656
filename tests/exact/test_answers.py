"""Answers kept in process: what a caller does to an answer never changes the cache."""

from __future__ import annotations

import array
import asyncio
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import math
import pathlib
import socket
import threading
import tracemalloc
import types
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachelayer.exact.answers import Freezer, Frozen, NotKeepable
from cachelayer.types import Reason


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


class Odd(dict[str, int]):
    pass


class Tagged(OrderedDict[str, int]):
    pass


@dataclasses.dataclass
class OwnCopy:
    n: int

    def __deepcopy__(self, memo: dict[int, Any]) -> OwnCopy:
        return OwnCopy(self.n + 1)


@dataclasses.dataclass
class Failure(Exception):
    n: int


def generator() -> Iterator[int]:
    yield 1


async def coroutine() -> None: ...


class Label(str):
    """Has an instance dict, so it can change."""


def unkeepable() -> list[Any]:
    locked = {"a": [threading.Lock()]}
    return [
        generator(),
        iter([1]),
        threading.Lock(),
        socket.socket,
        math,
        math.sin,
        lambda: 0,
        object(),
        np.array([object()]),
        Odd(a=1),
        Tagged(a=1),
        OwnCopy(1),
        Failure(1),
        Label("x"),
        memoryview(b"x"),
        locked,
        {"a": generator()},
        [Node("n", extra=generator())],
        defaultdict(lambda: 0),
        types.SimpleNamespace(a=1),
        np.zeros(1, [("a", "i4")])[0],
        np.ma.masked_array([1], [True]),
    ]


@pytest.mark.parametrize("value", unkeepable(), ids=lambda v: type(v).__name__)
def test_what_cannot_be_copied_truthfully_is_not_kept(value: Any) -> None:
    with pytest.raises(NotKeepable) as caught:
        FREEZER.freeze(value)
    assert caught.value.reason is Reason.NOT_KEEPABLE and caught.value.detail


def test_live_things_are_not_kept(tmp_path: pathlib.Path) -> None:
    waiting = coroutine()
    loop = asyncio.new_event_loop()
    with open(tmp_path / "f", "w") as file, socket.socket() as sock:
        for value in (waiting, loop.create_future(), loop, file, sock):
            with pytest.raises(NotKeepable):
                FREEZER.freeze(value)
    loop.close()
    with pytest.raises(NotKeepable, match="only once"):
        FREEZER.freeze(waiting, share=True)
    waiting.close()


def test_share_hands_out_the_very_object_but_not_what_can_be_used_once() -> None:
    for value in ({"a": [1]}, threading.Lock(), object(), np.zeros(5)):
        kept = FREEZER.freeze(value, share=True)
        assert kept.thaw is None and kept.answer() is value and kept.nbytes > 0
    with pytest.raises(NotKeepable, match="only once"):
        FREEZER.freeze(generator(), share=True)


def test_share_weighs_a_cycle_once() -> None:
    loop: list[Any] = ["x" * 1000]
    loop.append(loop)
    assert 1000 < FREEZER.freeze(loop, share=True).nbytes < 2000


def cycles() -> list[Any]:
    a: list[Any] = []
    a.append(a)
    b: dict[str, Any] = {}
    b["b"] = [b, b]
    c = Node("c")
    c.children.append(c)
    d: list[Any] = [1]
    e = ({"d": d},)
    d.extend([e] * 20)
    f: deque[Any] = deque()
    f.append(f)
    g: list[Any] = []
    for _ in range(120):
        g = [g]
    frozen = Bag([])
    object.__setattr__(frozen, "things", frozen)
    return [a, b, c, d, f, g, frozen]


@pytest.mark.parametrize("value", cycles(), ids=lambda v: type(v).__name__)
def test_cycles_and_bottomless_nesting_are_not_kept(value: Any) -> None:
    with pytest.raises(NotKeepable):
        FREEZER.freeze(value)


def test_nesting_up_to_the_limit_is_kept() -> None:
    value: Any = []
    for i in range(90):
        value = [value] if i % 2 else {"a": value}
    assert same(FREEZER.freeze(value).answer(), value)


def test_oversize_stops_early() -> None:
    bomb: Any = []
    for _ in range(60):
        bomb = [bomb, bomb]  # 2**60 lists if walked to the end
    for value in (bomb, "x" * 2000, ["x" * 2000], [1.5] * 200, np.zeros(2000), [[i] for i in range(100)]):
        with pytest.raises(NotKeepable) as caught:
            FREEZER.freeze(value, limit=1000)
        assert caught.value.reason is Reason.OVERSIZE


def test_shapes_are_bounded_and_paid_for_by_use() -> None:
    freezer = Freezer(shapes=8)
    kept = [freezer.freeze({f"key{i}": [i, []]}) for i in range(100)]
    assert len(freezer.shapes) <= 8
    assert [frozen.answer() for frozen in kept] == [{f"key{i}": [i, []]} for i in range(100)]
    compiled = {
        id(frozen.thaw) for frozen in kept if frozen.thaw is not None and hasattr(frozen.thaw, "__code__")
    }
    assert len(compiled) < 40


def test_answers_of_one_shape_share_their_constructor() -> None:
    first, second = (FREEZER.freeze({"id": i, "choices": [{"text": "t" * i}]}) for i in (1, 2))
    assert first.thaw is second.thaw and second.answer() == {"id": 2, "choices": [{"text": "tt"}]}


class Key(enum.StrEnum):
    ID = "id"


def look_alikes() -> list[Any]:
    """The first, which is met often, and values that nearly have its shape."""
    node = Node("n", extra=1.5)
    node.surprise = []  # type: ignore[attr-defined]
    unset = Slotted("s", {})
    del unset.name
    return [
        {
            "id": 1,
            "choices": [{"text": "t", "tags": ["a", "b"]}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {
            Key.ID: 1,
            "choices": [{"text": "t", "tags": ["a"]}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {
            "id": 1,
            "choices": [{"text": "t", "tags": [["a"]]}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {
            "id": 1,
            "choices": [{"text": "t", "tags": []}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {
            "id": 1,
            "choices": [{"text": "t", "tags": ("a",)}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {
            "id": 1,
            "choices": [{"text": "t", "tags": {"a"}}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {
            "id": 1,
            "choices": [{"tags": ["a"], "text": "t"}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"b": 1.0}),
        },
        {
            "id": 1,
            "choices": ({"text": "t", "tags": ["a"]}, None),
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {
            "id": [1],
            "choices": [{"text": "t", "tags": ["a"]}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {"id": np.float64(1), "choices": [None, {"text": "t", "tags": ["a"]}], "node": node, "slot": unset},
        {"id": 1, "choices": [], "node": None, "slot": unset},
        {
            "id": 1,
            "choices": [{"label": "t", "tags": ["a"]}, None],
            "node": Node("n"),
            "slot": Slotted("s", {"a": 1.0}),
        },
        {
            "id": 1,
            "choices": [{"text": "t", "tags": ["a"]}, None],
            "node": Node("n", [Node("m")]),
            "slot": Slotted("s", {}),
        },
        {"id": 1, "choices": OrderedDict(a=1), "node": Bag([1]), "slot": {}},
    ]


@pytest.mark.parametrize("value", look_alikes(), ids=range(len(look_alikes())))
def test_a_value_that_nearly_has_a_known_shape_is_not_mistaken(value: Any) -> None:
    freezer = Freezer()
    for _ in range(3):
        freezer.freeze(look_alikes()[0])
    kept = freezer.freeze(value)
    first, second = kept.answer(), kept.answer()
    assert same(first, value) and hasattr(first["slot"], "name") == hasattr(value["slot"], "name")
    assert not set(mutables(first)) & (set(mutables(second)) | set(mutables(value)))


def test_a_known_shape_is_taken_apart_by_compiled_code_and_weighs_the_same() -> None:
    value, freezer = look_alikes()[0], Freezer()
    kept = [freezer.freeze(value) for _ in range(4)]
    assert freezer._recent.again(value) is not None
    assert len({frozen.nbytes for frozen in kept}) == 1 and all(same(f.answer(), value) for f in kept)
    value["choices"][0]["tags"].append("c")
    assert kept[3].answer()["choices"][0]["tags"] == ["a", "b"]


@settings(max_examples=300, deadline=None)
@given(values, values)
def test_meeting_a_shape_again_changes_nothing(value: Any, other: Any) -> None:
    freezer = Freezer()
    weights = [freezer.freeze(value).nbytes for _ in range(3)]
    assert len(set(weights)) == 1
    assert same(freezer.freeze(other).answer(), other)
    assert same(freezer.freeze(value).answer(), value)


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.text(min_size=2) | st.floats(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)))
def test_nbytes_counts_every_leaf(value: Any) -> None:
    held: Frozen = FREEZER.freeze(value)

    def floor(x: Any) -> int:
        if isinstance(x, dict):
            return sum(map(floor, x.values()))
        return sum(map(floor, x)) if isinstance(x, list) else x.__sizeof__()

    assert held.nbytes >= floor(value)


def test_nbytes_counts_every_number_of_a_vector() -> None:
    for vector in ([i + 0.5 for i in range(100)], [i + 0.5 if i % 2 else 10**9 + i for i in range(100)]):
        assert 100 * (8 + 24) <= FREEZER.freeze({"v": vector}).nbytes < 100 * (8 + 32) + 300


def test_the_weight_is_what_python_allocates() -> None:
    """nbytes is tracemalloc's truth within a twentieth, strings of 1 KiB aside or not."""
    makers: list[Any] = [
        lambda i: "x" * (1000 + i % 100),
        lambda i: {"id": f"c{i}", "choices": [{"index": 0, "message": {"text": f"{i}" * 250}}], "n": 300 + i},
        lambda i: [i + 0.5 + j for j in range(200)],
        lambda i: {f"word {j} of {i}": j + 0.5 for j in range(30)},
        lambda i: [{"id": f"{i}-{j}", "text": f"{i}" * 40} for j in range(12)],
        lambda i: np.zeros(300 + i % 9),
        lambda i: (f"{i}" * 300, i + 0.5),
    ]
    for make in makers:
        freezer = Freezer()
        for i in range(3):
            freezer.freeze(make(i))
        tracemalloc.start()
        kept = [freezer.freeze(make(10_000 + i)) for i in range(300)]
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 0.95 <= sum(frozen.nbytes for frozen in kept) / grown <= 1.3, make(0)


def test_many_threads_freeze_and_thaw() -> None:
    freezer, wrong = Freezer(shapes=4), []

    def work(seed: int) -> None:
        for i in range(300):
            value = {f"k{(seed + i) % 9}": [i, {"s": [seed]}]}
            if freezer.freeze(value).answer() != value:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(freezer.shapes) <= 4
