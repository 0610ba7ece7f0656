"""What a wrapped callable is called, and whether its options fit its signature."""

from __future__ import annotations

import functools
import inspect
import os
import string
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import ModuleType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import ConfigurationError
from ..exact.answers.copies import fixed
from ..exact.answers.kinds import Kinds
from ..exact.keys.canonical import NotKeyable, Tree, argument, encode
from ..exact.keys.identity import attributes
from ..exact.keys.parameters import says_nothing
from ..policy import strings
from ..signatures import signature, signature_of, text_of

T = TypeVar("T")
_NO_TREE: Tree = {"\0": None}
"""Stands in a key for what cannot be part of one: no argument's tree is this."""
_ANYTHING = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def mark_of(fn: Any, what: str, otherwise: T) -> T:
    """A callable's own attribute `cachelayer_...`; another type (a mock has every name) does not count."""
    mark = getattr(fn, f"cachelayer_{what}", otherwise)
    return mark if isinstance(mark, type(otherwise)) else otherwise


def speaks_openai(fn: Any) -> bool:
    """Whether a callable has OpenAI's parameters: one of `openai` or `litellm`, or one that says so."""
    home = str(getattr(fn, "__module__", ""))
    return home.startswith(("openai.", "litellm.")) or mark_of(fn, "wire", False)


def name_of(fn: Any, seen: tuple[Any, ...] = ()) -> str:
    """Module and qualified name; `__main__` is named as if it were imported, so that processes agree.

    Functions that one function makes are told apart by the names that it gives them, as botocore does for methods of
    clients, and by what they call where they take anything, as decorators without functools.wraps() do.
    """
    if isinstance(fn, functools.partial):
        fn = fn.func
    module = text_of(fn, "__module__") or type(fn).__module__
    name = text_of(fn, "__qualname__") or type(fn).__qualname__
    outer, dot, own = name.rpartition(".")
    if "<locals>" in outer:
        called = [name_of(one, (*seen, one)) for one in _called(fn) if one not in seen]
        name = f"{outer}{dot}{text_of(fn, '__name__') or own}" + (f"({', '.join(called)})" if called else "")
    return f"{_main() if module == '__main__' else module}.{name}"


def _called(fn: Any) -> Iterator[Any]:
    """The callables in the closure of one of the form (*args, **kwargs)."""
    fn = fn.__func__ if inspect.ismethod(fn) else fn
    if inspect.isfunction(fn) and fn.__code__.co_flags & _ANYTHING == _ANYTHING:
        for cell in fn.__closure__ or ():
            with suppress(ValueError):  # one that is empty as yet
                if callable(cell.cell_contents) and not isinstance(cell.cell_contents, type):
                    yield cell.cell_contents


def _main() -> str:
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    return os.path.splitext(os.path.basename(getattr(main, "__file__", "") or "__main__"))[0]


def is_method(fn: Callable[..., Any]) -> bool:
    """Whether a function was written in a class body and takes its object first."""
    outer = text_of(fn, "__qualname__").rpartition(".")[0]
    if not inspect.isfunction(fn) or not outer or outer.endswith("<locals>"):
        return False
    return next(iter(signature(fn).parameters), "") in ("self", "cls")


def _below(fn: Any) -> Iterator[Any]:
    """A callable, and those that it says it calls: what a partial is of, what functools.wraps() was given."""
    while fn is not None:
        yield fn
        if isinstance(fn, functools.partial):
            fn = fn.func
        else:
            own = inspect.isroutine(fn) and not inspect.ismethod(fn)
            fn = getattr(fn, "__wrapped__", None) if own else None


def receiver(fn: Any) -> Any:
    """The object behind a bound method, or a callable object, also below partials and wrappers; else None."""
    *_, last = _below(fn)
    if inspect.isroutine(last) or isinstance(last, type):
        behind = getattr(last, "__self__", None)
        return None if isinstance(behind, ModuleType) else behind  # as that of len
    return last


def bound(fn: Any, options: Mapping[str, Any]) -> str:
    """A key of what is bound to a callable: a partial's arguments, and a frozen object behind a method.

    "" if there is nothing that can be part of a key.
    """
    given = _given(fn, options)
    return encode([_tree(one) for one in given]).hex() if any(map(_keyable, given)) else ""


def with_given(fn: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with what is `bound` and can still change, such as a partial's list, added to `vary`."""
    kinds = Kinds()
    changing = [one for one in _given(fn, options) if not fixed(one, kinds) and _keyable(one)]
    return {**options, "vary": [*options.get("vary", ()), lambda: changing]} if changing else options


def _given(fn: Any, options: Mapping[str, Any]) -> list[Any]:
    given: list[Any] = []
    told = {n: p.default for n, p in signature_of(fn).parameters.items()}  # those are arguments of each call
    for one in _below(fn):
        if isinstance(one, functools.partial):
            given += one.args
            given += [(n, held) for n, held in sorted(one.keywords.items()) if told.get(n, told) is not held]
    behind = receiver(fn)
    if _frozen(behind) and options.get("self_key") is None and not options.get("share_self"):
        given.append(behind)
    return given


def _tree(given: Any) -> Tree:
    try:
        return argument(given)
    except (NotKeyable, RecursionError):
        return _NO_TREE


def _keyable(given: Any) -> bool:
    return _tree(given) is not _NO_TREE


def declared(fn: Any, options: Mapping[str, Any]) -> bool:
    """Whether its owner or its class says on what of the object behind a method the answers depend."""
    said = options.get("self_key") is not None or options.get("share_self")
    return bool(said or mark_of(fn, "version", "") or bound(fn, options))


def _frozen(value: Any) -> bool:
    made = getattr(type(value), "__dataclass_params__", None)
    config = getattr(type(value), "model_config", None)  # pydantic's
    frozen = (made is not None and made.frozen) or (isinstance(config, dict) and config.get("frozen"))
    return isinstance(value, type) or bool(frozen) or (value is not None and fixed(value, Kinds()))


def with_receiver(fn: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with what `self_key` names of the object behind a bound method added to `vary`."""
    key, behind = options.get("self_key"), receiver(fn)
    if key is None or is_method(fn):
        return options
    if behind is None:
        remedy = f"{name_of(fn)} is not a method (its first parameter would be called self): leave it out"
        raise ConfigurationError("self_key", key, remedy)

    def asked() -> Any:
        return [found for _, found in attributes(behind, key)]

    return {**options, "vary": [*options.get("vary", ()), asked]}


def with_marks(fn: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options, with a callable's own marks added: `cachelayer_ignored`, the parameters that change no answer;
    `cachelayer_vary`, what belongs to the key beside the arguments; `cachelayer_version`, what sets it apart from
    others of its name."""
    ignored, version = mark_of(fn, "ignored", frozenset[str]()), mark_of(fn, "version", "")
    if ignored:
        options = {**options, "ignore": [*strings("ignore", options.get("ignore", ())), *ignored]}
    given, vary = options.get("vary", ()), mark_of(fn, "vary", tuple[Any, ...]())
    if vary and isinstance(given, list | tuple):  # `options.check` refuses anything else
        options = {**options, "vary": [*given, *vary]}
    return {"version": version, **options} if version else options


def settled(fn: Any, ignore: Sequence[str]) -> bool:
    """Whether no default that is part of a call's identity can change between two calls."""
    kinds, parameters = Kinds(), signature_of(fn).parameters
    defaults = [p.default for n, p in parameters.items() if n not in ignore and p.default is not p.empty]
    return all(says_nothing(value) or fixed(value, kinds) for value in defaults)


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


def check_tags(tags: tuple[str, ...], fn: Any, name: str) -> None:
    """Raise ConfigurationError for a tag that is no template, or over a parameter that the function does not have."""
    every = signature_of(fn).parameters.values()
    many = {one.name: one.kind for one in every if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
    known = [one.name for one in every if one.name not in many]
    for tag in tags:
        for field in fields_of("tags", tag):
            first = field.replace("[", ".").partition(".")[0]
            if first in many:
                remedy = f"{name}: {first!r} is any number of arguments: name one, a keyword by its own name"
                raise ConfigurationError("tags", tag, remedy)
            if first not in known and inspect.Parameter.VAR_KEYWORD not in many.values():
                remedy = f"{name} has no parameter {first!r}; it has {', '.join(known)}"
                raise ConfigurationError("tags", tag, remedy)


def fields_of(setting: str, template: str, within: str | None = None) -> Iterator[str]:
    """The fields that a template (or what it has `within` a field) names, also inside format specifications.

    Raises ConfigurationError, for `setting`, for what is no template.
    """
    try:
        parts = list(string.Formatter().parse(template if within is None else within))
    except ValueError as fault:
        remedy = f"it is not a template ({fault}); write a brace that stands for itself twice: {{{{ or }}}}"
        raise ConfigurationError(setting, template, remedy) from None
    for _, field, form, _ in parts:
        if field is not None:
            yield field
            yield from fields_of(setting, template, form or "")
