"""Guard: one text reports what happened to a thing, the other asks something else of it.

'My calendar disappeared' / 'Can I share my calendar?', 'There is a mistake in my invoice' / 'What is my invoice?',
'Someone changed my password' / 'I changed my password'. Who reports that it does not work may ask why, or how to mend
it, so questions for that are no others.
"""

from __future__ import annotations

from typing import Final

from ..text.signature import Signature
from .inquiries import BEING, behind_what

_TELLING: Final = frozenset("my our i i've we someone somebody there".split())
_OWNED: Final = frozenset("my our the".split())
_WISHING: Final = frozenset(
    "want need would like love wish looking trying hope can't cannot how i'd please".split()
)
_ASKING: Final = frozenset(("yesno", "who", "price", "how often", "how long", "how old", "how many"))
_THERE: Final = frozenset("there it".split())
_SOME: Final = frozenset(("someone", "somebody"))
_WHO: Final = _SOME.union("who whoever anyone anybody was were been being got gets has by".split())
"""'My bike was stolen' says that someone stole it."""
_LONGEST: Final = 10
"""Words of a report; a longer one may tell of what it asks."""
_NAMED: Final = 3


def reports(a: Signature, b: Signature) -> bool:
    """One tells what happened, the other asks, but not for what to do about it; or someone did it, or not."""
    if not a.words or not b.words:
        return False
    return any(_tells(x) and (_asks_else(x, y) or _by_someone(x, y)) for x, y in ((a, b), (b, a)))


def _tells(s: Signature) -> bool:
    if s.question or s.words[0] not in _TELLING or len(s.words) > _LONGEST:
        return False
    if s.words[0] == "there" and BEING.isdisjoint(s.words[1:2]):
        return False
    return _WISHING.isdisjoint(s.words[:5])


def _asks_else(told: Signature, other: Signature) -> bool:
    shared = told.stems & other.stems
    if not shared or shared == told.stems:
        return False
    if other.question == "what":
        return _asks_value(other)
    if other.question == "why":
        return "you" in other.words[1:3]
    if other.question not in _ASKING or shared == other.stems:
        return False
    return other.words[0] not in BEING or _THERE.isdisjoint(other.words[1:2])


def _asks_value(s: Signature) -> bool:
    """'What is my time zone?'"""
    start = behind_what(s.words)
    if not start:
        return False
    named = s.words[start + 1 :]
    return not _OWNED.isdisjoint(s.words[start : start + 1]) and 0 < len(named) == len(s.content) <= _NAMED


def _by_someone(told: Signature, other: Signature) -> bool:
    return (
        told.words[0] in _SOME
        and _WHO.isdisjoint(other.vocabulary)
        and not told.stems.isdisjoint(other.stems)
    )
