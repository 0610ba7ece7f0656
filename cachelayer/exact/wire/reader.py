"""Reads what `wire.Writer` wrote.

Objects are filled, not constructed: of the code of their classes only the constructors of URLs and of combined flags
run.
"""

from __future__ import annotations

import array
import datetime as dt
import enum
import struct
import uuid
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..answers.kinds import ATOMS, Kind, Plan, is_url, plain_base
from .writer import BY_TEXT, FACTORIES, LONGEST, UNSET, ForeignClass, Known, NewerSchema, name_of

_ALIKE = 64
"""Most members of one hash in a set or dictionary."""


class Reader:
    """One value on its way in. Raises KeyError, TypeError, ValueError and the like for nonsense."""

    def __init__(self, known: Known, classes: list[list[str]], blobs: memoryview) -> None:
        self.blobs, self._unread = blobs, len(blobs)
        self.plans = [self.plan(known, *entry) for entry in classes]

    def plan(self, known: Known, name: str, print_: str) -> Plan:
        allowed = known.get(name)
        if allowed is None:
            shown = ascii(name)[1:-1][:100]  # whatever whoever wrote it calls it: this is logged
            raise ForeignClass(f"{shown} is not on the allow-list; types=[...] on the layer lets it in")
        if allowed.fingerprint != print_:
            raise NewerSchema(f"{name} was written with other fields")
        return allowed.plan

    def read(self, value: Any) -> Any:
        """The value that `Writer.write` was given."""
        cls = type(value)
        if cls is list:
            return [self.read(x) if type(x) not in ATOMS else x for x in value]
        if cls is not dict:
            return value
        tag = value.get("$")
        if tag is None:
            return {key: self.read(x) if type(x) not in ATOMS else x for key, x in value.items()}
        return _READERS[tag[0]](self, *tag[1:])

    def items(self, pairs: list[Any]) -> list[tuple[Any, Any]]:
        items = [(self.read(key), self.read(x)) for key, x in pairs]
        _hashed([key for key, _ in items])
        return items

    def members(self, values: list[Any]) -> list[Any]:
        """What a set holds."""
        members = [self.read(x) for x in values]
        _hashed(members)
        return members

    def of(self, at: int, *kinds: int) -> Plan:
        """The class at that place, which is of one of these kinds: no other's constructor runs, no other is filled."""
        plan = self.plans[at]
        if plan.kind not in kinds:
            raise TypeError(f"no such value is of {name_of(plan.cls)}")
        return plan

    def blob(self, place: list[int]) -> memoryview:
        at, n = place
        if not 0 <= at <= at + n <= len(self.blobs):
            raise ValueError("a reference beyond the end")
        self._unread -= n
        if self._unread < 0:  # a few bytes of references would become any number of copies
            raise ValueError("more references than bytes")
        return self.blobs[at : at + n]

    def array(self, dtype: Any, shape: list[int], order: Any, place: list[int]) -> Any:
        flat: Any = np.frombuffer(self.blob(place), np.lib.format.descr_to_dtype(self.read(dtype)))
        return flat.reshape(shape, order=order).copy("K")

    def scalar(self, dtype: Any, place: list[int]) -> Any:
        return np.frombuffer(self.blob(place), np.lib.format.descr_to_dtype(self.read(dtype)))[0]

    def object(self, at: int, held: Any, slots: list[Any]) -> Any:
        plan = self.of(at, Kind.OBJECT)
        made = plan.new(plan.cls)
        if plan.set_dict is not None:
            plan.set_dict(made, self.read(held))
        for (_, _, setter), x in zip(plan.slots, slots, strict=True):
            if x != UNSET:
                setter(made, self.read(x))
        return made

    def named(self, at: int, values: list[Any]) -> Any:
        cls: Any = self.of(at, Kind.NAMED).cls
        if len(values) != len(cls._fields):
            raise NewerSchema(f"{name_of(cls)} was written with other fields")
        return tuple.__new__(cls, [self.read(x) for x in values])

    def valued(self, at: int, value: Any) -> Any:
        cls: Any = self.of(at, Kind.FIXED).cls
        if not (issubclass(cls, enum.Flag) or is_url(cls)):
            raise TypeError(f"{name_of(cls)} is not made by a call")
        return cls(self.read(value))

    def derived(self, at: int, value: Any) -> Any:
        base: Any = plain_base(cls := self.of(at, Kind.FIXED).cls)
        return base.__new__(cls, self.read(value))

    def member(self, at: int, name: str) -> Any:
        cls: Any = self.of(at, Kind.FIXED).cls
        return cls.__members__[name]

    def buffer(self, code: str, place: list[int]) -> Any:
        raw = bytes(self.blob(place))
        return array.array(code, raw) if code else bytearray(raw)

    def time(self, kind: str, *parts: Any) -> Any:
        match kind:
            case "date":
                return dt.date.fromisoformat(parts[0])
            case "delta":
                return dt.timedelta(*parts)
            case "zone":
                return _zone(parts[0])
            case _:
                cls = dt.datetime if kind == "datetime" else dt.time
                return cls.fromisoformat(parts[0]).replace(fold=parts[1], tzinfo=_zone(parts[2]))


def _hashed(members: list[Any]) -> None:
    """Raise ValueError where many have one hash, as numbers can be chosen to: each would be compared with each."""
    if len(members) > _ALIKE and max(Counter(map(hash, members)).values()) > _ALIKE:
        raise ValueError("too many members of one hash")


def _fraction(over: str, under: str) -> Fraction:
    if len(over) + len(under) > LONGEST:
        raise ValueError("a fraction too long to be reduced")
    return Fraction(int(over, 16), int(under, 16))


def _zone(given: Any) -> dt.tzinfo | None:
    if given is None or isinstance(given, str):
        return zoneinfo.ZoneInfo(given) if given else None
    *offset, name = given
    delta = dt.timedelta(*offset)
    if name is None:
        return dt.timezone(delta) if delta else dt.UTC
    return dt.timezone(delta, name)


_READERS: dict[str, Callable[..., Any]] = {
    "u": lambda r, place: bytes(r.blob(place)).decode("utf-8", "surrogatepass"),
    "i": lambda r, text: int(text, 16),
    "f": lambda r, text: struct.unpack("<d", bytes.fromhex(text))[0],
    "l": lambda r, place: np.frombuffer(r.blob(place), "<f8").tolist(),
    "d": lambda r, pairs: dict(r.items(pairs)),
    "t": lambda r, values: tuple(r.read(values)),
    "s": lambda r, values: set(r.members(values)),
    "z": lambda r, values: frozenset(r.members(values)),
    "b": lambda r, place: bytes(r.blob(place)),
    "c": lambda r, real, imag: complex(r.read(real), r.read(imag)),
    "x": lambda r, name, text: BY_TEXT[name](text),
    "F": lambda r, over, under: _fraction(over, under),
    "U": lambda r, text: uuid.UUID(hex=text),
    "r": lambda r, values: range(*r.read(values)),
    "a": Reader.buffer,
    "q": lambda r, most, values: deque(r.read(values), most),
    "O": lambda r, pairs: OrderedDict(r.items(pairs)),
    "C": lambda r, pairs: Counter(dict(r.items(pairs))),
    "D": lambda r, made, pairs: defaultdict(made and FACTORIES[made], r.items(pairs)),
    "n": Reader.named,
    "o": Reader.object,
    "e": Reader.member,
    "v": Reader.valued,
    "B": Reader.derived,
    "A": Reader.array,
    "N": Reader.scalar,
    "T": Reader.time,
}
