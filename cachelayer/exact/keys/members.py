"""What objects with named fields hold: dataclasses, attrs classes, structs, pydantic models, namespaces. Pure."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from ..answers.kinds import named

LIBRARY = frozenset(
    (
        "builtins", "collections", "datetime", "numpy", "decimal", "fractions", "pathlib", "pydantic.main",
        "zoneinfo", "ipaddress",
    )
)  # fmt: skip
"""Modules whose classes below a type are forms of it, and hold nothing besides."""
_UNSET = object()


class Members(NamedTuple):
    """The fields of an object, by name."""

    tag: str
    public: dict[str, Any]
    private: dict[str, Any]
    """Compared where it can be: locks and connections are not."""


def members(value: Any) -> Members | None:
    """What identifies an object made of named fields; None for classes and any other object."""
    kind = type(value)
    if isinstance(value, type):
        return None
    if (names := field_names(kind)) is not None:
        return _declared(value, names)
    if hasattr(kind, "model_fields") and hasattr(value, "model_dump"):  # pydantic
        # not as it is dumped: dumps leave out what is `exclude`d, and do not tell the classes of inner models
        fields = kind.model_fields
        whole = getattr(value, "__dict__", {}).keys() <= fields.keys()
        found = Members("model", _set(value, fields), {}) if whole else _declared(value, fields)
        private = getattr(value, "__pydantic_private__", None) or {}
        return Members("model", {**found.public, **(value.model_extra or {})}, {**found.private, **private})
    if isinstance(value, (types.SimpleNamespace, *named("argparse", "Namespace"))):
        return _declared(value, ())
    return None


def beside(value: Any) -> Members:
    """What an object of a subclass of a plain type, such as `str` or `dict`, holds besides its content."""
    fields = field_names(type(value)) or []
    found = _declared(value, fields)
    held = {name: more for name, more in found.public.items() if name not in fields}
    found = Members(found.tag, _set(value, fields), {**held, **found.private})
    if isinstance(value, dict):  # not again what can be read as an item, too
        for held in found.public, found.private:
            for name in [name for name, more in held.items() if dict.get(value, name) is more]:
                del held[name]
    return found


def field_names(kind: type) -> list[str] | None:
    """The fields that a class declares; None of one that is no dataclass, attrs class or struct."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [field.name for field in kind.__attrs_attrs__]
    if hasattr(kind, "__struct_fields__"):  # msgspec
        return list(kind.__struct_fields__)
    return None


def _declared(value: Any, names: Collection[str]) -> Members:
    """Fields, and what else it was given: by a class below it, or when it was made."""
    kind = type(value)
    public = _set(value, names)
    private: dict[str, Any] = {}
    for name, more in {**_slots(value), **getattr(value, "__dict__", {})}.items():
        if name not in public and not isinstance(getattr(kind, name, None), functools.cached_property):
            (private if name.startswith("_") else public)[name] = more
    return Members("dataclass", public, private)


def _set(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Those attributes that were set."""
    return {name: more for name in names if (more := getattr(value, name, _UNSET)) is not _UNSET}


def _slots(value: Any) -> dict[str, Any]:
    """What is held in slots that the classes of `value` declare; attrs' own are its fields, or worked out of them."""
    names: list[str] = []
    for base in type(value).__mro__:
        slots = (
            ()
            if base.__module__ in LIBRARY or "__attrs_attrs__" in vars(base)
            else vars(base).get("__slots__", ())
        )
        for name in (slots,) if isinstance(slots, str) else slots:
            hidden = name.startswith("__") and not name.endswith("__")
            names.append(f"_{base.__name__.lstrip('_')}{name}" if hidden else name)
    return _set(value, (name for name in names if name not in ("__dict__", "__weakref__")))
