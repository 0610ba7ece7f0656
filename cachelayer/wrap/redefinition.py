"""Functions that are defined again under their name, as by a notebook's cell or a reloaded module."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from itertools import count
from types import CodeType
from typing import Any, NamedTuple

import xxhash

from ..exact.keys.canonical import NotKeyable, Tree, argument, encode
from ..signatures import signature_of, text_of

_ATOMS = (str, bytes, bool, int, float, complex, type(None), type(Ellipsis))
_unlike = count()


class Origin(NamedTuple):
    """What the owner gave to be wrapped, a text for a prompt's template, and whether they also gave its name."""

    fn: Any
    named: bool


def redefines(fn: Any, named: bool, before: Any, *, declared: bool) -> bool:
    """Whether `fn` replaces `before`, which has the same name: it is the same function and nobody `named` it, or a
    module or class defines it in the same place.

    A method of another object of the class does so if it is `declared` what of the object is part of the key. Functions
    inside functions never do: there may be many of them at a time, by design. A text replaces a text.
    """
    if isinstance(fn, str):
        return isinstance(before, str)
    new, old = (_method(fn), _method(before)) if declared else (None, None)
    if new is not None and old is not None and new[0] == old[0]:
        fn, before = new[1], old[1]
        if fn is before:
            return True
    elif fn is before or (inspect.ismethod(fn) and fn == before):
        return not named
    fn, before = (inspect.unwrap(one) if text_of(one, "__name__") else one for one in (fn, before))
    if fn is before or not (inspect.isfunction(fn) and inspect.isfunction(before)):
        return False
    place = fn.__module__, fn.__qualname__
    return place == (before.__module__, before.__qualname__) and "<" not in fn.__qualname__


def _method(fn: Any) -> tuple[tuple[str, str], Any] | None:
    """The class, by name, of the object behind a method or of a callable object, and the function in that class."""
    if inspect.ismethod(fn):
        behind, function = type(fn.__self__), fn.__func__
    elif inspect.isroutine(fn) or isinstance(fn, type | partial):
        return None
    else:
        behind, function = type(fn), type(fn).__call__
    return (behind.__module__, behind.__qualname__), function


def version_of(fn: Any, options: Mapping[str, Any], first: tuple[Any, Mapping[str, Any]]) -> str:
    """A digest of a function and its options; empty if they are those that were `first` wrapped under its name."""
    new, old = _function(fn), _function(first[0])
    same = new is old
    own, others = _digest(None if same else new, options), _digest(None if same else old, first[1])
    return "" if own == others else own


def _function(fn: Any) -> Any:
    method = None if isinstance(fn, str) else _method(fn)
    return fn if method is None else method[1]


def _digest(fn: Any, options: Mapping[str, Any]) -> str:
    return xxhash.xxh3_128_hexdigest(encode([_tree(fn, set()), _tree(dict(options), set())]))


def _tree(value: Any, seen: set[int]) -> Tree:
    """A function's code, signature and closure; for other values, what identifies them, or a new number if nothing
    does, so that they equal no other."""
    if isinstance(value, CodeType):
        names = [*value.co_names, "", *value.co_varnames, "", *value.co_freevars]
        return [value.co_code.hex(), value.co_flags, names, [_tree(one, seen) for one in value.co_consts]]
    if inspect.isfunction(value):
        if id(value) in seen:
            return None
        seen.add(id(value))
        held = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        cells = [
            cell.cell_contents for name, cell in held if name != "__class__"
        ]  # empty until its class is made
        return [str(signature_of(value)), _tree(value.__code__, seen), [_tree(one, seen) for one in cells]]
    if type(value) in _ATOMS:
        return [type(value).__name__, repr(value)]
    if isinstance(value, dict):
        return [[_tree(key, seen), _tree(item, seen)] for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [_tree(item, seen) for item in value]
    try:
        return argument(value)
    except (NotKeyable, RecursionError):
        return {"\0unlike": next(_unlike)}
