"""Classes as arguments, such as the form of an answer: what they declare tells them apart, not their name alone."""

from __future__ import annotations

import enum
import gc
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable
from dataclasses import field, make_dataclass
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypedDict, TypeVar, Union

import attrs
import msgspec
import pydantic
import pydantic.dataclasses
import pytest
from typing_extensions import TypeAliasType

from cachelayer.exact.keys.canonical import argument, encode


class Opaque:
    pass


class WithoutSchema(pydantic.BaseModel):
    model_config = {"arbitrary_types_allowed": True}
    held: Opaque


def typed(annotation: Any) -> type:
    return TypedDict("Answer", {"field": annotation})  # type: ignore[return-value,operator]


def documented(kind: Any, doc: str) -> Any:
    kind.__doc__ = doc
    return kind


def box(kind: Any) -> Any:
    return make_dataclass("Box", [("a", kind)], bases=(Generic[TypeVar("T")],))  # type: ignore[misc,name-defined]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (typed(int), typed(str)),
        (typed(list[typed(int)]), typed(list[typed(str)])),  # type: ignore[misc]
        (typed(Literal["a"]), typed(Literal["b"])),
        (typed(make_dataclass("In", [("a", int)])), typed(make_dataclass("In", [("b", int)]))),
        (documented(typed(str), "In one word."), documented(typed(str), "In two words.")),
        (documented(enum.Enum("A", "X"), "As it is."), documented(enum.Enum("A", "X"), "As it was.")),
        (make_dataclass("A", [("a", int)]), make_dataclass("A", [("a", str)])),
        (make_dataclass("A", [("a", int, 1)]), make_dataclass("A", [("a", int, 2)])),
        (attrs.make_class("A", ["a"]), attrs.make_class("A", ["b"])),
        (msgspec.defstruct("A", [("a", int)]), msgspec.defstruct("A", [("a", str)])),
        (NamedTuple("A", [("a", int)]), NamedTuple("A", [("a", str)])),
        (enum.Enum("A", "X Y"), enum.Enum("A", "X Z")),
        (enum.Enum("A", {"X": "low"}), enum.Enum("A", {"X": "high"})),
        (typed(list[int]), typed(set[int])),
        (typed(Annotated[int, "metres"]), typed(Annotated[int, "feet"])),
        (typed(box(int)[str]), typed(box(float)[str])),
        (typed(NewType("Id", int)), typed(NewType("Id", str))),
        (typed(TypeAliasType("Word", Literal["a"])), typed(TypeAliasType("Word", Literal["b"]))),
        (pydantic.create_model("A", a=int), pydantic.create_model("A", a=str)),
        (int, str),
    ],
    ids=lambda kind: kind.__name__,
)
def test_what_classes_declare_tells_them_apart(one: type, other: type) -> None:
    assert encode(argument(one)) != encode(argument(other))


def dataclass_of(*given: Any) -> type:
    return make_dataclass("A", [("a", int, *given)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (dataclass_of(), dataclass_of(1)),
        (dataclass_of(1), dataclass_of(2)),
        (dataclass_of(field(metadata={"unit": "m"})), dataclass_of(field(metadata={"unit": "ft"}))),
        *[
            tuple(pydantic.dataclasses.dataclass(dataclass_of(pydantic.Field(description=d))) for d in pair)
            for pair in [("in metres", "in feet")]
        ],
        (TypedDict("A", {"a": int}), TypedDict("A", {"a": int}, total=False)),
        (namedtuple("A", "a"), namedtuple("A", "b")),
        (namedtuple("A", "a", defaults=[1]), namedtuple("A", "a", defaults=[2])),
        tuple(
            pydantic.create_model("A", __config__={"extra": extra}, a=int) for extra in ("forbid", "ignore")
        ),
        tuple(pydantic.create_model("A", __base__=WithoutSchema, a=(int, given)) for given in (1, 2)),
        (
            attrs.make_class("A", {"a": attrs.field(default=1)}),
            attrs.make_class("A", {"a": attrs.field(default=2)}),
        ),
        (msgspec.defstruct("A", [("a", int, 1)]), msgspec.defstruct("A", [("a", int, 2)])),
        (msgspec.defstruct("A", ["a_b"], rename="camel"), msgspec.defstruct("A", ["a_b"], rename="kebab")),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_what_fields_say_besides_their_annotations_tells_classes_apart(one: Any, other: Any) -> None:
    """Whether an answer has to have a field, and what for: a docstring, if there is one, says none of it."""
    one.__doc__ = other.__doc__ = "An answer."
    assert encode(argument(one)) != encode(argument(other))


@pytest.mark.parametrize(
    "make",
    [
        lambda: typed(list[int] | None),
        lambda: dataclass_of(field(default_factory=lambda: 1)),
        lambda: typed(Annotated[int, Opaque()]),
        lambda: make_dataclass("A", [("a", "Missing")]),
        lambda: enum.Enum("A", "X Y"),
        lambda: pydantic.create_model("A", a=int),
    ],
)
def test_classes_that_are_made_twice_alike_are_the_same(make: Callable[[], type]) -> None:
    assert encode(argument(make())) == encode(argument(make()))


@pytest.mark.parametrize(
    "form",
    [
        lambda kind: list[kind],
        lambda kind: Iterable[kind],
        lambda kind: dict[str, list[kind]],
        lambda kind: kind | None,
        lambda kind: Annotated[kind, "as short as can be"],
        lambda kind: Callable[[kind], str],
    ],
)
def test_a_form_made_of_classes_is_told_apart_by_what_they_declare(form: Callable[[Any], Any]) -> None:
    one, again, other = (form(pydantic.create_model("A", a=kind)) for kind in (int, int, str))
    assert encode(argument(one)) == encode(argument(again)) != encode(argument(other))


def test_forms_are_told_apart_by_what_they_make_of_their_classes() -> None:
    forms = [int, list[int], set[int], tuple[int], tuple[int, int], Iterable[int], int | None, int | str]
    forms += [Literal["int"], Literal["int", "str"], Literal[1], Literal[True]]
    forms += [Annotated[int, "a"], Annotated[int, "b"]]
    assert len({encode(argument(form)) for form in forms}) == len(forms)


def test_forms_that_are_equal_are_one_however_they_are_written() -> None:
    for one, other in ((int | None, Optional[int]), (int | str, Union[int, str])):  # noqa: UP007, UP045
        assert encode(argument(one)) == encode(argument(other))
    assert encode(argument(typed(int | None))) == encode(argument(typed(Optional[int])))  # noqa: UP045


def test_classes_that_are_made_of_each_other_are_each_told_once() -> None:
    """As those of a syntax tree. Eight took ten seconds, and each one more ten times as long."""
    forms = [make_dataclass(f"Form{n}", [("of", Any)]) for n in range(8)]
    for form in forms:
        form.__annotations__ = {"of": list[Union[*forms]]}
    told = [encode(argument(form)) for form in forms]
    assert len(set(told)) == len(forms) and max(map(len, told)) < 10_000


def test_a_name_that_stands_for_something_made_of_itself_is_told_once() -> None:
    tree = NewType("Json", int)
    tree.__supertype__ = list[tree]  # as `type Json = list[Json]` does
    assert encode(argument(typed(tree))).count(b"Json") == 2


def test_a_model_that_has_no_schema_is_known_by_its_fields() -> None:
    assert b"held" in encode(argument(WithoutSchema))


def test_a_model_that_is_complete_later_is_another_then() -> None:
    class Outer(pydantic.BaseModel):
        inner: Inner

    before = encode(argument(Outer))

    class Inner(pydantic.BaseModel):
        a: int

    Outer.model_rebuild(_types_namespace={"Inner": Inner})
    assert encode(argument(Outer)) != before


def test_a_class_is_let_go() -> None:
    kind = make_dataclass("A", [("a", int)])
    argument(kind)
    gone = weakref.ref(kind)
    del kind
    gc.collect()
    assert gone() is None
