"""Which classes may leave the process, and where the list comes from."""

from __future__ import annotations

import collections
import datetime as dt
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, ClassVar, Generic, Literal, NewType, Optional, TypedDict, TypeVar

import numpy as np
import pydantic
import pytest
from codec_samples import CODEC, Attrs, Color, Inner, Leaf, Mode, Model, Point, Tree
from openai.types.chat import ChatCompletion

from cachelayer.errors import ConfigurationError
from cachelayer.exact.wire.codec import Codec, ForeignClass, types_from
from cachelayer.types import Reason


class Foreign(pydantic.BaseModel):
    n: int = 1


def test_a_class_off_the_list_stays_and_the_message_names_it_and_the_remedy() -> None:
    for value in (Foreign(), [Foreign()], {"a": (Foreign(),)}):
        with pytest.raises(ForeignClass, match=r"Foreign.*types=\[Foreign\]") as caught:
            CODEC.encode(value)
        assert caught.value.reason is Reason.FOREIGN_CLASS
    with pytest.raises(ForeignClass, match="Foreign is not on the allow-list"):
        CODEC.decode(Codec([Foreign]).encode(Foreign()))
    CODEC_2 = Codec()
    CODEC_2.allow([Foreign])
    assert CODEC_2.decode(CODEC_2.encode(Foreign(n=2))) == Foreign(n=2)


class Opaque:
    pass


@pytest.mark.parametrize(
    "value",
    [
        Opaque(),
        lambda: 0,
        iter([]),
        np.array([object()]),
        collections.defaultdict(lambda: 0),
        dt.datetime(2026, 1, 1, tzinfo=type("Z", (dt.tzinfo,), {})()),
        sys,
        Opaque,
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_cannot_travel_says_so(value: Any) -> None:
    with pytest.raises(ForeignClass):
        CODEC.encode(value)


def test_cycles_and_bottomless_nesting_do_not_leave() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises(ForeignClass):
        CODEC.encode(cycle)


@pytest.mark.parametrize("given", [Annotated[Foreign | Leaf, "of events"], Optional[Foreign], list[Foreign]])  # noqa: UP045
def test_a_union_as_clients_have_for_events_lets_its_classes_leave(given: Any) -> None:
    codec = Codec([given])
    assert codec.decode(codec.encode([Foreign(n=2)])) == [Foreign(n=2)]


@pytest.mark.parametrize("cls", [Opaque, dict, 3, "Model", type(lambda: 0), int | None, list[str]])
def test_a_class_that_cannot_travel_is_a_configuration_fault(cls: Any) -> None:
    with pytest.raises(ConfigurationError, match="types"):
        Codec([cls])


T = TypeVar("T", bound=Leaf)
Id = NewType("Id", Point)


class Generic_(pydantic.BaseModel, Generic[T]):
    value: T


class Typed(TypedDict):
    tree: Tree


class Recursive(pydantic.BaseModel):
    next: Recursive | None = None
    mode: Mode = Mode.READ


def test_types_come_from_annotations() -> None:
    leaf, tree = {Leaf}, {Tree, Leaf, Color}
    assert (
        types_from(str)
        == types_from(None)
        == types_from(Any)
        == types_from(list[dict[str, int]])
        == frozenset()
    )
    assert types_from("Unresolvable") == frozenset()
    assert types_from(Optional[Leaf]) == types_from(Leaf | None) == types_from(list[Leaf]) == leaf  # noqa: UP045
    assert types_from(Iterator[Tree]) == types_from(AsyncIterator[dict[str, Tree]]) == tree
    assert types_from(Annotated[Tree, "note"]) == types_from(Typed) == tree
    assert types_from(Literal[Color.RED]) == {Color}
    assert types_from(ClassVar[Leaf]) == frozenset()
    assert types_from(T) == leaf and types_from(Id) == {Point}
    assert types_from(Recursive) == {Recursive, Mode}
    assert types_from(Model) == {Model, Inner, Tree, Leaf, Color, pydantic.HttpUrl}
    assert types_from(Attrs) == {Attrs, Leaf}
    assert Leaf in types_from(Generic_[Leaf])
    assert len(types_from(ChatCompletion)) > 5


@pytest.mark.parametrize(
    "told", ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00+05:30", "2026-07-01T12:00:00.5-08:00"]
)
def test_times_that_pydantic_read_come_back_equal(told: str) -> None:
    """Messages of pydantic-ai hold one each: none of its runs left the process."""
    when = pydantic.TypeAdapter(dt.datetime).validate_python(told)
    back = CODEC.decode(CODEC.encode(when))
    assert back == when and str(back) == str(when) and back.tzname() == when.tzname()
    assert back.tzinfo == when.tzinfo and back.utcoffset() == when.utcoffset()
