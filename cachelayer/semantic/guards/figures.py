"""Guard: of the same data, another figure, its course, or other rows.

'Total sales by region' / 'average sales by region', 'how long is a trip' / 'how long is the average trip', 'revenue by
month' / 'cumulative revenue by month', 'the population of Texas' / 'its population density', 'the cities of Texas' /
'the major cities of Texas', 'orders older than 30 days' / 'orders of the last 30 days', 'states that border Texas' /
'states that border a state that borders Texas'.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature
from .persons import PEOPLE

_MADE: Final = lx.by_first(
    """total sum sums|average avg|median|maximum max highest largest|minimum min lowest smallest|number count counts
    many|percentage percent proportion"""
)
"""How a figure is made of many, by the first word of that meaning."""
_OTHERWISE: Final = {
    "cumulative": frozenset(("running", "accumulated", "accumulative")),
    "density": frozenset(("dense", "densely", "densest", "densities")),
}
"""Words that make another figure of one, and what else says so."""
_MEAN: Final = frozenset(
    "average averages averaged avg mean median typical typically usual usually normal general".split()
)
_NARROWED: Final = lx.by_first(
    "big large major|small|new recent|popular|active|inactive|open pending unpaid overdue|closed|paid"
)
_NARROWING: Final = frozenset(_NARROWED)
_PICKING: Final = _NARROWING.union(
    "main key largest biggest top best good great greater important common famous last latest newest".split()
)
_ROWS: Final = frozenset(
    """cities towns rivers lakes mountains states countries roads airports customers clients users employees members
    students subscribers visitors suppliers vendors companies shops stores restaurants hotels orders accounts products
    items invoices tickets projects tasks deals leads contacts transactions payments events papers articles books
    authors topics keywords movies films songs""".split()
)
"""What lists are made of; 'the major differences' are 'the differences'."""
_AGED: Final = frozenset("older old ago".split())
_RECENT: Final = frozenset(("last", "past"))
_COURSE: Final = frozenset(
    "change changed grow grown compare compared develop developed evolve evolved".split()
)
_HAPPENED: Final = frozenset("did has have does do".split())
_PERSONS: Final = frozenset("i you we they".split())
_VALUES: Final = frozenset(("what", "how many", "price", "when", "how long"))
_DOING: Final = frozenset(("how", "yesno"))
_RELATIVE: Final = frozenset(("that", "which"))
_NO_FIGURES: Final = PEOPLE.union(
    "person people human humans adult american citizen man woman men women guy joe user family household".split()
)
"""Of whom the average one does what all do."""
_TELLING: Final = frozenset().union(_OTHERWISE, _NARROWING, _AGED)
"""Of which one at least is there where `_narrows` finds anything."""


def figures(a: Signature, b: Signature) -> bool:
    """Another figure, a narrower list, the other side of a window of time, the average of what is asked for itself, one
    step more from thing to thing, or how a figure changed."""
    if not a.vocabulary.isdisjoint(_MADE) and not b.vocabulary.isdisjoint(_MADE):
        mine, theirs = _made(a), _made(b)
        if mine - theirs and theirs - mine:
            return True
    if _either(a, b, _TELLING) and _narrows(a, b):
        return True
    if _averages(a, b) or _averages(b, a):
        return True
    if _either(a, b, _RELATIVE) and _steps(a.words) != _steps(b.words):
        return True
    return _either(a, b, _COURSE) and (_changed(a, b) or _changed(b, a))


def _averages(a: Signature, b: Signature) -> bool:
    """The average of something, and the thing itself."""
    if "average" not in a.vocabulary or not _MEAN.isdisjoint(b.vocabulary):
        return False
    at = a.words.index("average")
    return _NO_FIGURES.isdisjoint(a.words[at + 1 : at + 3])


def _either(a: Signature, b: Signature, words: frozenset[str]) -> bool:
    return not (a.vocabulary.isdisjoint(words) and b.vocabulary.isdisjoint(words))


def _narrows(a: Signature, b: Signature) -> bool:
    """One word makes another figure, a narrower list or another window of time."""
    differ = a.vocabulary ^ b.vocabulary
    if any(word in differ and same.isdisjoint(differ) for word, same in _OTHERWISE.items()):
        return True
    if not differ.isdisjoint(_NARROWING) and (_narrower(a, b) or _narrower(b, a) or _otherwise_narrow(a, b)):
        return True
    return not differ.isdisjoint(_AGED) and a.numbers == b.numbers and (_outside(a, b) or _outside(b, a))


def _changed(course: Signature, figure: Signature) -> bool:
    """'How did sales change compared to May?' / 'What were sales in May?'."""
    rest = course.words[1:]
    if course.words[:1] != ("how",) or _HAPPENED.isdisjoint(rest[:1]) or not _PERSONS.isdisjoint(rest[1:2]):
        return False
    differ = not _COURSE.isdisjoint(figure.vocabulary) or any(w.startswith("differ") for w in figure.words)
    return figure.question in _VALUES and not _COURSE.isdisjoint(rest) and not differ


def _made(s: Signature) -> frozenset[str]:
    return frozenset(_MADE[word] for word in s.words if word in _MADE)


def _narrower(few: Signature, all_: Signature) -> bool:
    """'Major cities' here, and there cities of which nothing is said; but to add new users is to add users."""
    if few.question in _DOING or not all_.vocabulary.isdisjoint(_PICKING):
        return False
    words = few.words
    narrow = [i for i, word in enumerate(words) if word in _NARROWING]
    return any(not _ROWS.intersection(words[i + 1 : i + 4]).isdisjoint(all_.vocabulary) for i in narrow)


def _otherwise_narrow(a: Signature, b: Signature) -> bool:
    """'New users' / 'users who were active'."""
    mine, theirs = ({_NARROWED[word] for word in s.vocabulary & _NARROWING} for s in (a, b))
    rows = _ROWS & a.vocabulary & b.vocabulary
    return bool(mine and theirs and rows) and mine.isdisjoint(theirs)


def _outside(old: Signature, late: Signature) -> bool:
    """What is older than a time, and what is of that time."""
    return (
        not _AGED.isdisjoint(old.vocabulary)
        and not late.negations
        and any(
            word in _RECENT and (time[0].isdigit() or time in lx.CARDINALS)
            for word, time in pairwise(late.words)
        )
    )


def _steps(words: Sequence[str]) -> int:
    """How often the same is said of what it was said of: 'that borders a state that borders'; 1 if once."""
    said = Counter(
        stem(what) for word, what in pairwise(words) if word in _RELATIVE and what not in lx.FUNCTION_WORDS
    )
    return max(said.values(), default=1)
