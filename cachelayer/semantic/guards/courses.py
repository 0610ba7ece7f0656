"""Guard: the source of one text is the destination of the other, however they are worded.

'Copy the file to the server' / 'Get the file from the server', 'Turn Celsius into Fahrenheit' / 'Fahrenheit to
Celsius, how?'.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text.lexemes import stem
from ..text.lexicon import UNITS
from ..text.reading import Reading
from ..text.signature import Signature
from ..text.words import SIBLING, Words

_WHITHER: Final = frozenset(("to", "into", "onto"))
_EVEN: Final = frozenset(
    "far distance between close near different difference compare compared listen listening".split()
)
"""What is so from either end, and 'listen to'."""
Ends = tuple[set[str], set[str]]
"""Stems of whence and of whither."""


def courses(a: Reading, b: Reading, table: Words) -> bool:
    """One thing is whence on one side alone and whither on the other; or two of a kind are exchanged."""
    (whence, whither), (thence, thither) = _ends(a.signature), _ends(b.signature)
    if not (whence or whither) or not (thence or thither):
        return False
    if not _EVEN.isdisjoint(a.signature.vocabulary | b.signature.vocabulary):
        return False
    if (whence & thither) - whither - thence or (whither & thence) - whence - thither:
        return True
    if a.signature.joins and b.signature.joins:
        return False  # 'from Bern or Basel' / 'from Basel or Bern'
    return any(
        _of_a_kind(one, other, a, b, table)
        for here, there in ((whence, thence), (whither, thither))
        for one in (here - there) & b.signature.stems
        for other in (there - here) & a.signature.stems
    )


def _ends(s: Signature) -> Ends:
    whence: set[str] = set()
    whither: set[str] = set()
    for small, what in s.roles:
        if small == "from":
            whence.add(what)
        elif small in _WHITHER:
            whither.add(what)
    if "out" in s.vocabulary:
        whence.update(_left(s))
    return whence, whither


def _left(s: Signature) -> Iterator[str]:
    """'New' and 'York', of 'out of New York': what follows within three words."""
    for i, pair in enumerate(pairwise(s.words)):
        if pair == ("out", "of"):
            yield from (stem(word) for word in s.words[i + 2 : i + 5] if stem(word) in s.stems)


def _of_a_kind(one: str, other: str, a: Reading, b: Reading, table: Words) -> bool:
    """Two names, two units, or two words that WordNet puts beside each other."""
    if {one, other} <= a.capitals | b.capitals:
        return True
    said = dict(zip(a.stems, a.content, strict=True)) | dict(zip(b.stems, b.content, strict=True))
    if one not in said or other not in said:
        return False
    return {said[one], said[other]} <= UNITS.keys() or table.relation(said[one], said[other]) == SIBLING
