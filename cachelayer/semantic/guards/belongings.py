"""Guard: what belongs together in one text belongs to something else in the other.

'Billed in euros, paid in pounds' / 'billed in pounds, paid in euros', 'two guests in a room' / 'a guest in two rooms',
however the rest is worded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from ..text.lexemes import PREPOSITIONS, stem
from ..text.lexicon import CARDINALS, FUNCTION_WORDS
from ..text.signature import Signature

_NEAR: Final = 3
"""Words behind a number that may say what it counts."""
_FOUR: Final = 4
"""Words of content at least that two exchanged links have."""
_ALIKE: Final = 2
"""Words of content that texts may differ in whose links are compared."""
_FAR: Final = 8
"""The same of texts whose numbers are."""
_PEOPLE: Final = stem("people")
_SEVERAL: Final = frozenset("people children men women mice feet teeth".split())
Link = tuple[str, str, str]
"""A stem, a preposition and the stem that it leads to."""


def belongings(a: Signature, b: Signature) -> bool:
    """Two things that hang on others by prepositions have traded places, or a number counts another thing of both."""
    if a.content == b.content:
        return False
    if a.numbers and b.numbers and len(a.stems ^ b.stems) <= _FAR and _counts_else(a, b):
        return True
    if not (_joins(a) and _joins(b)) or len(a.stems) < _FOUR or len(a.stems ^ b.stems) > _ALIKE:
        return False
    there = frozenset(_links(b))
    mine = [link for link in _links(a) if link not in there] if len(there) > 1 else []
    for i, (thing, by, what) in enumerate(mine):
        for other, through, whatever in mine[i + 1 :]:
            if (thing, by, whatever) in there and (other, through, what) in there:
                return thing != other and what != whatever
    return False


def _joins(s: Signature) -> bool:
    return s.joins or "but" in s.vocabulary


def _links(s: Signature) -> Iterator[Link]:
    """Of words of content that follow each other, those with a preposition between."""
    before = by = ""
    for word in s.words:
        if word in PREPOSITIONS:
            by = by or word
        elif word not in FUNCTION_WORDS:
            what = stem(word)
            if before and by:
                yield before, by, what
            before, by = what, ""


def _counts_else(a: Signature, b: Signature) -> bool:
    mine, theirs = dict(_counted(a)), dict(_counted(b))
    return any(
        mine[number] != theirs[number] and mine[number] in _things(b) and theirs[number] in _things(a)
        for number in mine.keys() & theirs.keys()
    )


def _things(s: Signature) -> frozenset[str]:
    return s.stems | {_PEOPLE} if "person" in s.stems else s.stems


def _counted(s: Signature) -> Iterator[tuple[str, str]]:
    """Numbers above one that are said once, each with the stem of what there is so many of."""
    said = [str(CARDINALS.get(word, word)) for word in s.words]
    for at, number in enumerate(said):
        if number.isdigit() and number != "1" and said.count(number) == 1:
            things = takewhile(_carries, s.words[at + 1 : at + 1 + _NEAR])
            if many := next((word for word in things if word in _SEVERAL or word.endswith("s")), ""):
                yield number, stem(many)


def _carries(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in PREPOSITIONS
