"""Classes of every kind that answers are made of, and a codec that lets them travel."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import Any, NamedTuple

import attrs
import pydantic

from cachelayer.exact.wire.codec import Codec


class Color(enum.Enum):
    RED = 1


class Mode(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Leaf:
    name: str
    when: dt.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Tree:
    leaves: list[Leaf]
    color: Color = Color.RED
    extra: Any = None


@attrs.define
class Attrs:
    leaf: Leaf
    n: int = 0


class Inner(pydantic.BaseModel):
    tree: Tree
    _secret: int = pydantic.PrivateAttr(default=3)


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    inner: Inner | None = None
    items: list[int] = []
    link: pydantic.HttpUrl | None = None


CODEC = Codec([Tree, Point, Attrs, Model, Mode])
