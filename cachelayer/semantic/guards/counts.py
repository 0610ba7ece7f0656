"""Guard: each asks how many there are of something else, or one of them which one, of what the other does not mention.

'How many goals' / 'the number of fouls', 'how many students of a course' / 'how many courses of a student', 'how many
goals in 2004' / 'which team in 2004'.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ..text.lexemes import stem
from ..text.lexicon import AUXILIARIES
from ..text.signature import Signature, several
from .targets import COUNTING, LIGHT, MEASURED, PEOPLE, POPULATION, WHAT, phrase

_COUNTS: Final = (("how", "many"), ("number", "of"))
_MANY: Final = frozenset(("many", "number"))
_EARLY: Final = 7
"""Words among which a text says that it counts."""
_LEADING: Final = LIGHT | COUNTING | MEASURED | {POPULATION}


def counts(a: Signature, b: Signature) -> bool:
    """What is counted is not what the other counts, or chooses."""
    if _MANY.isdisjoint(a.vocabulary) and _MANY.isdisjoint(b.vocabulary):
        return False
    mine, theirs = _count(a.words), _count(b.words)
    if mine and theirs:
        people = not (PEOPLE.isdisjoint(mine) or PEOPLE.isdisjoint(theirs))
        return (
            not people and mine.isdisjoint(theirs) and mine.isdisjoint(b.stems) is theirs.isdisjoint(a.stems)
        )
    one, other = (a, b) if theirs else (b, a)
    chosen = _chosen(one.words) if mine or theirs else ""
    return bool(chosen) and chosen not in other.stems and COUNTING.isdisjoint(one.stems)


def _chosen(words: tuple[str, ...]) -> str:
    """The stem of 'team' in 'which team did'; '' of what only leads to something else."""
    for word, noun, after in zip(words[:4], words[1:], words[2:], strict=False):
        if word in WHAT and after in AUXILIARIES and noun not in AUXILIARIES:
            found = stem(noun)
            return "" if found in _LEADING else found
    return ""


def _count(words: tuple[str, ...]) -> frozenset[str]:
    """Stems of what is counted; none where nothing is."""
    at = next((i for i, pair in enumerate(pairwise(words[:_EARLY])) if pair in _COUNTS), None)
    if at is None:
        return frozenset()
    end = next((i for i in range(at + 2, len(words)) if several(words[i])), len(words))
    return phrase(words[: end + 1], at + 2)  # 'the number of goals she scored'
