"""Values to canonical JSON trees and bytes: equal meaning gives equal bytes, any difference gives others. Pure.

Plain JSON values stand for themselves (a tuple is an array; 1.0 is 1, but -0.0 is not 0; inside plain lists and dicts
an enum member is its value and a UUID its text, as in every JSON encoder). All else is an object with one key that
starts with NUL, the type's tag, so that no two types meet; user keys that start with NUL are escaped the same way.
"""

from __future__ import annotations

import array
import base64
import datetime
import enum
import hashlib
import json
import math
import pathlib
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from inspect import iscoroutinefunction
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, get_args

import numpy as np
import orjson

from ..answers.kinds import is_url
from .classes import made_by, shape
from .members import LIBRARY, Members, beside, members

Tree = Any
"""None, bool, int, float, str, and lists and str-keyed dicts of these."""

_EXACT_INT, _EXACT_FLOAT = 2**53, 2.0**53
_LONG = 1024
_SORTED = orjson.OPT_SORT_KEYS


class NotKeyable(TypeError):
    """A value that identifies nothing that could be compared; `args[0]` says which, `kind` its class if that is why."""

    def __init__(self, what: str, kind: type | None = None) -> None:
        super().__init__(what)
        self.kind = kind


def encode(tree: Tree) -> bytes:
    """Canonical bytes of a tree: JSON with sorted keys, UTF-8."""
    try:
        return orjson.dumps(tree, option=_SORTED)
    except orjson.JSONEncodeError:  # lone surrogates; too deep for orjson
        try:
            text = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        except RecursionError:
            raise NotKeyable("nested too deeply") from None
        return b"\0" + text.encode(errors="surrogatepass")  # escapes make a pair of them one character


def compact(raw: bytes) -> bytes:
    """A copy to be kept: bytes from orjson hold on to the whole buffer that they were written in, 4, 8 or 16 KiB."""
    return bytes(bytearray(raw))


def decode(canonical: bytes) -> Tree:
    """The tree that `encode` wrote."""
    return json.loads(canonical[1:]) if canonical[:1] == b"\0" else orjson.loads(canonical)


def argument(value: Any) -> Tree:
    """The tree of one argument. Raises NotKeyable, naming the type, for what cannot be compared by content."""
    kind = type(value)
    inner = _NESTED.get(kind, tree)
    if inner is not tree:
        return value if inner is None else inner(value)
    if isinstance(value, enum.Enum):
        return _tag("enum", [_name(kind), argument(value.value)])
    if kind is uuid.UUID:
        return _tag("uuid", value.hex)
    return tree(value)


def tree(value: Any) -> Tree:
    """The tree of a value inside an argument; see `argument`."""
    kind = type(value)
    inner = _NESTED.get(kind, _other)
    return value if inner is None else inner(value)


def number(value: float) -> Tree:
    """The tree of a float."""
    if value.is_integer() and (value or math.copysign(1.0, value) > 0.0):
        return int(value) if -_EXACT_FLOAT <= value <= _EXACT_FLOAT else value
    return value if math.isfinite(value) else _tag("float", repr(value))


def _dict(value: Mapping[Any, Any]) -> Tree:
    out = {}
    for key, item in value.items():
        if type(key) is not str or "\0" <= key < "\1":
            return _pairs("dict", value)
        inner = _NESTED.get(type(item), tree)
        out[key] = item if inner is None else inner(item)
    return out


def _list(value: Iterable[Any]) -> Tree:
    nested = _NESTED
    out = []
    for item in value:
        inner = nested.get(type(item), tree)
        out.append(item if inner is None else inner(item))
    return out


def _int(value: int) -> Tree:
    return value if -_EXACT_INT <= value <= _EXACT_INT else _tag("int", str(Decimal(value)))  # of any length


def _moment(value: datetime.datetime | datetime.time) -> Tree:
    """A time with its zone by name: two zones of one offset part at another time of the year."""
    zone, text = value.tzinfo, value.isoformat() + ("~" if value.fold else "")
    if zone is None:  # pandas' NaT cannot be asked for more
        return text
    name = getattr(zone, "key", None) or getattr(zone, "zone", None) or value.tzname()
    return text if name is None else [text, str(name)]


def _zone(value: datetime.tzinfo) -> Tree:
    if type(value) is datetime.timezone:
        return [str(value.utcoffset(None)), value.tzname(None)]
    if (name := getattr(value, "key", None)) is None:  # one that was read from a file
        raise NotKeyable(_name(type(value)))
    return str(name)


def _finer(value: datetime.timedelta) -> list[int]:
    return [finer] if (finer := getattr(value, "nanoseconds", 0)) else []  # pandas' own


def _members(found: Members) -> list[Tree]:
    held = {}
    for name, value in found.private.items():
        with suppress(NotKeyable):  # a circle is not: each of its turns would be walked again for each name
            held[name] = tree(value)
    return [_dict(found.public), *([held] if held else [])]


def _beside(value: Any) -> list[Tree]:
    """Attributes that can be compared; not texts and lists with attributes: a parsed page's lead to the whole page."""
    found = beside(value)
    members = _members(found._replace(private={n: held for n, held in found.private.items() if _ends(held)}))
    return members if any(members) else []


def _ends(held: Any) -> bool:
    """Whether a value is no object of a subclass of a plain type, whose attributes would be followed, too."""
    return type(held).__module__ in LIBRARY or isinstance(held, enum.Enum) or not isinstance(held, _PLAIN)


def _pairs(tag: str, value: Mapping[Any, Any]) -> Tree:
    return _tag(tag, _sorted(value.items()))


def _sorted(items: Iterable[tuple[Any, Any]]) -> Tree:
    """Pairs sorted by key alone: the values of a key that occurs more than once keep their order."""
    return sorted(([argument(k), tree(v)] for k, v in items), key=lambda pair: encode(pair[0]))


def _tag(tag: str, payload: Tree) -> Tree:
    return {"\0" + tag: payload}


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _array(value: Any) -> Tree:
    if value.dtype.hasobject:
        raise NotKeyable(f"numpy array of dtype {value.dtype}")
    if type(value) is not np.memmap and getattr(value, "__dict__", None):  # a mask, a unit
        raise NotKeyable(f"{_name(type(value))}, whose numbers are not all that it holds")
    flat = np.ascontiguousarray(value).reshape(-1)
    if flat.dtype.names is not None:  # what lies between the fields is not theirs
        fields, flat = flat, np.zeros(flat.shape, flat.dtype)
        flat[...] = fields
    data = flat.view(np.uint8) if flat.nbytes > _LONG else flat.tobytes()
    return [_dtype(value.dtype), list(value.shape), _bytes(data)]


def _dtype(dtype: np.dtype[Any]) -> str:
    """A dtype as text: with its repr for records and types of other packages, of which `str` tells only the width."""
    own = dtype.kind != "V" and dtype.type.__module__ == "numpy"
    return dtype.str if own else f"{dtype.str} {dtype!r}"


def _bytes(value: Any) -> Tree:
    """Bytes as base64; many bytes as their SHA-256, which takes a tenth of the time, and no room from answers."""
    if memoryview(value).nbytes > _LONG:
        return [hashlib.sha256(value).hexdigest()]
    return base64.b64encode(value).decode()


def _scalar(value: np.generic) -> Tree:
    if value.dtype.hasobject:
        raise NotKeyable(f"numpy scalar of dtype {value.dtype}")
    plain = value[:] if isinstance(value, str | bytes) else value.item()  # which drops NULs at the end
    if isinstance(value, np.datetime64 | np.timedelta64 | np.void) or isinstance(plain, np.generic):
        return _tag("scalar", _array(np.asarray(value)))
    return tree(plain)


_PLAIN = (str, int, float, dict, list, tuple)
_ADDRESSES = (IPv4Address, IPv6Address, IPv4Network, IPv6Network)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_TAGGED: tuple[tuple[type | tuple[type, ...], str, Callable[[Any], Tree]], ...] = (
    (bytes, "bytes", _bytes),
    (bytearray, "buffer", _bytes),
    (memoryview, "view", lambda v: [v.format, list(v.shape or ()), _bytes(bytes(v))]),
    (np.ndarray, "ndarray", _array),
    (datetime.datetime, "datetime", _moment),
    (datetime.date, "date", lambda v: v.isoformat()),
    (datetime.time, "time", _moment),
    (datetime.timedelta, "timedelta", lambda v: [v.days, v.seconds, v.microseconds, *_finer(v)]),
    (Decimal, "decimal", str),
    (Fraction, "fraction", lambda v: [_int(v.numerator), _int(v.denominator)]),
    (complex, "complex", repr),
    (pathlib.PureWindowsPath, "windows", str),
    (pathlib.PurePath, "path", str),
    ((set, frozenset), "set", lambda v: sorted(map(argument, v), key=encode)),
    (range, "range", lambda v: _list([v.start, v.stop, v.step])),
    (deque, "deque", lambda v: [v.maxlen, _list(v)]),
    (array.array, "array", lambda v: [v.typecode, _bytes(v)]),
    (datetime.tzinfo, "zone", _zone),
    (_ADDRESSES, "ip", lambda v: [type(v).__name__, str(v)]),
    (_VIEWS, "dictview", lambda v: [type(v).__name__, _list(v)]),
)


def _other(value: Any) -> Tree:
    kind = type(value)
    if isinstance(value, enum.Enum):
        return tree(value.value)
    if kind is uuid.UUID:
        return str(value)
    if isinstance(value, np.generic):
        return _scalar(value)
    for types, tag, payload in _TAGGED:
        if isinstance(value, types):
            held = payload(value)
            return _tag(tag, [_name(kind), held, *_beside(value)] if _subclass(kind, types) else held)
    if not isinstance(value, _PLAIN) and (found := members(value)) is not None:
        return _tag(found.tag, [_name(kind), *_members(found)])
    if is_url(kind):
        return _tag("url", [_name(kind), str(value)])
    if isinstance(value, type):
        return _tag("class", [_name(value), tree(shape(value))])
    if (origin := made_by(value)) is not None:  # of `list[Answer]`, of `Answer | None`
        of = tree(origin) if isinstance(origin, type) else repr(origin)
        return _tag("alias", [of, [argument(part) for part in get_args(value)]])
    return _subclassed(value, kind)


_NESTED: dict[type, Callable[[Any], Tree] | None] = {
    str: None, bool: None, type(None): None, int: _int, float: number, dict: _dict, list: _list, tuple: _list,
}  # fmt: skip
"""How values of a class become trees; None for those that are trees already. Absent: `_other`."""


def is_read(kind: type | None) -> bool:
    """Whether what objects of a class hold is awaited, as a request's body: the web frameworks' are mappings, of which
    the items say little (Starlette) or nothing (aiohttp) of what was asked."""
    return any(iscoroutinefunction(getattr(kind, name, None)) for name in ("read", "body", "receive"))


def _subclass(kind: type, types: type | tuple[type, ...]) -> bool:
    return kind.__module__ not in LIBRARY and kind is not types


def _subclassed(value: Any, kind: type) -> Tree:
    """Subclasses of the plain types and other mappings, told apart by their class and by what they hold besides."""
    if isinstance(value, str):
        return _tag("sub", [_name(kind), str.__str__(value), *_beside(value)])
    if isinstance(value, int | float):
        plain = int(value) if isinstance(value, int) else float(value)
        return _tag("sub", [_name(kind), tree(plain), *_beside(value)])
    if isinstance(value, OrderedDict):  # whose order counts where two are compared
        held = [[argument(k), tree(v)] for k, v in value.items()]
        return _tag("ordered:" + _name(kind), [*held, *_beside(value)])
    if isinstance(value, dict):  # as stored: the items of a multi-dict are the first or the last ones
        return _tag("map:" + _name(kind), [*_sorted(dict.items(value)), *_beside(value)])
    if isinstance(value, Mapping) and not is_read(kind):
        several = getattr(kind, "multi_items", None)
        return _tag("map:" + _name(kind), _sorted(several(value) if several else value.items()))
    if isinstance(value, list | tuple):
        return _tag("sub", [_name(kind), [tree(item) for item in value], *_beside(value)])
    raise NotKeyable(_name(kind), kind)
