"""Values as JSON, with tags for what JSON does not have.

JSON's own values stand for themselves. Everything else is `{"$": [tag, ...]}`; an object that has the key "$" is
tagged too. Bytes and arrays lie beside the JSON as raw bytes, referred to by offset and length. Classes are
referred to by their place in a list of (name, fingerprint).
"""

from __future__ import annotations

import array
import datetime as dt
import enum
import ipaddress
import math
import pathlib
import struct
import uuid
import zoneinfo
from collections import Counter, defaultdict
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import CacheLayerError
from ...types import Reason
from ..answers.kinds import Kind, Kinds, Plan, is_url, plain_base
from .hints import fingerprint

MAX_DEPTH = 100
UNSET = {"$": ["-"]}
_FLOATS = {float}
LONGEST = 8192
"""Hexadecimal digits of a fraction that travels: reducing a longer one takes the square of its length."""
_VECTOR = 64
"""Floats in a row from which they travel as raw doubles: a third of the bytes of JSON, and read faster."""
FACTORIES: dict[str, Any] = {cls.__name__: cls for cls in (list, dict, set, int, float, str, tuple, bool)}
_PYDANTIC = "pydantic_core._pydantic_core:TzInfo"
"""The zone of what pydantic reads, a fixed offset; it comes back as Python's own of that offset and name, its equal."""
BY_TEXT: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        Decimal,
        pathlib.PurePosixPath,
        pathlib.PureWindowsPath,
        pathlib.PosixPath,
        ipaddress.IPv4Address,
        ipaddress.IPv6Address,
        ipaddress.IPv4Network,
        ipaddress.IPv6Network,
    )
}


class CodecError(CacheLayerError):
    """A value cannot be written, or bytes cannot be read, as `reason` says."""

    reason = Reason.CORRUPT


class CorruptPayload(CodecError):
    """Bytes that no codec wrote."""


class ForeignClass(CodecError):
    """A class is not on the allow-list, or can never leave the process."""

    reason = Reason.FOREIGN_CLASS


class TooLarge(CodecError):
    """An answer that takes more than may leave the process."""

    reason = Reason.OVERSIZE


class NewerSchema(CodecError):
    """Written by a newer version, or for another version of a class: to be ignored, not destroyed."""

    reason = Reason.SCHEMA


class Allowed:
    """A class on the allow-list."""

    __slots__ = ("_print", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._print: str | None = None

    @property
    def fingerprint(self) -> str:
        """What tells another version of the class; settled at first use, when its forward references are."""
        if self._print is None:
            self._print = fingerprint(self.plan)
        return self._print


Known = Mapping[str, Allowed]
"""The allow-list by `name_of`."""


def name_of(cls: type) -> str:
    """The name of a class on the wire."""
    return f"{cls.__module__}:{cls.__qualname__}"


class Writer:
    """One value on its way out."""

    def __init__(self, kinds: Kinds, known: Known) -> None:
        self.kinds, self.known = kinds, known
        self.classes: list[list[str]] = []
        self.blobs: list[bytes] = []
        self.tagged = False
        self._places: dict[type, int] = {}
        self._offset = 0

    def write(self, value: Any, depth: int = 0) -> Any:
        """What orjson can write for `value`. Raises ForeignClass."""
        cls = type(value)
        if value is None or cls is bool:
            return value
        if cls is str:
            return (
                value if encodes(value) else self.tag("u", self.blob(value.encode("utf-8", "surrogatepass")))
            )
        if cls is int:
            return value if -(2**63) <= value < 2**63 else self.tag("i", hex(value))
        if cls is float:
            return value if math.isfinite(value) else self.tag("f", struct.pack("<d", value).hex())
        if depth > MAX_DEPTH:
            raise ForeignClass(f"the answer is nested deeper than {MAX_DEPTH} levels")
        depth += 1
        if cls is list:
            if len(value) >= _VECTOR and set(map(type, value)) == _FLOATS:
                return self.tag("l", self.blob(np.array(value, "<f8").tobytes()))
            return [self.write(x, depth) for x in value]
        if cls is dict:
            if "$" not in value and all(type(key) is str and encodes(key) for key in value):
                return {key: self.write(x, depth) for key, x in value.items()}
            return self.tag("d", self.items(value, depth))
        return self.special(value, self.kinds[cls], depth)

    def tag(self, *parts: Any) -> Any:
        self.tagged = True
        return {"$": list(parts)}

    def items(self, value: Any, depth: int) -> list[Any]:
        return [[self.write(key, depth), self.write(x, depth)] for key, x in value.items()]

    def all(self, values: Any, depth: int) -> list[Any]:
        return [self.write(x, depth) for x in values]

    def blob(self, raw: bytes) -> list[int]:
        place = [self._offset, len(raw)]
        self.blobs.append(raw)
        self._offset += len(raw)
        return place

    def special(self, value: Any, plan: Plan, depth: int) -> Any:
        match plan.kind:
            case Kind.TUPLE:
                return self.tag("t", self.all(value, depth))
            case Kind.SET:
                return self.tag("s", self.all(value, depth))
            case Kind.FROZENSET:
                return self.tag("z", self.all(value, depth))
            case Kind.ARRAY:
                return self.array(value, depth)
            case Kind.BUFFER:
                code = value.typecode if isinstance(value, array.array) else ""
                return self.tag("a", code, self.blob(bytes(value)))
            case Kind.DEQUE:
                return self.tag("q", value.maxlen, self.all(value, depth))
            case Kind.MAPPING:
                return self.mapping(value, depth)
            case Kind.NAMED:
                return self.tag("n", self.place(plan), self.all(value, depth))
            case Kind.OBJECT:
                return self.object(value, plan, depth)
            case Kind.FIXED:
                return self.fixed(value, plan, depth)
            case _:
                raise ForeignClass(f"{name_of(plan.cls)} {plan.why}; it stays in memory")

    def place(self, plan: Plan) -> int:
        at = self._places.get(plan.cls)
        if at is None:
            name = name_of(plan.cls)
            allowed = self.known.get(name)
            if allowed is None or allowed.plan.cls is not plan.cls:
                remedy = f"types=[{plan.cls.__name__}] on the layer allows it"
                raise ForeignClass(f"{name} may not leave the process; {remedy}")
            at = self._places[plan.cls] = len(self.classes)
            self.classes.append([name, allowed.fingerprint])
        return at

    def object(self, value: Any, plan: Plan, depth: int) -> Any:
        place = self.place(plan)
        held = None if plan.set_dict is None else self.write(value.__dict__, depth)
        state = dict(plan.state(value))
        if any(name not in state for name, _, _ in plan.slots):
            self.tagged = True
        slots = [self.write(state[n], depth) if n in state else UNSET for n, _, _ in plan.slots]
        return self.tag("o", place, held, slots)

    def mapping(self, value: Any, depth: int) -> Any:
        if isinstance(value, defaultdict):
            made = value.default_factory
            if made is not None and FACTORIES.get(getattr(made, "__name__", "")) is not made:
                raise ForeignClass("a defaultdict with a factory of one's own stays in memory")
            return self.tag("D", made and made.__name__, self.items(value, depth))
        return self.tag("C" if isinstance(value, Counter) else "O", self.items(value, depth))

    def array(self, value: Any, depth: int) -> Any:
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return self.tag(
            "A", self.dtype(value.dtype, depth), list(value.shape), order, self.blob(value.tobytes(order))
        )

    def dtype(self, dtype: Any, depth: int) -> Any:
        described = np.lib.format.dtype_to_descr(dtype) if not dtype.hasobject else None
        if described is None or np.lib.format.descr_to_dtype(described) != dtype:
            raise ForeignClass(f"a numpy array of dtype {dtype} stays in memory")
        return self.write(described, depth)

    def fixed(self, value: Any, plan: Plan, depth: int) -> Any:
        cls = plan.cls
        if cls is bytes:
            return self.tag("b", self.blob(value))
        if cls is complex:
            return self.tag("c", self.write(value.real), self.write(value.imag))
        if BY_TEXT.get(cls.__name__) is cls:
            return self.tag("x", cls.__name__, str(value))
        if cls is Fraction:
            over, under = hex(value.numerator), hex(value.denominator)
            if len(over) + len(under) > LONGEST:
                raise ForeignClass("a fraction of many thousand digits stays in memory")
            return self.tag("F", over, under)
        if cls is uuid.UUID:
            return self.tag("U", value.hex)
        if cls is range:
            return self.tag("r", self.all((value.start, value.stop, value.step), depth))
        if issubclass(cls, enum.Enum):
            name, combined = str(value.name), value.value
            if name in cls.__members__:
                return self.tag("e", self.place(plan), name)
            return self.tag("v", self.place(plan), self.write(combined, depth))  # of flags
        if is_url(cls):
            return self.tag("v", self.place(plan), str(value))
        if issubclass(cls, np.generic):
            # numpy's end before those
            if isinstance(value, str | bytes) and value[-1:] in ("", b"", "\0", b"\0"):
                raise ForeignClass("a numpy text that is empty, or ends in NUL, stays in memory")
            return self.tag("N", self.dtype(value.dtype, depth), self.blob(value.tobytes()))
        base: Any = plain_base(cls)
        if base is not None:
            return self.tag("B", self.place(plan), self.write(base(value), depth))
        return self.time(value, cls)

    def time(self, value: Any, cls: type) -> Any:
        if cls is dt.date:
            return self.tag("T", "date", value.isoformat())
        if cls is dt.timedelta:
            return self.tag("T", "delta", value.days, value.seconds, value.microseconds)
        if cls in (dt.datetime, dt.time):
            plain = value.replace(tzinfo=None, fold=0).isoformat()
            return self.tag("T", cls.__name__, plain, value.fold, self.zone(value.tzinfo))
        if cls in (dt.timezone, zoneinfo.ZoneInfo):
            return self.tag("T", "zone", self.zone(value))
        raise ForeignClass(f"{name_of(cls)} stays in memory")

    def zone(self, zone: Any) -> Any:
        if zone is None:
            return None
        if type(zone) is zoneinfo.ZoneInfo and zone.key:
            return zone.key
        if type(zone) is not dt.timezone and name_of(type(zone)) != _PYDANTIC:
            raise ForeignClass(f"a time with a {name_of(type(zone))} stays in memory")
        offset, name = zone.utcoffset(None), zone.tzname(None)
        named = None if name == dt.timezone(offset).tzname(None) else name
        return [offset.days, offset.seconds, offset.microseconds, named]


def encodes(text: str) -> bool:
    """Whether a text is one in UTF-8, too: whether it is free of lone surrogates."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
