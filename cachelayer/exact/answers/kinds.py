"""What kind of values a class has: immutable ones, containers that can be copied faithfully, or neither."""

from __future__ import annotations

import array
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import ipaddress
import pathlib
import re
import sys
import types
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

ATOMS: frozenset[type] = frozenset({str, int, float, bool, types.NoneType, bytes, complex})
"""Exact classes whose values never change; nine answers in ten are made of these, dicts and lists."""

_FIXED = (
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    zoneinfo.ZoneInfo,
    decimal.Decimal,
    fractions.Fraction,
    uuid.UUID,
    range,
    types.EllipsisType,
    types.NotImplementedType,
    re.Pattern,
    np.dtype,
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
    pathlib.PosixPath,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
)
_PLAIN_BASES = (str, bytes, int, float, complex)
ONCE = ("__next__", "__anext__", "__await__")
"""What gives away a value that the first reader uses up."""
FIELDS_SET = "__pydantic_fields_set__"


class Kind:
    """How a value of a class is kept. Plain numbers: this is read for every node of an answer."""

    FIXED = 0
    DICT = 1
    LIST = 2
    TUPLE = 3
    NAMED = 4
    """A named tuple."""
    SET = 5
    FROZENSET = 6
    BUFFER = 7
    """bytearray and array.array: copied by slicing."""
    ARRAY = 8
    """numpy.ndarray."""
    MAPPING = 9
    """OrderedDict, defaultdict, Counter."""
    DEQUE = 10
    OBJECT = 11
    """A dataclass, attrs class, pydantic model or subclass of dict of plain layout: an instance dict and slots."""
    REFUSED = 12


Slot = tuple[str, Callable[[Any], Any], Callable[[Any, Any], None]]
_HOPEFUL = frozenset({Kind.FIXED, Kind.TUPLE, Kind.NAMED, Kind.FROZENSET})


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A class, its kind, and for objects how their state is read and set."""

    kind: int
    cls: type
    frozen: bool = False
    """A frozen dataclass without cached properties: fixed where its fields are."""
    pydantic: bool = False
    set_dict: Callable[[Any, dict[str, Any]], None] | None = None
    slots: tuple[Slot, ...] = ()
    """(name, getter, setter) of every slot; the items of a subclass of dict are one, too."""
    new: Callable[[type], Any] = object.__new__
    why: str = ""
    once: bool = False
    """Whether the first reader uses up a value, or may: it is not shared, either."""
    hopeful: bool = field(init=False, default=False)
    """Whether a value may turn out fixed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hopeful", self.frozen or self.kind in _HOPEFUL)

    def state(self, value: Any) -> Iterator[tuple[str, Any]]:
        """(name, value) of each slot that is set."""
        for name, getter, _ in self.slots:
            try:
                yield name, getter(value)
            except AttributeError:  # a slot never assigned
                continue

    def values(self, value: Any) -> Iterator[Any]:
        """All values in the instance dict and the slots."""
        if self.set_dict is not None:
            yield from value.__dict__.values()
        for _, held in self.state(value):
            yield held


class Kinds(dict[type, Plan]):
    """Class -> Plan, worked out at first sight. Bounded: forgets all when it holds CAPACITY classes."""

    CAPACITY: Final = 4096

    def __missing__(self, cls: type) -> Plan:
        if len(self) >= self.CAPACITY:
            self.clear()
        plan = self[cls] = classify(cls)
        return plan


_EXACT: dict[type, int] = {
    **dict.fromkeys((*ATOMS, *_FIXED), Kind.FIXED),
    dict: Kind.DICT,
    list: Kind.LIST,
    tuple: Kind.TUPLE,
    set: Kind.SET,
    frozenset: Kind.FROZENSET,
    bytearray: Kind.BUFFER,
    array.array: Kind.BUFFER,
    np.ndarray: Kind.ARRAY,
    OrderedDict: Kind.MAPPING,
    defaultdict: Kind.MAPPING,
    Counter: Kind.MAPPING,
    deque: Kind.DEQUE,
}


def classify(cls: type) -> Plan:
    """The plan for a class; `Kind.REFUSED` with the reason where its values cannot be copied truthfully."""
    exact = _EXACT.get(cls)
    if exact is not None:
        return Plan(exact, cls)
    if issubclass(cls, enum.Enum | np.dtype) or is_url(cls):
        return Plan(Kind.FIXED, cls)
    if issubclass(cls, np.generic) and not issubclass(cls, np.void | np.object_):
        return Plan(Kind.FIXED, cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields") and not cls.__dictoffset__:
        return Plan(Kind.NAMED, cls)
    return _object(cls) if plain_base(cls) is None else Plan(Kind.FIXED, cls)


def is_url(kind: type) -> bool:
    """Whether this is one of pydantic's URL classes; their values never change."""
    return issubclass(kind, named("pydantic.networks", "_BaseUrl") or named("pydantic.networks", "AnyUrl"))


def named(module: str, name: str) -> tuple[type, ...]:
    """A class of a module that may not be loaded, as isinstance takes it: a module that is not has no objects."""
    found = getattr(sys.modules.get(module), name, None)
    return () if found is None else (found,)


def plain_base(cls: type) -> type | None:
    """str, bytes, int, float or complex where `cls` is a class of their values that adds no state."""
    if cls in _EXACT or issubclass(cls, enum.Enum | np.generic):
        return None
    for base in _PLAIN_BASES:
        if issubclass(cls, base) and not cls.__dictoffset__ and cls.__basicsize__ == base.__basicsize__:
            return base
    return None


def pydantic_base() -> type | None:
    """pydantic's BaseModel where the process has loaded it; it is never imported here."""
    return getattr(sys.modules.get("pydantic.main"), "BaseModel", None)


def instead(cls: type, *, once: bool) -> str:
    """What to return in place of what cannot be kept: because it can be read only `once`, or for another reason."""
    if hasattr(cls, "__await__"):
        return "make the function async, await it there and return the result"
    if once and hasattr(cls, "parse"):
        return "return what its parse() returns"
    if once and hasattr(cls, "read"):
        return "return what it reads"
    if once and not hasattr(cls, "__iter__"):
        return "return a list of what it yields, or make the function async"
    if once:
        return "return a list of what it yields, or cache a generator that yields it"
    if not hasattr(cls, "close") and any(hasattr(cls, name) for name in ("__enter__", "__aenter__")):
        return "cache what is called inside it, since each caller enters its own"
    if like_array(cls):
        return "return what numpy.asarray makes of it, or set share=True"
    return "return a plain value, or set share=True"


def like_array(cls: type | None) -> bool:
    """Whether numpy reads values of a class, none of its own, as arrays: tensors, columns, pictures."""
    own = cls is not None and issubclass(cls, np.ndarray)
    return not own and any(hasattr(cls, name) for name in ("__array__", "__array_interface__"))


def _streams(cls: type) -> bool:
    """Whether a class looks like a stream on one connection for all readers (botocore's); responses have content."""
    lasts = any(hasattr(cls, name) for name in ("__len__", "__contains__", "content"))
    iterates = any(hasattr(cls, name) for name in ("__iter__", "__aiter__"))
    return iterates and hasattr(cls, "close") and not lasts


def _object(cls: type) -> Plan:
    model = pydantic_base()
    pydantic = model is not None and issubclass(cls, model)
    if once := [name for name in ONCE if hasattr(cls, name)]:
        return Plan(Kind.REFUSED, cls, why=f"can be read only once ({once[0]})", once=True)
    new: Callable[[type], Any] = dict.__new__ if issubclass(cls, dict) else object.__new__
    fields = pydantic or dataclasses.is_dataclass(cls) or hasattr(cls, "__attrs_attrs__")
    if not (fields or new is dict.__new__):
        raw = hasattr(cls, "parse") and hasattr(cls, "http_request")
        if raw:  # of with_raw_response of openai's client and its like
            why = "hides the answer, which may be refused, cut short or a stream"
            return Plan(Kind.REFUSED, cls, why=why, once=True)
        if _streams(cls):
            return Plan(Kind.REFUSED, cls, why="can be read only once (it has a close)", once=True)
        return Plan(Kind.REFUSED, cls, why="is not a class that can be copied faithfully")
    plain: Any = object
    if pydantic:  # a model whose root is a list, say, is copied as others are, by methods of its own
        root = getattr(sys.modules.get("pydantic.root_model"), "RootModel", None)
        plain = root if root is not None and issubclass(cls, root) else model
    for name in ("__deepcopy__", "__reduce__", "__reduce_ex__"):
        if getattr(cls, name, None) is not getattr(plain, name, None):
            return Plan(Kind.REFUSED, cls, why=f"defines how it is copied ({name})")
    try:
        new(cls)
    except TypeError:
        return Plan(Kind.REFUSED, cls, why="keeps state outside its fields")
    members: list[Slot] = [
        (name, member.__get__, member.__set__)
        for base in cls.__mro__
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    ]
    if new is dict.__new__:
        members.append(("[]", dict.copy, dict.update))
    holder = next((vars(base)["__dict__"] for base in cls.__mro__ if "__dict__" in vars(base)), None)
    members_of_all = [member for base in cls.__mro__ for member in vars(base).values()]
    cached = any(isinstance(member, functools.cached_property) for member in members_of_all)
    return Plan(
        Kind.OBJECT,
        cls,
        frozen=getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
        and not (pydantic or cached or new is dict.__new__),
        pydantic=pydantic,
        set_dict=None if holder is None else holder.__set__,
        slots=tuple(members),
        new=new,
    )
