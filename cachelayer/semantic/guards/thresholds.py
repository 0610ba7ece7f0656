"""Guard: the texts bound a number from another side, or one of them includes it or does not bound it at all.

'At least two' / 'more than two', 'less than two', 'two'; 'before 2004' / '2004 or earlier', 'after 2004', 'in 2004';
'one or two' / 'two'. Sides of a day are compared in `relations`, and what is measured by a thing in `comparisons`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..text import lexicon as lx
from ..text.signature import Signature

_EXCLUDED, _INCLUDED, _TIMED, _LOOSE, _DATED = range(5)
"""'More than', 'at least', 'after', 'over': the last may mean either, and is often left away with prices. And 'on'."""
_Bound = tuple[bool, int] | None
"""Whether the number is the least, and how it bounds; None if it does not."""
_ABOVE: Final = "more greater higher longer older larger bigger taller heavier later further farther".split()
_BELOW: Final = (
    "less lesser fewer lower shorter younger smaller lighter cheaper earlier nearer closer".split()
)
THAN: Final = dict.fromkeys(_ABOVE, True) | dict.fromkeys(_BELOW, False)
_AT: Final = ("on", "in", "at", "during")
_BEFORE: Final[dict[str, tuple[bool, int]]] = {
    **{f"{word} than": (above, _EXCLUDED) for word, above in THAN.items()},
    **{f"{word} than or equal to": (above, _INCLUDED) for word, above in THAN.items()},
    **{f"{word} or equal to": (above, _INCLUDED) for word, above in THAN.items()},
    **dict.fromkeys("over above beyond from exceeding exceed exceeds".split(), (True, _LOOSE)),
    **dict.fromkeys(("under", "below", "up to", "within"), (False, _LOOSE)),
    **{"after": (True, _TIMED), "since": (True, _TIMED)},
    **dict.fromkeys(("before", "prior to", "by", "until", "till"), (False, _TIMED)),
    **dict.fromkeys(("at least", "at the least", "minimum", "minimum of"), (True, _INCLUDED)),
    **dict.fromkeys(("at most", "at the most", "maximum", "maximum of"), (False, _INCLUDED)),
    **{phrase: (True, _INCLUDED) for at in _AT for phrase in (f"{at} or after", f"after or {at}")},
    **{phrase: (False, _INCLUDED) for at in _AT for phrase in (f"{at} or before", f"before or {at}")},
}
_THINGLESS: Final = lx.FUNCTION_WORDS.union(lx.UNITS, lx.MULTIPLIERS)
_LONGEST: Final = max(len(phrase.split()) for phrase in _BEFORE)
BEHIND: Final = dict.fromkeys(
    "more above over older up longer later after greater higher".split(), True
) | dict.fromkeys("less fewer under below younger shorter earlier before lower".split(), False)
"""'4 stars or more', '12 and under', '2004 or later'."""
_LAST: Final = {
    ("minimum",): True, ("at", "least"): True, ("at", "the", "least"): True, ("at", "the", "earliest"): True,
    ("maximum",): False, ("at", "most"): False, ("at", "the", "most"): False, ("at", "the", "latest"): False,
}  # fmt: skip
_ONWARD: Final = frozenset(("onwards", "onward"))
_LASTS: Final = frozenset(phrase[-1] for phrase in _LAST)
_ARTICLES: Final = frozenset(("the", "a"))
_LINKS: Final = frozenset(("or", "and"))
NOT: Final = frozenset(
    "no not isn't aren't wasn't don't doesn't didn't never nor nothing without cannot can't won't shouldn't".split()
)
_DAYS: Final = {
    **lx.WEEKDAYS,
    **lx.RELATIVE_DAYS,
    **{word: f"month {number}" for word, number in lx.MONTHS.items()},
}
_HINTS: Final = frozenset(word for phrase in _BEFORE for word in phrase.split()).union(
    BEHIND, _LASTS, ("between", "one")
) - frozenset("to in on of at or equal the during".split())
_TELLING: Final = _HINTS - frozenset("from by since until till within beyond".split())
"""Beside one of these a number may be bounded in a way that is not read; the others say much else."""


def thresholds(a: Signature, b: Signature) -> bool:
    """A number that both name is bounded otherwise in one."""
    if _HINTS.isdisjoint(a.vocabulary) and _HINTS.isdisjoint(b.vocabulary):
        return False
    if not (a.numbers and b.numbers) and not (a.dates and b.dates):
        return False
    mine, theirs = dict(_bounds(a)), dict(_bounds(b))
    return any(value in theirs and _apart(bound, theirs[value]) for value, bound in mine.items())


def _apart(one: _Bound, other: _Bound) -> bool:
    if one is None or other is None:
        return one != other and (one or other or (True, _LOOSE))[1] in (_EXCLUDED, _INCLUDED)
    if _DATED in (one[1], other[1]):
        return one[1] != other[1] and _LOOSE not in (one[1], other[1])
    if one[0] != other[0]:
        return True
    return (one[1] == _INCLUDED) != (other[1] == _INCLUDED) and _LOOSE not in (one[1], other[1])


def _bounds(s: Signature) -> Iterator[tuple[str, _Bound]]:
    """Numbers and how they are bounded; none of a text that denies something else."""
    words, last, before = s.words, len(s.words), None
    denied, hinted = sum(word in NOT for word in words), not _TELLING.isdisjoint(s.vocabulary)
    for i, word in enumerate(words):
        value = str(lx.CARDINALS.get(word, _DAYS.get(word, word)))
        if not value[0].isdigit() and word not in _DAYS:
            continue
        bound, turned = _said_before(words, i)
        if bound is None and i > 1 and words[i - 1] in _LINKS:
            bound = (False, _INCLUDED) if words[i - 2] == "one" else before if 0 <= i - last <= 3 else None
        if bound and bound[1] == _LOOSE and _few(words, i, value):
            bound = bound[0], _EXCLUDED
        if not _ONWARD.isdisjoint(words[i + 1 : i + 3]):
            bound = True, _INCLUDED
        bound = bound or _said_behind(words[i + 1 : i + 5])
        last, before = i, bound
        if denied == turned and (bound is not None or not hinted):
            yield value, bound or _dated(words, i)


def _few(words: Sequence[str], at: int, value: str) -> bool:
    """Of few things 'over two' is 'more than two'; of money, and of years of age, it often means two as well."""
    of = words[at + 1 : at + 2]
    return len(value) == 1 and bool(of) and _THINGLESS.isdisjoint(of) and words[at - 1] != "to"


def _dated(words: Sequence[str], at: int) -> _Bound:
    """'On the 2nd', 'on Monday', 'in 2004', 'in May'."""
    year = words[at] in lx.MONTHS or (len(words[at]) == 4 and words[at].startswith(("19", "20")))
    at = _first(words, at)
    return (True, _DATED) if at and (words[at - 1] == "on" or (year and words[at - 1] == "in")) else None


def _first(words: Sequence[str], at: int) -> int:
    """Where a date begins: 'january 2', 'the 2nd'."""
    while at and (words[at - 1] in lx.MONTHS or words[at - 1] in _ARTICLES):
        at -= 1
    return at


def _said_before(words: tuple[str, ...], at: int) -> tuple[_Bound, bool]:
    """What the words before a number say, and whether that is denied."""
    at = _first(words, at)
    for n in range(min(_LONGEST, at), 0, -1):
        if bound := _BEFORE.get(" ".join(words[at - n : at])):
            turned = at > n and words[at - n - 1] in NOT
            return (
                not bound[0],
                _EXCLUDED if bound[1] == _INCLUDED else _INCLUDED,
            ) if turned else bound, turned
    return None, False


def _said_behind(words: Sequence[str]) -> _Bound:
    """'Or more', at once or behind a thing; 'at most', 'minimum'."""
    for i, word in enumerate(words):
        if word in _LASTS:
            said = (_LAST.get(tuple(words[max(i - n, 0) : i + 1])) for n in range(3))
            return next(((above, _INCLUDED) for above in said if above is not None), None)
        if word in _LINKS and i + 1 < len(words):
            above = BEHIND.get(words[i + 1])
            return None if above is None else (above, _INCLUDED)
    return None
