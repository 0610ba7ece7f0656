"""Which values can be shared instead of copied, their size in bytes, and plain recursive copies."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from sys import getsizeof
from typing import Any

import numpy as np

from .kinds import ATOMS, Kind, Kinds, Plan

_HIDDEN = 256
"""Bytes allowed for what `getsizeof` does not see of a path, a pattern, an address, a foreign object."""
_REACH = 100_000
_FLOATS = {float}
_FLOAT = getsizeof(0.0)
_make: Any = tuple.__new__


def fixed(value: Any, kinds: Kinds) -> bool:
    """True if nothing that a caller does can change `value`."""
    plan = kinds[type(value)]
    if not plan.hopeful or plan.kind == Kind.FIXED:
        return plan.hopeful
    inside = plan.values(value) if plan.kind == Kind.OBJECT else value
    return all(type(x) in ATOMS or fixed(x, kinds) for x in inside)


def size(value: Any, kinds: Kinds) -> int:
    """Bytes that `value` and what it holds take by `sys.getsizeof`; what it holds twice counts twice."""
    own, inside = _parts(value, kinds)
    for part in inside:
        if ATOMS.issuperset(map(type, part)):
            own += atoms_size(part)
        else:
            own += sum(size(x, kinds) for x in part)
    return own


def atoms_size(atoms: Collection[Any]) -> int:
    """Bytes of values of atomic classes, without their container."""
    if set(map(type, atoms)) == _FLOATS:
        return _FLOAT * len(atoms)
    return sum([x.__sizeof__() for x in atoms])


def reach(value: Any, kinds: Kinds) -> int:
    """Bytes of `value` and all it reaches, each object once; cycles allowed; stops after 100,000 objects."""
    total, seen, todo = 0, {id(value)}, [value]
    while todo and len(seen) < _REACH:
        own, inside = _parts(todo.pop(), kinds)
        total += own
        for part in inside:
            for x in part:
                if id(x) not in seen:
                    seen.add(id(x))
                    if type(x) in ATOMS:
                        total += getsizeof(x)
                    else:
                        todo.append(x)
    return total


def classes(value: Any) -> set[type]:
    """The classes of `value`, or of what it holds if it is plain dicts, lists and tuples; as far as `reach`."""
    found: set[type] = set()
    seen: set[int] = set()
    todo = [value]
    while todo and len(seen) < _REACH:
        one = todo.pop()
        cls = type(one)
        if cls not in (dict, list, tuple):
            found.add(cls)
        elif id(one) not in seen:
            seen.add(id(one))
            todo += one.values() if cls is dict else one
    return found


def _parts(value: Any, kinds: Kinds) -> tuple[int, list[Collection[Any]]]:
    """The bytes of one object and the iterables of what it holds."""
    cls = type(value)
    own = getsizeof(value)
    if cls in ATOMS:
        return own, []
    plan = kinds[cls]
    match plan.kind:
        case Kind.DICT | Kind.MAPPING:
            return own, [value, value.values()]
        case Kind.LIST | Kind.TUPLE | Kind.NAMED | Kind.SET | Kind.FROZENSET | Kind.DEQUE:
            return own, [value]
        case Kind.OBJECT:
            held = list(plan.values(value))
            return own + (getsizeof(value.__dict__) if plan.set_dict else 0), [held]
        case Kind.ARRAY:
            return own + (0 if value.flags.owndata else int(value.nbytes)), []
        case Kind.FIXED | Kind.BUFFER if cls.__module__ in (
            "builtins",
            "array",
            "datetime",
            "decimal",
            "numpy",
        ):
            return own, []
        case Kind.REFUSED if isinstance(getattr(value, "__dict__", None), dict):
            return own + _HIDDEN, [value.__dict__.values()]
        case _:
            return own + _HIDDEN, []


def copy_array(value: Any) -> Any:
    """A copy of a numpy array with its dtype, shape and order of axes in memory."""
    return value.copy("K")


class Copier:
    """Copies keepable values recursively: equal, of the same classes, nothing mutable shared."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds

    def copy(self, value: Any) -> Any:
        cls = type(value)
        if cls in ATOMS:
            return value
        copy = self.copy
        if cls is dict:
            return {k: x if type(x) in ATOMS else copy(x) for k, x in value.items()}
        if cls is list:
            return [x if type(x) in ATOMS else copy(x) for x in value]
        if cls is np.ndarray:
            return copy_array(value)
        return value if fixed(value, self._kinds) else self._special(value, self._kinds[cls])

    def _special(self, value: Any, plan: Plan) -> Any:
        copy = self.copy
        match plan.kind:
            case Kind.OBJECT:
                return self._object(value, plan)
            case Kind.TUPLE | Kind.NAMED:
                return _make(plan.cls, [copy(x) for x in value])
            case Kind.MAPPING:
                return self._mapping(value)
            case Kind.DEQUE:
                return deque([copy(x) for x in value], value.maxlen)
            case Kind.BUFFER:
                return value[:]
            case _:
                return value.copy()  # a set of fixed values

    def _mapping(self, value: Any) -> Any:
        made = value.copy()
        for key, x in value.items():
            made[key] = self.copy(x)
        return made

    def _object(self, value: Any, plan: Plan) -> Any:
        made = plan.new(plan.cls)
        if plan.set_dict is not None:
            plan.set_dict(made, self.copy(value.__dict__))
        state = dict(plan.state(value))
        for name, _, setter in plan.slots:
            if name in state:
                setter(made, self.copy(state[name]))
        return made
