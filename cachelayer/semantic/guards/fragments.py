"""Guard: one text alone says too little: it answers a question that somebody asked before.

'A debit card' / 'I have lost my debit card', 'it's a savings account' / 'open a savings account', 'yes, a new one' /
'make a new one'. Where nothing was said before, what is asked cannot be told from these.
"""

from __future__ import annotations

from typing import Final

from ..text.lexemes import stem
from ..text.manners import earnest
from ..text.signature import Signature
from .searches import IDLE, NEVER_SOUGHT, seeks

_AGREEING: Final = frozenset("yes yeah yep yup yea".split())
_OPENING: Final = _AGREEING.union(
    "no nope well so ok okay hi hello hey and i think guess actually just".split()
)
_BEING: Final = frozenset(("is", "was", "isn't", "wasn't"))
_IT: Final = frozenset(("it", "this", "that"))
_ITS: Final = frozenset(("it's", "its", "this's", "that's"))
_NAMING: Final = frozenset("a an the about another existing".split())
"""What a reply begins with, and a search does not."""
_FIRST: Final = _OPENING.union(_IT, _ITS, _NAMING)
_FEW: Final = 3
"""Words of content of a reply at most."""
_SHORT: Final = 9
"""Words of a reply at most."""
_GENERAL: Final = IDLE.union(
    map(stem, "work works mean means go get make do use have need know want question questions take".split())
)
"""What else one may ask of a thing by naming it."""


def fragments(a: Signature, b: Signature) -> bool:
    """One text is a reply to what was asked before, and the other says what is wanted."""
    if not a.words or not b.words or not a.english or not b.english or a.stems == b.stems:
        return False
    return _replies(a, b) or _replies(b, a)


def _replies(part: Signature, whole: Signature) -> bool:
    words = part.words
    if words[0] not in _FIRST or len(words) > _SHORT or part.question or _answers(whole):
        return False
    if words[0] in _AGREEING:
        return True
    if len(part.content) > _FEW:
        return False
    if _of_it(words):
        return not (seeks(whole) and whole.stems <= part.stems)
    if words[0] not in _NAMING or not NEVER_SOUGHT.isdisjoint(words) or seeks(whole):
        return False
    return part.stems < whole.stems and not whole.stems - part.stems <= _GENERAL


def _answers(s: Signature) -> bool:
    return s.words[0] in _AGREEING or _of_it(s.words)


def _of_it(words: tuple[str, ...]) -> bool:
    """'It's a savings account', 'I think this is the fee'."""
    at = earnest(words, _OPENING)
    it, being = words[at : at + 1], words[at + 1 : at + 2]
    return not _ITS.isdisjoint(it) or not (_IT.isdisjoint(it) or _BEING.isdisjoint(being))
