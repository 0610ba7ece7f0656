"""What a wrapped callable is called, and whether its options fit its signature."""

from __future__ import annotations

import functools
import inspect
import os
import string
import sys
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from .errors import ConfigurationError
from .exact.canonical import NotKeyable, argument, encode
from .exact.chat import absent
from .exact.copies import fixed
from .exact.kinds import Kinds


def name_of(fn: Any) -> str:
    """Module and qualified name; `__main__` becomes what it would be if it were imported, so that processes agree."""
    if isinstance(fn, functools.partial):
        fn = fn.func
    module = getattr(fn, "__module__", None) or type(fn).__module__
    name = getattr(fn, "__qualname__", None) or type(fn).__qualname__
    return f"{_main() if module == '__main__' else module}.{name}"


def _main() -> str:
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    return os.path.splitext(os.path.basename(getattr(main, "__file__", "") or "__main__"))[0]


def signature_of(fn: Any) -> inspect.Signature:
    """The signature, or (*args, **kwargs) for builtins that tell none."""
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        return inspect.signature(lambda *args, **kwargs: None)


def bound(fn: Any) -> str:
    """What a partial gives by position, of which its signature does not tell; "" where it has no key."""
    if not isinstance(fn, functools.partial) or not fn.args:
        return ""
    try:
        return encode([argument(value) for value in fn.args]).hex()
    except NotKeyable:
        return ""


def settled(fn: Any, ignore: Sequence[str]) -> bool:
    """Whether no default that is part of a call's identity can change between two calls."""
    kinds, parameters = Kinds(), signature_of(fn).parameters
    defaults = [p.default for n, p in parameters.items() if n not in ignore and p.default is not p.empty]
    return all(absent(value) or fixed(value, kinds) for value in defaults)


_JSON = (str, int, float, bool, list, dict, tuple, type(None))


def takes_json_only(fn: Any) -> bool:
    """Whether every parameter is annotated with plain types: str, int, float, bool, None, Literal, lists and dicts."""
    try:
        hints = get_type_hints(fn)
    except (NameError, TypeError, AttributeError):
        return False
    parameters = [p for p in signature_of(fn).parameters.values() if p.name not in ("self", "cls")]
    return bool(parameters) and all(p.name in hints and _is_json(hints[p.name]) for p in parameters)


def _is_json(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is Literal:
        return True
    if origin in (Union, UnionType, list, dict, tuple, Sequence, Mapping):
        return all(_is_json(inner) for inner in get_args(hint) if inner is not Ellipsis)
    return hint in _JSON


def names(option: str, given: Any) -> tuple[str, ...]:
    """A list of texts as a tuple. Raises ConfigurationError for anything else, a lone text too."""
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise ConfigurationError(option, given, "give a list of texts")
    return tuple(given)


def check_tags(tags: tuple[str, ...], fn: Any, name: str) -> None:
    """Raise ConfigurationError for a tag template over a parameter that the function does not have."""
    known = signature_of(fn).parameters
    extra = any(p.kind is p.VAR_KEYWORD for p in known.values())
    for tag in tags:
        for _, field, _, _ in string.Formatter().parse(tag):
            first = (field or "").replace("[", ".").partition(".")[0]
            if field is not None and first not in known and not extra:
                raise ConfigurationError(
                    "tags", tag, f"{name} has no parameter {first!r}; it has {', '.join(known)}"
                )
