"""Guard: the same numbers, reckoned otherwise.

'What is 15% of 80?' / 'What is 80 plus 15%?', '30% off 80 dollars' / '30% of 80 dollars', 'If 3 apples cost 2 dollars,
what do 12 apples cost?' / 'how many apples do I get for 12 dollars?'.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature

_UP: Final = frozenset(
    "plus add adds added adding increase increases increased increasing raise raises raised more markup".split()
)
_DOWN: Final = frozenset(
    """minus subtract subtracted less off discount discounted decrease decreases decreased decreasing reduce reduces
    reduced deduct deducted""".split()
)
_SHARES: Final = frozenset(("%", "percent"))


def sums(a: Signature, b: Signature) -> bool:
    """A share is added or taken off, or a number counts another thing."""
    if len(a.numbers) < 2 or [n for n, _ in a.numbers] != [n for n, _ in b.numbers]:
        return False
    if _shares(a) and _shares(b) and _course(a) != _course(b):
        return True
    return _exchanged(_counted(a), _counted(b))


def _shares(s: Signature) -> bool:
    return any(unit in _SHARES for _, unit in s.numbers)


def _course(s: Signature) -> tuple[bool, bool]:
    return not _UP.isdisjoint(s.vocabulary), not _DOWN.isdisjoint(s.vocabulary)


def _exchanged(mine: dict[str, str], theirs: dict[str, str]) -> bool:
    """A number counts what another number counts in the other text."""
    counted, others = set(mine.values()), set(theirs.values())
    return any(
        mine[n] != theirs[n] and mine[n] in others and theirs[n] in counted
        for n in mine.keys() & theirs.keys()
    )


def _counted(s: Signature) -> dict[str, str]:
    """What each number stands before."""
    return {
        n: stem(what)
        for n, what in pairwise(s.words)
        if n[0].isdigit() and what[0].isalpha() and what not in lx.FUNCTION_WORDS
    }
