"""Raw forms: the bytes of arguments as they came, which lead straight to an entry that they led to before."""

from __future__ import annotations

import marshal
from typing import Any, Protocol

import orjson
from orjson import dumps
from xxhash import xxh3_64_intdigest

from ..keys.canonical import compact
from .slot import Slot
from .table import Raws

_PLAIN = frozenset({str, int, float, bool, list, dict, tuple})
STRICT = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


class Links(Protocol):
    """What keeps raw forms: `Memory`, for as long as their entries live, or another within bounds of its own."""

    def link(self, slot: Slot, raws: Raws, digest: int | str, raw: bytes | str) -> bool: ...


class RawForms:
    """The raw forms of one function and tenant. Reading takes no lock and counts nothing.

    A single text is its own raw form. Otherwise it is JSON by orjson, if every argument is of a plain class, or if the
    function takes JSON values only (`json`): then what orjson writes alike is the same request, except NaN and None, so
    no form with a null is linked. Forms with a None are marshalled, which tells all plain values apart; what marshal
    writes like one of them (buffers like bytes) is never linked.
    """

    __slots__ = ("_json", "_mixed", "_named", "marshalled", "positional", "texts")

    def __init__(self, json: bool = False) -> None:
        self._json = json
        self.marshalled = False
        self.texts: dict[str, tuple[str, Slot]] = {}
        self.positional: Raws = {}
        self._named: Raws = {}
        self._mixed: Raws = {}

    def find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Slot | None:
        """The slot that the raw form of these arguments leads to."""
        call: Any
        if not kwargs:
            if len(args) == 1 and type(args[0]) is str:
                known = self.texts.get(args[0])
                return known[1] if known is not None else None
            call, table = args, self.positional
            json = type(args[0]) in _PLAIN if len(args) == 1 else _PLAIN.issuperset(map(type, args))
        elif not args:
            call, table = kwargs, self._named
            json = self._json or _PLAIN.issuperset(map(type, kwargs.values()))
        else:
            call, table = (args, kwargs), self._mixed
            json = self._json or _PLAIN.issuperset(map(type, (*args, *kwargs.values())))
        if json:
            try:
                raw = dumps(call, None, STRICT)
            except TypeError:
                return None
            pair = table.get(xxh3_64_intdigest(raw))
            if pair is not None and pair[0] == raw:
                return pair[1]
        return self.by_marshal(call, table) if self.marshalled else None

    @staticmethod
    def by_marshal(call: Any, table: Raws) -> Slot | None:
        """The slot that the marshalled form of a call leads to."""
        try:
            raw = marshal.dumps(call, 2)
        except ValueError:
            return None
        pair = table.get(xxh3_64_intdigest(raw))
        return pair[1] if pair is not None and pair[0] == raw else None

    def link(self, memory: Links, slot: Slot, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let this raw form lead to `slot`, unless another request could have the same one. Under the memory's lock."""
        if not kwargs and len(args) == 1 and type(args[0]) is str:
            memory.link(slot, self.texts, args[0], args[0])
            return
        call: Any
        if not kwargs:  # as `find` tells them apart
            call, table = args, self.positional
        elif not args:
            call, table = kwargs, self._named
        else:
            call, table = (args, kwargs), self._mixed
        try:
            if not (all(map(_plain, args)) and all(map(_plain, kwargs.values()))):
                return
            raw = dumps(call, None, STRICT)
            if b"null" in raw:
                raw = marshal.dumps(call, 2)
                self.marshalled = True
        except (TypeError, ValueError, RecursionError):
            return
        raw = compact(raw)
        memory.link(slot, table, xxh3_64_intdigest(raw), raw)


def _plain(value: Any) -> bool:
    """Whether a value holds nothing but exact None, bool, int, float, str, list, tuple and dict."""
    kind = type(value)
    if kind is dict:
        return all(type(k) is str and _plain(v) for k, v in value.items())
    if kind is list or kind is tuple:
        return all(map(_plain, value))
    return kind in (str, int, float, bool) or value is None
