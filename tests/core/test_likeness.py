"""Arguments that look alike and are not: each has an answer of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, Field

from cachelayer import CacheLayer, Source


class Cat(BaseModel):
    name: str


class Dog(BaseModel):
    name: str


class Owner(BaseModel):
    pet: Cat | Dog
    user_id: str = Field(default="", exclude=True)


class Open(BaseModel, extra="allow"):
    name: str


class Distances(np.ndarray):
    unit: str

    @classmethod
    def of(cls, unit: str) -> Distances:
        made = np.array([1.0, 2.0]).view(cls)
        made.unit = unit
        return made


FEW = np.dtype([("a", "<i4"), ("b", "<i4")])
OTHERS = np.dtype([("x", "<i4"), ("y", "<i4")])
PAIRS = [
    (Owner(pet=Cat(name="Tom"), user_id="a"), Owner(pet=Cat(name="Tom"), user_id="b")),
    (Owner(pet=Cat(name="Tom")), Owner(pet=Dog(name="Tom"))),
    (Open(name="Tom"), Open(name="Tom", age=3)),
    (np.array([(1, 2)], FEW), np.array([(1, 2)], OTHERS)),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    (Distances.of("m"), Distances.of("km")),
    (np.timedelta64(5, "M"), np.timedelta64(5, "Y")),
    (np.timedelta64(5, "ns"), 5),
    (np.datetime64("2020"), np.datetime64("2020-01-01")),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_what_differs_in_anything_has_another_answer(one: Any, other: Any) -> None:
    asked: list[Any] = []

    @CacheLayer(semantic=False).cached
    def ask(value: Any) -> int:
        asked.append(value)
        return len(asked)

    ask("what can be compared")  # a first call that cannot would say so
    assert ask(one) != ask(other)


def test_a_keyword_is_not_the_positional_parameter_of_its_name() -> None:
    @CacheLayer(semantic=False).cached
    def log(message: str, /, *rest: int, **fields: Any) -> tuple[str, tuple[int, ...], dict[str, Any]]:
        return message, rest, fields

    assert log("a", message="b") == ("a", (), {"message": "b"})
    assert log("c", message="b") == ("c", (), {"message": "b"})
    assert log("a", 1) == ("a", (1,), {})
    assert log("a", **{"*rest": [1]}) == ("a", (), {"*rest": [1]})


def test_a_call_that_names_a_parameter_twice_is_refused_as_ever() -> None:
    @CacheLayer(semantic=False).cached
    def ask(question: str) -> str:
        return question

    ask("a")
    with pytest.raises(TypeError, match="multiple values"):
        ask("b", question="a")  # type: ignore[misc]


@dataclass
class Settings:
    style: str


def test_a_default_that_changes_makes_another_request() -> None:
    shown = Settings("plain")

    @CacheLayer(semantic=False).cached
    def ask(question: str, settings: Settings = shown, *, more: Any = ()) -> str:
        return settings.style

    for _ in range(3):
        assert ask("a") == "plain"
    shown.style = "bold"
    assert ask("a") == "bold" and ask.outcome("a").source is Source.MEMORY
