"""Lengths of time in one unit: whoever waits two weeks waits 14 days."""

from __future__ import annotations

from typing import Final

_LONGER: Final = {"second": (60, "minute"), "minute": (60, "hour"), "hour": (24, "day")}
_SHORTER: Final = {"week": (7, "day"), "year": (12, "month")}
"""What so many of them are one of, and what one of them is of a shorter kind."""
_HALVES: Final = {"minute": (30, "second"), "hour": (30, "minute"), "day": (12, "hour"), "year": (6, "month")}
"""What half of one is, in whole ones of a shorter kind."""
LONGEST: Final = 18
"""Digits of a number that is reckoned with."""


def measure(value: str, unit: str) -> tuple[str, str]:
    """One way to say how long: '2 weeks' are 14 days, '48 hours' 2 days, '1.5 years' 18 months."""
    if unit in _HALVES and value.endswith(".5") and value[:-2].isdigit() and len(value) < LONGEST:
        half, unit = _HALVES[unit]
        value = str((2 * int(value[:-2]) + 1) * half)
    if not value.isdigit() or len(value) > LONGEST:
        return value, unit
    many = int(value)
    if unit in _SHORTER:
        times, unit = _SHORTER[unit]
        many *= times
    while unit in _LONGER and many and many % _LONGER[unit][0] == 0:
        times, unit = _LONGER[unit]
        many //= times
    return str(many), unit
