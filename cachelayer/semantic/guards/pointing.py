"""Guard: one text speaks of a thing that is given, the other of such things in general.

'Solve this equation' / 'How do I solve an equation?', 'What is the moral of this story?' / 'Write a story with a
moral', 'Is this an example of a metaphor?' / 'Give me an example of a metaphor'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature

_THIS: Final = frozenset(("this", "these", "following"))
_GENERAL: Final = frozenset(("a", "an", "per", "each", "every"))
_GIVEN: Final = _THIS.union("the my our your his her its their that those it above below".split())
_JUDGING: Final = frozenset("is are was were does".split())
_TIMES: Final = frozenset(
    map(
        stem,
        """time week weekend month quarter year day morning afternoon evening night spring summer fall autumn winter
        season way case moment point""".split(),
    )
)
"""'This week' points at nothing."""


def pointing(a: Signature, b: Signature) -> bool:
    """'This story' / 'a story', 'this customer' / 'per customer'."""
    if _THIS.isdisjoint(a.vocabulary) is _THIS.isdisjoint(b.vocabulary):
        return False
    return _general(a, b) or _general(b, a)


def _general(given: Signature, other: Signature) -> bool:
    if _THIS.isdisjoint(given.vocabulary):
        return False
    if _judges(given.words) and _GIVEN.isdisjoint(other.vocabulary) and other.question != "yesno":
        return True
    things = _behind(given.words, _THIS) - _TIMES - _behind(given.words, _GENERAL)
    return not things.isdisjoint(_behind(other.words, _GENERAL) - _behind(other.words, _GIVEN))


def _judges(words: Sequence[str]) -> bool:
    """'Is this an example of it?'"""
    return len(words) > 2 and words[0] in _JUDGING and words[1] in _THIS


def _behind(words: Sequence[str], leading: frozenset[str]) -> set[str]:
    """Stems of the one or two words of a thing behind one of `leading`."""
    found = set[str]()
    for i, word in enumerate(words):
        if word in leading:
            for thing in words[i + 1 : i + 3]:
                if thing in lx.FUNCTION_WORDS:
                    break
                found.add(stem(thing))
    return found
