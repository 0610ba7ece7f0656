"""Compiled shapes: bounded, paid for by use, never mistaken for one another; and weights that are true."""

from __future__ import annotations

import dataclasses
import enum
import threading
import tracemalloc
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from answer_samples import Bag, Node, Slotted
from hypothesis import given, settings
from hypothesis import strategies as st

from cachelayer.exact.answers.freezer import Freezer
from cachelayer.exact.answers.frozen import Frozen

FREEZER = Freezer()


def form(value: Any) -> Any:
    """Classes and contents, all the way down."""
    if isinstance(value, dict):
        return dict, type(value), [(form(key), form(x)) for key, x in value.items()]
    if isinstance(value, list | tuple | set):
        return type(value), [form(x) for x in value]
    if dataclasses.is_dataclass(value):
        held = {
            f.name: form(getattr(value, f.name)) for f in dataclasses.fields(value) if hasattr(value, f.name)
        }
        return type(value), held, form(getattr(value, "__dict__", None))
    return type(value), repr(value)


def test_shapes_are_bounded_and_paid_for_by_use() -> None:
    freezer = Freezer(shapes=8)
    kept = [freezer.freeze({f"key{i}": [i, []]}) for i in range(100)]
    assert len(freezer.shapes) <= 8
    assert [frozen.answer() for frozen in kept] == [{f"key{i}": [i, []]} for i in range(100)]
    compiled = {
        id(frozen.thaw) for frozen in kept if frozen.thaw is not None and hasattr(frozen.thaw, "__code__")
    }
    assert len(compiled) < 40


def test_one_answer_of_many_shapes_compiles_few() -> None:
    freezer, value = Freezer(), [{f"key{i}": i, "x": {f"part{i}": [1, {}]}} for i in range(40)]
    known = []
    for _ in range(4):
        assert freezer.freeze(value).answer() == value
        known.append(len(freezer.shapes))
    assert known[0] == 2 and known == sorted(known) and known[-1] < 10


def test_the_first_of_many_like_rows_is_compiled_at_once() -> None:
    kept = Freezer().freeze([{"id": i, "metadata": {"page": i}} for i in range(50)])
    assert len({id(thaw) for _, thaw in kept.value}) == 1 and kept.answer()[49] == {
        "id": 49,
        "metadata": {"page": 49},
    }


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
    expected = form(value)
    for spoiled in (kept.answer(), value, kept.answer()):
        assert form(spoiled) == expected
        for part in [x for choice in spoiled["choices"] if isinstance(choice, dict) for x in choice.values()]:
            if isinstance(part, list | set):
                part.clear()
        spoiled["slot"] = None
        spoiled["choices"] = None
    assert form(kept.answer()) == expected


def test_a_known_shape_is_taken_apart_by_compiled_code_and_weighs_the_same() -> None:
    value, freezer = look_alikes()[0], Freezer()
    kept = [freezer.freeze(value) for _ in range(4)]
    assert freezer._recent.again(value) is not None
    assert len({frozen.nbytes for frozen in kept}) == 1 and all(form(f.answer()) == form(value) for f in kept)
    value["choices"][0]["tags"].append("c")
    assert kept[3].answer()["choices"][0]["tags"] == ["a", "b"]


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
