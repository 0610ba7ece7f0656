"""The fields of a dict or an object alike, read without running code of the object's class."""

from __future__ import annotations

import types
from typing import Any

from .kinds import ATOMS

Fields = dict[str, Any]
_NONE: Fields = {}
_HEAP = 1 << 9
"""The type flag of classes made by a class statement; slots of others are none of our business."""


def fields(thing: Any) -> Fields:
    """A dict itself, what an object holds by name, else nothing. Runs no code of the object's class."""
    if isinstance(thing, dict):
        return thing
    cls = type(thing)
    if cls in ATOMS or cls is list:
        return _NONE
    held = getattr(thing, "__dict__", None)
    if not isinstance(held, dict):
        return _slots(thing)
    extra = getattr(cls, "__pydantic_extra__", None)
    if isinstance(extra, types.MemberDescriptorType) and (more := extra.__get__(thing)):
        return {**held, **more}
    return held


def _slots(thing: Any) -> Fields:
    found = {}
    for base in type(thing).__mro__:
        for name, member in vars(base).items():
            if isinstance(member, types.MemberDescriptorType) and type(thing).__flags__ & _HEAP:
                found[name] = getattr(thing, name, None)
    return found


def word(of: Fields, name: str) -> str:
    """A field that is text, else ''."""
    found = of.get(name)
    return found if isinstance(found, str) else ""


def given(of: Fields, name: str) -> Any:
    """A field that holds something, else None. Objects are not asked whether they are true."""
    found = of.get(name)
    if isinstance(found, str | list | dict | tuple | bool | int):
        return found or None
    return None if absent(found) else found


def absent(value: Any) -> bool:
    """Whether a value is one of clients' words for none: `openai`'s and, in arguments and answers, `mistralai`'s."""
    return type(value).__name__ in ("NotGiven", "Omit", "Unset")
