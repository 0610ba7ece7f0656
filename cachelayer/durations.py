"""Durations as people write them: seconds, `timedelta`, or "1h30m"."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from .errors import ConfigurationError

Duration = float | int | str | timedelta

_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST = 36500 * 86400.0
"""Seconds; far beyond it clocks of threads, Redis and sums of times overflow."""
_MOST = 10**300
"""Beyond it a whole number might be no float."""
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")


def seconds(field: str, value: object, *, zero: bool = True, most: float = LONGEST) -> float:
    """`value` in seconds.

    Raises ConfigurationError, naming `field`, for what is no duration, is negative, more than `most`, or is 0 if
    `zero` is False.
    """
    parsed = value if type(value) is float else _parse(value)
    if parsed is None or not math.isfinite(parsed):
        raise ConfigurationError(
            field, value, "give seconds, a timedelta, or a string like '90s', '1h30m', '250ms'"
        )
    if parsed < 0 or (parsed == 0 and not zero):
        raise ConfigurationError(field, value, "give a duration above 0" if not zero else "give 0 or more")
    if parsed > most:
        raise ConfigurationError(field, value, "give a hundred years at most: '36500d'")
    return parsed


def _parse(value: object) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value) if abs(value) < _MOST else math.inf
    if isinstance(value, str):
        text = value.replace(" ", "").lower()
        parts = _PART.findall(text)
        if parts and "".join(n + u for n, u in parts) == text:
            return sum(float(n) * _UNITS[u] for n, u in parts)
    return None
