"""Checks of single settings: what cannot work is refused by field, value and remedy."""

from __future__ import annotations

import sys

from .errors import ConfigurationError
from .types import Outcome


class _OfType(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self}>"


def unquoted(value: object) -> str:
    """What an error says of a value that may hold a secret, such as a URL with its password: its type alone."""
    return _OfType(type(value).__name__)


def either(field: str, value: object) -> None:
    """Raise ConfigurationError for what is not True or False."""
    if not isinstance(value, bool):
        raise ConfigurationError(field, value, "give True or False")


def named(field: str, value: object) -> None:
    """Raise ConfigurationError for what is no string, or empty."""
    if not isinstance(value, str) or not value:
        raise ConfigurationError(field, value, "give a non-empty string")


def function(fn: object) -> None:
    """Raise ConfigurationError for what cannot be called."""
    if not callable(fn):
        raise ConfigurationError("fn", fn, "give a callable: a function, or a method as in client.ask")


def entry_of(outcome: object) -> str:
    """The id of an outcome, or the id itself. Raises ConfigurationError for what is neither."""
    entry = outcome.id if isinstance(outcome, Outcome) else outcome
    if not isinstance(entry, str):
        raise ConfigurationError("outcome", outcome, "give an Outcome, or the id of one")
    return entry


def semantic(value: object) -> None:
    """Raise ConfigurationError for what is not True, False or "auto", 0 and 1 among it: they equal two of these, and
    everything after this tells them apart by `is`."""
    if not (isinstance(value, bool) or (isinstance(value, str) and value == "auto")):
        raise ConfigurationError("semantic", value, "give True, False or 'auto'")


def whole(field: str, value: object, least: int, otherwise: str = "") -> None:
    """Raise ConfigurationError for what is no whole number of at least `least`. `otherwise`: more of the remedy."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigurationError(field, value, f"give a whole number of at least {least}{otherwise}")


def share(field: str, value: object) -> None:
    """Raise ConfigurationError for what is no number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ConfigurationError(field, value, "give a share from 0 to 1")


def number(
    field: str, value: object, least: float = 0.0, *, above: bool = False, unit: str = "a number"
) -> None:
    """Raise ConfigurationError for what is no finite number of at least `least`, or `above` it."""
    fits = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and least <= value <= sys.float_info.max
    )
    if not fits or (above and value == least):
        raise ConfigurationError(field, value, f"give {unit} {'above' if above else 'of at least'} {least:g}")
