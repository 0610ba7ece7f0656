"""Arguments that are plain JSON values straight to canonical bytes, as most are. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from .canonical import number

_BACKSLASH = ord("\\")
_STRICT = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_SUBCLASS


def encode_plain(fields: dict[str, Any]) -> bytes | None:
    """What `encode` gives for the trees of these arguments, without building them; None if only trees tell.

    That is where anything is no plain JSON value, or bears a NUL, which is what a tag begins with.
    """
    try:
        raw = orjson.dumps(_settled(fields), None, _STRICT)
    except (KeyError, RecursionError, orjson.JSONEncodeError):
        return None
    return None if _BACKSLASH in raw and b"\\u0000" in raw else raw


def _settled(value: dict[str, Any]) -> dict[str, Any]:
    """`value` itself where all numbers in it are canonical, else a copy of the dicts and lists with others."""
    out = value
    for key, item in value.items():
        inner = _SETTLED[type(item)]
        if inner is not None and (settled := inner(item)) is not item:
            if out is value:
                out = value.copy()
            out[key] = settled
    return out


def _settled_list(value: Sequence[Any]) -> Any:
    for item in value:
        if type(item) is not dict or not _UNCHANGED(map(type, item.values())):
            break
    else:
        return value  # a chat's turns
    out: Any = value
    for at, item in enumerate(value):
        inner = _SETTLED[type(item)]
        if inner is not None and (settled := inner(item)) is not item:
            if out is value:
                out = list(value)
            out[at] = settled
    return out


_SETTLED: dict[type, Callable[[Any], Any] | None] = {
    str: None, bool: None, type(None): None, int: None, float: number,
    dict: _settled, list: _settled_list, tuple: _settled_list,
}  # fmt: skip
"""How values of a class become what orjson writes canonically; None for those that are."""
_UNCHANGED = frozenset({str, bool, type(None), int}).issuperset
