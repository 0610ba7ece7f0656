"""Guard: the texts say how often, and not alike: 'twice a day' / 'once every two days', 'daily' / 'every other day'."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from ..text import lexicon as lx
from ..text.signature import Signature

_DAYS: Final = {
    name + ending: days
    for name, days in {
        "hour": Fraction(1, 24), "day": Fraction(1), "week": Fraction(7), "month": Fraction(30), "year": Fraction(365),
    }.items()
    for ending in ("", "s")
}  # fmt: skip
_REGULAR: Final = {
    "hourly": "hour", "daily": "day", "nightly": "day", "weekly": "week", "monthly": "month", "yearly": "year",
    "annually": "year",
}  # fmt: skip
_COUNTS: Final = {"once": 1, "twice": 2, "thrice": 3}
EACH: Final = frozenset(("a", "an", "per", "every", "each"))
_EVERY: Final = frozenset(("every", "each"))
_SKIPPED: Final = {"other": 2, "second": 2, "third": 3, "fourth": 4}
_HINTS: Final = _EVERY.union(_REGULAR, _COUNTS, ("times", "per"))


def rates(a: Signature, b: Signature) -> bool:
    """Both say how often, and no two of their rates are the same."""
    if a.vocabulary.isdisjoint(_HINTS) or b.vocabulary.isdisjoint(_HINTS):
        return False
    mine, theirs = frozenset(_rates(a.words)), frozenset(_rates(b.words))
    return bool(mine and theirs) and mine.isdisjoint(theirs)


def _rates(words: tuple[str, ...]) -> Iterator[Fraction]:
    """Times a day."""
    for i, word in enumerate(words):
        if word in _REGULAR:
            yield 1 / _DAYS[_REGULAR[word]]
            continue
        times, behind = _times(words, i)
        if times and words[behind : behind + 1] and words[behind] in EACH:
            yield from (times / days for days in _span(words, behind + 1))
        elif word in _EVERY and not _counted(words, i):
            yield from (1 / days for days in _span(words, i + 1))


def _times(words: tuple[str, ...], at: int) -> tuple[int, int]:
    """How many times are said there, and where that ends: 'twice', 'three times'."""
    if words[at] in _COUNTS:
        return _COUNTS[words[at]], at + 1
    if words[at + 1 : at + 2] == ("times",):
        return _number(words[at]), at + 2
    return 0, at


def _counted(words: tuple[str, ...], at: int) -> bool:
    """Whether what is said before `at` counts times: 'twice every day'."""
    return at > 0 and (words[at - 1] in _COUNTS or words[at - 1] == "times")


def _span(words: tuple[str, ...], at: int) -> Iterator[Fraction]:
    """Days of 'day', 'two days', 'other day' there."""
    word, after = (*words[at : at + 2], "", "")[:2]
    if word in _DAYS:
        yield _DAYS[word]
    elif after in _DAYS and (many := _SKIPPED.get(word) or _number(word)):
        yield many * _DAYS[after]


def _number(word: str) -> int:
    return lx.CARDINALS.get(word, int(word) if word.isdecimal() and len(word) < 5 else 0)
