"""What classes say that are arguments themselves, such as the form that an answer shall have. Pure."""

from __future__ import annotations

import enum
import hashlib
import inspect
import re
import typing
from contextlib import suppress
from types import UnionType
from typing import Any
from weakref import WeakKeyDictionary

from ...signatures import annotations_of
from ..answers.kinds import named

_shapes: WeakKeyDictionary[type, Any] = WeakKeyDictionary()
"""Kept: a schema takes longer to make than all else of a hit."""
_SAYING = (
    "__dataclass_fields__", "__attrs_attrs__", "model_fields", "_fields", "_field_defaults", "__required_keys__",
    "__struct_encode_fields__", "__struct_defaults__",
)  # fmt: skip
"""Attributes of classes that say of their fields what annotations do not: defaults, constraints, names."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def shape(kind: type) -> Any:
    """What a class declares: its schema, members or fields; None of classes that declare none."""
    found = _shapes.get(kind)
    if found is None:
        found = _shape(kind, {})
        if getattr(kind, "__pydantic_complete__", True):
            _shapes[kind] = found
    return found


def _shape(kind: type, seen: dict[int, int]) -> Any:
    """See `shape`; for a class that was `seen` before, its number there."""
    doc = inspect.cleandoc(kind.__doc__ or "")
    if issubclass(kind, enum.Enum):
        return [doc, [[name, _told(member.value)] for name, member in kind.__members__.items()]]
    if hasattr(kind, "model_json_schema"):
        with suppress(*named("pydantic.errors", "PydanticUserError")):
            return kind.model_json_schema()
    said = [name + _told(getattr(kind, name)) for name in _SAYING if hasattr(kind, name)]
    if not said:
        return None
    if id(kind) in seen:
        return seen[id(kind)]
    seen[id(kind)] = len(seen)
    annotations = {name: _annotation(value, seen) for name, value in _annotations(kind).items()}
    return [doc, annotations, hashlib.sha256("\n".join(said).encode(errors="surrogatepass")).hexdigest()]


def _annotations(kind: type) -> dict[str, Any]:
    with suppress(NameError, TypeError, AttributeError):
        return typing.get_type_hints(kind, include_extras=True)
    return annotations_of(kind)


def made_by(value: Any) -> Any:
    """What a form is made by, such as the `list` of `list[Answer]`; None of others. `int | None` and `Optional[int]`
    are equal, and before Python 3.14 of two classes."""
    origin = typing.get_origin(value)
    return typing.Union if origin is UnionType else origin


def _annotation(value: Any, seen: dict[int, int]) -> Any:
    if (origin := made_by(value)) is not None:
        return [_annotation(origin, seen), [_annotation(part, seen) for part in typing.get_args(value)]]
    if isinstance(value, type):
        return [_told(value), _shape(value, seen)]
    if (meant := _meant(value)) is None or id(value) in seen:
        return _told(value)
    seen[id(value)] = len(seen)
    return [_told(value), _annotation(meant, seen)]


def _meant(value: Any) -> Any:
    """What a name that NewType or a `type` statement made stands for; None of others."""
    with suppress(NameError):
        return getattr(value, "__supertype__", None) or getattr(value, "__value__", None)
    return None


def _told(value: Any) -> str:
    """Its repr, as it is in every process."""
    return _ADDRESS.sub("", repr(sorted(value) if isinstance(value, frozenset) else value))
