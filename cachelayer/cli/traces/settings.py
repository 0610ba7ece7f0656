"""`--config` on the command line: names and fields to policies."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ...errors import ConfigurationError
from ...policy import Budgets, Normalize, Policy, check_names

_NESTED = {"budgets": Budgets, "normalize": Normalize}
_WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True, slots=True)
class Config:
    """A policy under the name that the command line gave it."""

    name: str
    policy: Policy
    given: dict[str, Any]
    """The fields that were given."""


def config(text: str) -> Config:
    """'default', 'exact' (no similar answers), or 'field=value,field=value'. Raises ConfigurationError."""
    if text == "default":
        return Config(text, Policy(), {})
    if text == "exact":
        return Config(text, Policy(semantic=False), {"semantic": False})
    given: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not name or not equals or not value:
            raise ConfigurationError(
                "--config", text, "write 'exact', 'default', or field=value with commas between, such as "
                "max_error_rate=0.01,ttl=1h",
            )  # fmt: skip
        whole, _, inner = name.partition(".")
        if inner and whole in _NESTED:
            nested.setdefault(whole, {})[inner] = _value(value)
        else:
            given[name] = _value(value)
    check_names("--config field", given, [f.name for f in fields(Policy)])
    for whole, inside in nested.items():
        given[whole] = _NESTED[whole](**inside)
    return Config(text, Policy(**given), given)


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
