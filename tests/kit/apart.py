"""What a guard says of two texts."""

from __future__ import annotations

from cachelayer.semantic.guards.plain import Guard
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words


def apart(guard: Guard, one: str, other: str) -> bool:
    """Whether it tells them apart, which must not depend on their order."""
    a, b = (read(text, words()).signature for text in (one, other))
    told = guard(a, b)
    assert told == guard(b, a)
    return told
