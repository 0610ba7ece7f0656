"""Values that differ in what an answer may show have keys of their own; what is worked out of them does not."""

from __future__ import annotations

import array
import datetime
import functools
import pathlib
import threading
from collections import OrderedDict
from dataclasses import InitVar, dataclass
from typing import Any
from zoneinfo import ZoneInfo

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
    ],
    ids=repr,
)
def test_what_differs_is_told_apart(one: Any, other: Any) -> None:
    assert encode(argument(one)) != encode(argument(other))


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
