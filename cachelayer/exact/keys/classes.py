"""What classes say that are arguments themselves, such as the form that an answer shall have. Pure."""

from __future__ import annotations

import enum
import inspect
import typing
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from ...signatures import annotations_of
from ..answers.kinds import named
from .members import field_names

_shapes: WeakKeyDictionary[type, Any] = WeakKeyDictionary()
"""Kept: a schema takes longer to make than all else of a hit."""


def shape(kind: type) -> Any:
    """What a class declares: its schema, members or fields; None of classes that declare none."""
    found = _shapes.get(kind)
    if found is None:
        found = _shape(kind, set())
        if getattr(kind, "__pydantic_complete__", True):
            _shapes[kind] = found
    return found


def _shape(kind: type, within: set[type]) -> Any:
    if issubclass(kind, enum.Enum):
        return [[name, repr(member.value)] for name, member in kind.__members__.items()]
    if hasattr(kind, "model_json_schema"):
        with suppress(*named("pydantic.errors", "PydanticUserError")):
            return kind.model_json_schema()
    fields = field_names(kind)
    if fields is None and (
        typing.is_typeddict(kind) or hasattr(kind, "_fields") or hasattr(kind, "model_fields")
    ):
        fields = []
    if fields is None or kind in within:
        return None
    held = {**dict.fromkeys(fields), **_annotations(kind)}
    annotations = {name: _annotation(value, within | {kind}) for name, value in held.items()}
    return [inspect.cleandoc(kind.__doc__ or ""), annotations]


def _annotations(kind: type) -> dict[str, Any]:
    with suppress(NameError, TypeError, AttributeError):
        return typing.get_type_hints(kind, include_extras=True)
    return annotations_of(kind)


def _annotation(value: Any, within: set[type]) -> Any:
    if (origin := typing.get_origin(value)) is not None:
        return [repr(origin), [_annotation(part, within) for part in typing.get_args(value)]]
    return [repr(value), _shape(value, within)] if isinstance(value, type) else repr(value)
