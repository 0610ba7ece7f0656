"""The classes that a type annotation names, and a fingerprint of a class's fields."""

from __future__ import annotations

import dataclasses
import enum
import re
import sys
import types
import typing
from typing import Any

import xxhash

from ...signatures import annotations_of
from ..answers.kinds import Kind, Plan, classify, is_url, plain_base

_MAX = 4096


def types_from(annotation: Any) -> frozenset[type]:
    """Dataclasses, attrs classes, pydantic models, enums, named tuples and the like that `annotation` can hold.

    Looks into unions, containers, iterators, awaitables, type variables, and recursively into the fields of
    what it finds. What it does not understand, such as a name that does not resolve, it leaves out.
    """
    found: set[type] = set()
    seen: list[Any] = []
    todo = [annotation]
    while todo and len(seen) < _MAX:
        hint = todo.pop()
        if any(hint is known for known in seen):
            continue
        seen.append(hint)
        if isinstance(hint, type) and typing.get_origin(hint) is None:
            if travels(hint) and not typing.is_typeddict(hint):
                found.add(hint)
            todo += _fields(hint)
        else:
            todo += _inside(hint)
    return frozenset(found)


def travels(cls: type) -> bool:
    """Whether values of this class can leave the process once it is on the allow-list."""
    kind = classify(cls).kind
    if kind != Kind.FIXED:
        return kind in (Kind.OBJECT, Kind.NAMED)
    return issubclass(cls, enum.Enum) or is_url(cls) or plain_base(cls) is not None


def _inside(hint: Any) -> list[Any]:
    if typing.get_origin(hint) is typing.ClassVar:
        return []  # no field
    parts = [part for part in typing.get_args(hint) if not isinstance(part, str | bytes | int)]
    parts = [type(part) if isinstance(part, enum.Enum) else part for part in parts]  # Literal[Color.RED]
    for name in ("__origin__", "__bound__", "__supertype__"):
        parts.append(getattr(hint, name, None))
    parts += getattr(hint, "__constraints__", ())
    if type(hint).__name__ == "TypeAliasType":
        parts.append(hint.__value__)
    return [part for part in parts if part is not None]


def _fields(cls: type) -> list[Any]:
    """Annotations of a class that has fields: dataclass, attrs, pydantic, named tuple, TypedDict."""
    models = getattr(cls, "__pydantic_fields__", None)
    if isinstance(models, dict):
        private = annotations_of(cls)
        return [field.annotation for field in models.values()] + list(
            _resolved(private, _globals(cls)).values()
        )
    if not (travels(cls) or typing.is_typeddict(cls)) or issubclass(cls, enum.Enum):
        return []
    return [
        hint
        for base in reversed(cls.__mro__)
        for hint in _resolved(annotations_of(base), _globals(base)).values()
    ]


def _globals(cls: type) -> dict[str, Any]:
    return {**vars(sys.modules.get(cls.__module__, types)), cls.__name__: cls}


def _resolved(annotations: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Annotations with their strings resolved one by one; what does not resolve is left out."""
    resolved = {}
    for name, hint in annotations.items():
        holder = types.SimpleNamespace(__annotations__={name: hint})
        try:
            resolved.update(typing.get_type_hints(holder, globalns=names, include_extras=True))
        except (NameError, TypeError, AttributeError, SyntaxError):
            continue
    return resolved


def fingerprint(plan: Plan) -> str:
    """8 hex digits of the class's fields and their annotations: another version of the class gives others."""
    cls = plan.cls
    if issubclass(cls, enum.Enum):
        shape: list[Any] = sorted(cls.__members__)
    elif isinstance(models := getattr(cls, "__pydantic_fields__", None), dict):
        shape = [(name, str(field.annotation)) for name, field in models.items()]
    elif dataclasses.is_dataclass(cls):
        shape = [(field.name, str(field.type)) for field in dataclasses.fields(cls)]
    else:
        shape = [(name, str(hint)) for name, hint in annotations_of(cls).items()]
    text = repr((shape, getattr(cls, "_fields", ()), [name for name, _, _ in plan.slots]))
    return xxhash.xxh3_64_hexdigest(re.sub(r" at 0x[0-9a-f]+", "", text).encode())[:8]
