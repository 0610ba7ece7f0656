"""Answers kept in process: what a caller does to an answer never changes the cache."""

from __future__ import annotations

import array
import copy
import dataclasses
import datetime as dt
import decimal
import pathlib
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pydantic
import pytest
from answer_samples import FREEZER, Bag, Color, Memo, Money, Point, mutables, same, spoil, values
from hypothesis import given, settings

from cachelayer.exact.answers.copies import Copier
from cachelayer.exact.answers.freezer import Freezer
from cachelayer.exact.answers.frozen import NotKeepable
from cachelayer.exact.answers.kinds import Kinds
from cachelayer.exact.wire.codec import Codec


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


class Names(pydantic.RootModel[list[str]]):
    """As structured outputs are that are lists."""


class Fixed(Names):
    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Fixed:
        return self


@dataclasses.dataclass
class Usage:
    tokens: int
    details: dict[str, int]

    def __copy__(self) -> Usage:
        return Usage(self.tokens, dict(self.details))


def test_how_a_class_makes_shallow_copies_says_nothing_of_whole_ones() -> None:
    made = Usage(3, {"cached": 1})
    kept = FREEZER.freeze([made])
    made.details["cached"] = 9
    for _ in range(2):
        [usage] = kept.answer()
        assert usage == Usage(3, {"cached": 1}) and type(usage) is Usage
        usage.details.clear()


class Attributes(dict[str, Any]):
    """As DSPy's: items are attributes, too."""

    __getattr__ = dict.__getitem__


@dataclasses.dataclass
class Both(dict[str, Any]):
    """As the answers of Hugging Face's client: a dataclass, and a dict of the same."""

    said: list[str]
    usage: Attributes

    def __post_init__(self) -> None:
        self.update(said=[*self.said], usage=dict(self.usage))


def test_subclasses_of_dict_come_back_with_items_and_attributes_the_caller_s_own() -> None:
    def made() -> Both:
        return Both(["yes"], Attributes(tokens=3, cached=[1]))

    codec, copies = Codec([Both, Attributes]), Copier(Kinds())
    for _ in range(3):  # found anew, compiled, known
        kept = FREEZER.freeze(made())
        for answer in (kept.answer(), kept.answer(), copies.copy(made()), codec.decode(codec.encode(made()))):
            assert answer == made() and type(answer) is Both and type(answer.usage) is Attributes
            assert dict(answer) == {"said": ["yes"], "usage": {"tokens": 3, "cached": [1]}}
            assert answer.said == ["yes"] and answer.usage.cached == [1]
            for held in (answer.said, answer["said"], answer.usage):
                held.clear()


def test_a_root_model_is_copied_like_other_models_unless_it_says_how() -> None:
    made = Names(["a"])
    kept = FREEZER.freeze([made, pydantic.RootModel[int](3)])
    made.root.append("b")
    for _ in range(2):
        first, number = kept.answer()
        assert first == Names(["a"]) and first.model_fields_set == {"root"} and number.root == 3
        first.root.append("c")
    with pytest.raises(NotKeepable, match="defines how it is copied"):
        FREEZER.freeze(Fixed(["a"]))
