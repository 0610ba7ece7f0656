"""Guard: the answer is wanted in another unit.

'in dollars' / 'in euros', 'how many days' / 'how many weeks', 'a month' / 'a year'. Only units without a number are
compared here; numbers with their units are compared as numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.signature import Signature
from .rates import EACH

_VAGUE: Final = frozenset("am pm o'clock times degree degrees second sec".split())
"""No unit, or something else as well."""
_UNITS: Final = {
    word: "pound" if unit == "gbp" else unit
    for word, unit in lx.UNITS.items()
    if len(word) > 1 and word not in _VAGUE
}
_KINDS: Final = (
    "usd eur jpy inr pound", "kg g mg ounce ton pound", "km mile m cm mm inch foot yard", "liter ml gallon cup",
    "ms second minute hour day week month year", "mph kph", "kb mb gb tb", "kbps mbps", "hz khz mhz ghz",
    "watt kw kwh volt", "celsius fahrenheit",
)  # fmt: skip
"""Units of one kind, a line each; pounds are money's and mass's."""
_RIVALS: Final = {
    unit: frozenset(other for kind in _KINDS if unit in kind.split() for other in kind.split())
    for unit in _UNITS.values()
}
_WORDS: Final = frozenset(_UNITS)
_DAYS: Final = frozenset(("day", "days"))
_AT_WORK: Final = frozenset(("working", "business", "trading"))
_NUMBERS: Final = frozenset(lx.CARDINALS).union(lx.MULTIPLIERS)
_RATES: Final = {
    "hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annual": "year",
    "annually": "year", "annum": "year",
}  # fmt: skip
_PERIODS: Final = frozenset(_RATES.values())
_RATED: Final = frozenset(_RATES).union(("per",))


def units(a: Signature, b: Signature) -> bool:
    """Each text names a unit of one kind that the other says nothing of; 'a month' and 'in dollars' are of two."""
    if not (_RATED.isdisjoint(a.vocabulary) and _RATED.isdisjoint(b.vocabulary)) and _rated_apart(a, b):
        return True
    if _WORDS.isdisjoint(a.vocabulary) or _WORDS.isdisjoint(b.vocabulary):
        return False
    if not (_DAYS.isdisjoint(a.vocabulary) or _DAYS.isdisjoint(b.vocabulary)) and _working(a) != _working(b):
        return True
    mine, theirs = frozenset(_asked(a.words)) - _named(b), frozenset(_asked(b.words)) - _named(a)
    return any(not theirs.isdisjoint(_RIVALS[unit]) for unit in mine)


def _working(s: Signature) -> bool:
    """'Working days', 'business days'."""
    return any(before in _AT_WORK and day in _DAYS for before, day in pairwise(s.words))


def _asked(words: tuple[str, ...]) -> Iterator[str]:
    """Units without a number; 'the time of year' is no year, and 'last year' a date."""
    for i, word in enumerate(words):
        if word in _UNITS:
            before = words[i - 1] if i else ""
            counted = before[:1].isdigit() or before in _NUMBERS or before in lx.WHICH_PERIOD
            if not counted and not {"time", "of"} <= set(words[max(i - 3, 0) : i]):
                yield _UNITS[word]


def _rated_apart(a: Signature, b: Signature) -> bool:
    """'The yearly fee' / 'the fee a month', 'per dose' / 'a day'; per head or per person may be one."""
    mine, theirs = frozenset(_rates(a.words)), frozenset(_rates(b.words))
    if not mine or not theirs or not mine.isdisjoint(theirs):
        return False
    return not _PERIODS.isdisjoint(mine | theirs)


def _rates(words: tuple[str, ...]) -> Iterator[str]:
    for i, word in enumerate(words):
        if word in _RATES:
            yield _RATES[word]
        elif i and words[i - 1] in EACH and (word in _UNITS or words[i - 1] == "per"):
            yield _UNITS.get(word, word)


def _named(s: Signature) -> frozenset[str]:
    return frozenset([_UNITS[word] for word in s.vocabulary & _WORDS])
