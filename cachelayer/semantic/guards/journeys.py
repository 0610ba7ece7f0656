"""Guard: two journeys that are not the same.

'Flights from Bern to Rome' / 'nonstop flights from Bern to Rome', 'the cheapest fare' / 'the fares', 'which airlines
fly to Rome' / 'which flights go to Rome', 'between Bern and Rome' / 'from Rome to Bern'. Whoever asks for a journey
means every word, but for those that only ask: places and carriers are often in small letters, and no list has them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature

_TRAVEL: Final = frozenset(
    """flight flights fly flying airfare airfares fare fares airline airlines nonstop transport transportation
    train trains bus buses ferry ferries""".split()
)
_GOING: Final = frozenset(
    "get go going travel travelling traveling drive directions route way connection connections distance".split()
)
"""With 'from' behind it and a 'to', one of these is a journey, too."""
_LONG: Final = 20
"""Words from which on it is a story that has a journey in it."""
_NEXT: Final = frozenset("next last first".split())
_ENDS: Final = frozenset(("from", "to", "between"))
_BOUND: Final = frozenset(
    "from between leave leaves leaving depart departs departing arrive arriving oneway one-way roundtrip round".split()
)
_LEADING: Final = frozenset("to into in at out via for".split())
_ASKING: Final = frozenset(
    """flight flights fly flies flying flew plane planes transport transportation travel travels traveling travelling
    trip trips leave leaves leaving depart departs departing departure departures take takes catch board run runs serve
    service operate list display available availability information detail details option options possible book
    booking reserve buy purchase look looking see interested plan wish much provide explain describe learn hear type
    types kinds connection connections direction directions route routes way find come comes coming
    all every ticket tickets seat seats using use between time times
    long hour hours duration many""".split()
).union(lx.FUNCTION_WORDS)
"""What only asks for a journey."""
_ONE: Final = lx.by_first(
    """fare fares airfare airfares price prices cost costs|cheapest lowest|earliest first soonest|latest last|
    fastest quickest shortest|round roundtrip return|one-way oneway|nonstop non-stop|airline airlines carrier carriers|
    schedule schedules timetable timetables|arrive arrives arriving arrival arrivals land lands landing|
    stop stops stopping stopover stopovers connect connects connecting layover via through"""
)
"""Words of one meaning, by the first of them."""
_PAIRS: Final = {("one", "way"): "one-way", ("how", "much"): "fare", ("first", "class"): "first-class"}
_TIMED: Final = frozenset().union(
    lx.WEEKDAYS, lx.MONTHS, "morning afternoon evening night noon midnight today tomorrow tonight".split()
)


def journeys(a: Signature, b: Signature) -> bool:
    """Something of the one journey is not said of the other, or they go opposite ways."""
    mine, theirs = _travels(a), _travels(b)
    if not (mine or theirs) or not (mine or _ends(a)) or not (theirs or _ends(b)):
        return False
    if not (_bound(a) or _bound(b)) or "my" in a.vocabulary or "my" in b.vocabulary:
        return False  # 'my flight' is booked already
    return _sought(a.words) != _sought(b.words) or _back(a.words, b.words) or _back(b.words, a.words)


def _travels(s: Signature) -> bool:
    if not _TRAVEL.isdisjoint(s.vocabulary):
        return True
    if len(s.words) > _LONG or "from" not in s.vocabulary or "to" not in s.vocabulary:
        return False
    return any(word in _GOING and start == "from" for word, start in pairwise(s.words))


def _ends(s: Signature) -> bool:
    return not _ENDS.isdisjoint(s.vocabulary)


def _bound(s: Signature) -> bool:
    """Whether it says where the journey begins or ends, or is the next."""
    return not _BOUND.isdisjoint(s.vocabulary) or any(
        (word in _TRAVEL and to in _LEADING) or (word in _NEXT and to in _TRAVEL)
        for word, to in pairwise(s.words)
    )


def _sought(words: Sequence[str]) -> frozenset[str]:
    """What is said of a journey, each in one form."""
    timed = any(word in _TIMED or word[0].isdigit() for word in words)
    out = set()
    for before, word in pairwise(("", *words)):
        if (pair := _PAIRS.get((before, word))) is not None:
            out.add(pair)
        meant = _ONE.get(word, word)
        named = meant == "airline" and before not in _ASKING  # 'Delta airlines'
        if meant not in _ASKING and not named and (meant != "arrive" or timed):
            out.add(stem(meant))
    return frozenset(out)


def _back(between: Sequence[str], other: Sequence[str]) -> bool:
    """'Between Bern and Rome' / 'from Rome to Bern'."""
    if "between" not in between or "from" not in other or "between" in other:
        return False
    at = between.index("between") + 1
    if "and" not in between[at : at + 4]:
        return False
    middle = between.index("and", at)
    return set(other[other.index("from") + 1 :][:1]) <= set(between[middle + 1 : middle + 4]) - set(
        between[at:middle]
    )
