"""Takes an answer apart into the shape that many have and the leaves that are its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from sys import getsizeof
from typing import Any

from ...types import Reason
from .copies import copy_array, fixed, size
from .frozen import OWN, Frozen, NotKeepable, Recent, name_of
from .kinds import ATOMS, FIELDS_SET, Kind, Kinds, Plan, instead
from .shapes import LARGE, Shapes, Thaw
from .tokens import T

MAX_DEPTH = 100
_WIDE = 8
_FRESH = 2
_KEYS = frozenset({str})
_EMPTY = (dict, list)
_SIZED = (Kind.TUPLE, Kind.NAMED, Kind.FROZENSET)
_OPEN = 1 << 13
"""Bytes of containers that turn out to be part of a shape, which has few tokens, and so are not kept."""
_PAIR = 8 + getsizeof((0, 0)) - OWN
"""What a row costs in a list of rows, beside what it holds as a `Frozen`."""


class Walk:
    """Takes one answer apart: the tokens of its shape and its leaves."""

    __slots__ = (
        "copy",
        "extra",
        "fresh",
        "kinds",
        "leaves",
        "limit",
        "most",
        "recent",
        "shapes",
        "sig",
        "spent",
    )

    def __init__(self, kinds: Kinds, copy: Thaw, shapes: Shapes, recent: Recent, limit: int) -> None:
        self.kinds, self.copy, self.shapes, self.recent, self.limit = kinds, copy, shapes, recent, limit
        self.sig: list[Any] = []
        self.leaves: list[Any] = []
        self.extra = 0
        """Bytes that the leaves hold beyond their own `__sizeof__`."""
        self.fresh = _FRESH
        """Shapes that may still be compiled for this answer."""
        self.spent = 0
        """About the bytes that are kept of all that was seen, so that a huge answer stops the walk early."""
        self.most = limit + limit // 4 + _OPEN

    def unit(self, value: Any, depth: int) -> Frozen:
        """One value that is not of an atomic class, on its own."""
        made = self.recent.again(value)
        if made is None:
            spent = self.spent
            made = self.anew(value, depth)
            self.spent = spent
        self.room(made.nbytes - OWN)  # a row of a list is kept without it
        return made

    def anew(self, value: Any, depth: int) -> Frozen:
        if (plan := self.kinds[type(value)]).hopeful and self.fixed(value, plan):
            return Frozen(value, None, OWN + size(value, self.kinds))
        if type(value) in _EMPTY and not value:
            return Frozen(type(value)(), type(value).copy, OWN + getsizeof(value))
        outer = self.sig, self.leaves, self.extra
        self.sig, self.leaves, self.extra = [], [], 0
        try:
            self.node(value, depth)
            return self.built(value, outermost=depth == 0)
        finally:
            self.sig, self.leaves, self.extra = outer

    def built(self, value: Any, *, outermost: bool) -> Frozen:
        sig, leaves = self.sig, tuple(self.leaves)
        held = OWN + self.extra + sum([x.__sizeof__() for x in leaves])
        if len(sig) == 1:
            return Frozen(leaves[0], self.alone(sig[0], value), held)
        made, worked = self.shapes.made(tuple(sig), fresh=outermost or self.fresh > 0)
        self.fresh -= worked
        if made is None:
            own = self.copy(value)
            return Frozen(own, self.copy, OWN + size(own, self.kinds))
        self.recent.learn(value, made)
        return Frozen(leaves, made.thaw, held + getsizeof(leaves))

    def alone(self, token: int, value: Any) -> Thaw:
        """What builds a value that is one leaf; nothing is compiled for it."""
        if token == T.DEEP:
            return copy_array if self.kinds[type(value)].kind == Kind.ARRAY else self.copy
        copy: Thaw = type(value).copy if token == T.COPY else rows if token == T.ROWS else each
        return copy

    def room(self, more: int) -> None:
        self.spent += more
        if self.spent > self.most:
            raise NotKeepable(f"the answer holds more than {self.limit} bytes", Reason.OVERSIZE)

    def fixed(self, value: Any, plan: Plan) -> bool:
        """Whether nothing can change `value`, which is not looked through if it is too large."""
        if plan.kind in _SIZED and self.spent + 8 * len(value) > self.most:
            self.room(8 * len(value))
        return fixed(value, self.kinds)

    def whole(self, token: int, own: Any, held: int) -> None:
        """A private leaf that holds `held` bytes in all."""
        self.sig.append(token)
        self.leaves.append(own)
        self.extra += held - own.__sizeof__()

    def copied(self, value: Any) -> None:
        own = value.copy()
        self.whole(T.COPY, own, size(own, self.kinds))

    def node(self, value: Any, depth: int) -> None:
        """Append one value that is not of an atomic class; small dicts and lists right here."""
        if depth > MAX_DEPTH:
            raise NotKeepable(f"the answer contains itself or is nested deeper than {MAX_DEPTH} levels")
        cls, sig = type(value), self.sig
        if cls is dict and len(value) <= LARGE and _KEYS.issuperset(map(type, value)):
            sig.append(T.DICT)
            sig.append(tuple(value))
            self.children(value.values(), len(value), depth)
        elif cls is list and len(value) <= _WIDE and not (value and ATOMS.issuperset(map(type, value))):
            sig.append(T.LIST)
            sig.append(len(value))
            self.children(value, len(value), depth)
        elif (plan := self.kinds[cls]).hopeful and self.fixed(value, plan):
            self.whole(T.LEAF, value, size(value, self.kinds))
        else:
            self.take_other(value, plan, depth)

    def children(self, values: Iterable[Any], n: int, depth: int) -> None:
        self.room(40 + 8 * n)
        sig, leaves = self.sig, self.leaves
        depth += 1
        i = 0
        for x in values:
            if type(x) in ATOMS:
                leaves.append(x)
            else:
                sig.append(i)
                self.node(x, depth)
            i += 1  # noqa: SIM113 - enumerate costs a third more here
        sig.append(T.END)

    def take_other(self, value: Any, plan: Plan, depth: int) -> None:
        match plan.kind:
            case Kind.DICT:
                self.take_dict(value, depth)
            case Kind.LIST:
                self.take_list(value, depth)
            case Kind.OBJECT:
                self.take_object(value, plan, depth)
            case Kind.TUPLE:
                self.sig += (T.TUPLE, len(value))
                self.children(value, len(value), depth)
            case Kind.NAMED:
                self.sig += (T.NAMED, plan.cls, len(value))
                self.children(value, len(value), depth)
            case Kind.ARRAY:
                self.take_array(value)
            case Kind.BUFFER:
                self.room(getsizeof(value))
                own = value[:]
                self.whole(T.DEEP, own, getsizeof(own))
            case Kind.SET:
                self.room(8 * len(value))
                self.all_fixed(value)
                self.copied(value)
            case Kind.MAPPING | Kind.DEQUE:
                self.take_special(value, depth)
            case _:
                why = plan.why or "holds values that can change"
                remedy = instead(plan.cls, once=plan.once)
                raise NotKeepable(f"{name_of(plan.cls)} {why}; {remedy}")

    def take_array(self, value: Any) -> None:
        if value.dtype.hasobject:
            raise NotKeepable("a numpy array of objects cannot be copied faithfully; give it a plain dtype")
        self.room(value.nbytes)
        own = copy_array(value)
        self.whole(T.DEEP, own, getsizeof(own))

    def take_dict(self, value: dict[Any, Any], depth: int) -> None:
        """A dict that is large or has keys other than str."""
        self.room(64 + 8 * len(value))
        self.all_fixed(value)
        if ATOMS.issuperset(map(type, value.values())):
            self.copied(value)
        elif len(value) > LARGE:
            rows = [(key, *self.row(x, depth)) for key, x in value.items()]
            held = sum(_PAIR + 8 + size(key, self.kinds) + nbytes for key, _, _, nbytes in rows)
            self.whole(T.EACH, [row[:3] for row in rows], 64 + held)
        else:
            self.sig += (T.KEYED, len(value))
            self.leaves += value
            self.extra += sum(size(key, self.kinds) - key.__sizeof__() for key in value)
            self.children(value.values(), len(value), depth)

    def take_list(self, value: list[Any], depth: int) -> None:
        """A list that is long or all of atoms."""
        self.room(56 + 8 * len(value))
        if ATOMS.issuperset(map(type, value)):
            self.copied(value)
        else:
            parts = [self.row(x, depth) for x in value]
            self.whole(T.ROWS, [part[:2] for part in parts], 64 + sum(_PAIR + part.nbytes for part in parts))

    def row(self, value: Any, depth: int) -> Frozen:
        if type(value) in ATOMS:
            return Frozen(value, None, OWN + value.__sizeof__())
        return self.unit(value, depth + 1)

    def take_object(self, value: Any, plan: Plan, depth: int) -> None:
        state = list(plan.state(value))
        self.room(56)
        self.sig += (T.OBJECT, plan, tuple(name for name, _ in state))
        if plan.set_dict is not None:
            self.node(value.__dict__, depth + 1)
        for name, x in state:
            if name == FIELDS_SET and plan.pydantic:
                self.sig += (T.CONST, frozenset(x))
            elif type(x) in ATOMS:
                self.whole(T.LEAF, x, x.__sizeof__())
            else:
                self.node(x, depth + 1)

    def take_special(self, value: Any, depth: int) -> None:
        """A subclass of dict from `collections`, or a deque: copied recursively as a whole."""
        if getattr(value, "__dict__", None):
            raise NotKeepable(f"{name_of(type(value))} carries attributes; return a plain value")
        if isinstance(value, defaultdict) and not isinstance(value.default_factory, type | None):
            raise NotKeepable("a defaultdict whose factory is not a class cannot be copied faithfully")
        self.room(8 * len(value))
        inner = Walk(self.kinds, self.copy, self.shapes, self.recent, self.limit - self.spent)
        if isinstance(value, dict):
            self.all_fixed(value)
            inner.children(value.values(), len(value), depth)
        else:
            inner.children(value, len(value), depth)
        own = self.copy(value)
        self.whole(T.DEEP, own, size(own, self.kinds))

    def all_fixed(self, values: Iterable[Any]) -> None:
        for x in values:
            if type(x) not in ATOMS and not fixed(x, self.kinds):
                raise NotKeepable(
                    f"{name_of(type(x))} as a key or member of a set cannot be copied faithfully"
                )


def rows(pairs: list[tuple[Any, Thaw | None]]) -> list[Any]:
    """A fresh list from (value, thaw) pairs."""
    return [x if f is None else f(x) for x, f in pairs]


def each(triples: list[tuple[Any, Any, Thaw | None]]) -> dict[Any, Any]:
    """A fresh dict from (key, value, thaw) triples."""
    return {key: x if f is None else f(x) for key, x, f in triples}
