"""The options of `cached` and `wrap` beside the fields of `Policy`, checked when a function is wrapped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from ..checks import unquoted
from ..errors import ConfigurationError
from ..exact.wire.writer import encodes
from ..policy import Policy, check_names, is_coroutine_function


def _plain(given: object) -> bool:
    return callable(given) and not is_coroutine_function(given)


def _many(given: object, holds: Callable[[Any], bool]) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, str | bytes) and all(map(holds, given))


def _text(given: object) -> bool:
    return isinstance(given, str)


def _texts(given: object) -> bool:
    return _many(given, _text)


def _named(given: object) -> bool:
    return isinstance(given, str | int | float) and not isinstance(given, bool)


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (
        lambda given: _text(given) and bool(given) and encodes(given),
        "give a non-empty string that can be written as UTF-8",
    ),
    "version": (_named, "give a string or a number"),
    "text": (lambda given: _text(given) or _plain(given), "name a parameter, or give a plain function"),
    "vector": (callable, "give a function that makes the vector of an argument"),
    "tags": (_texts, "give a list of strings"),
    "ignore": (_texts, "give a list of strings"),
    "key": (_plain, "give a plain function of the arguments"),
    "vary": (
        lambda given: _many(given, lambda one: isinstance(one, ContextVar) or _plain(one)),
        "give a list of plain functions and ContextVars",
    ),
    "self_key": (
        lambda given: _text(given) or _plain(given) or _texts(given),
        "name an attribute, or give a list of them or a plain function of the object",
    ),
    "share_self": (lambda given: isinstance(given, bool), "give True or False"),
    "share": (lambda given: isinstance(given, bool), "give True or False"),
    "view": (_plain, "give a plain function of the answer"),
    "judge": (callable, "give a function of two answers that tells whether they say the same"),
    "codec": (lambda given: hasattr(given, "encode") and hasattr(given, "decode"), "give a cachelayer codec"),
}
OPTIONS = tuple(_CHECKS)
_ELSEWHERE = {
    "policy": "give its fields as options, as in cached(ttl='10m')",
    **dict.fromkeys(
        ("store", "embedder", "index", "verifier", "tenancy", "clock", "seed", "types"),
        "it belongs to the layer: CacheLayer({}=...)",
    ),
    **dict.fromkeys(
        ("tenant", "principal", "deadline"), "it belongs to a call: with layer.scope({}=...): ..."
    ),
}
"""Where settings that are no options are given instead."""
MAY_BE_NONE = frozenset({"name", "text", "key", "self_key", "view", "judge", "codec"})


def policy_fields(options: Mapping[str, Any], beside: Iterable[str] = ()) -> dict[str, Any]:
    """The options that are fields of `Policy`. Raises ConfigurationError for the first that is neither.

    `beside`: names that whoever was given these takes as well, and may have been meant.
    """
    fields = {name: value for name, value in options.items() if name not in OPTIONS}
    for name, value in fields.items():
        if name in _ELSEWHERE:
            raise ConfigurationError(name, unquoted(value), _ELSEWHERE[name].format(name))
    check_names("option", fields, [*Policy.__dataclass_fields__, *OPTIONS, *beside])
    return fields


def refuse(options: Mapping[str, Any], remedies: Mapping[str, str]) -> None:
    """Raise ConfigurationError for the first option that is settled here otherwise, with the remedy for it."""
    for name, remedy in remedies.items():
        given = options.get(name)
        if not (given is None or given is False or given in ([], ())):
            raise ConfigurationError(name, given, remedy)


def check(options: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for the first option whose value cannot work."""
    for name, value in options.items():
        holds, remedy = _CHECKS[name]
        if not (holds(value) or (value is None and name in MAY_BE_NONE)):
            raise ConfigurationError(name, value, remedy)
    if options.get("share_self") and options.get("self_key") is not None:
        raise ConfigurationError(
            "share_self", True, "self_key= names what of the object counts: leave one out"
        )
