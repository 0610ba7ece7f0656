"""Guard: one text wants something to be done, the other says that it was done.

'I'd like to close my account' / 'I closed my account', however they are worded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature
from .tenses import ended

_WISHING: Final = frozenset(
    "want wants wanna need needs like love wish plan plans planning going about intend hoping thinking".split()
)
_OPEN: Final = _WISHING.union("be get gets getting can could may should would must will if wanted".split())
"""A text with one of these does not tell what was done: 'Can my order be cancelled?', 'I need it cancelled'."""


_WAS: Final = frozenset("was were got".split())


def wishes(a: Signature, b: Signature) -> bool:
    """What is wanted in one text is over in the other."""
    return _apart(a, b) or _apart(b, a)


def _apart(wish: Signature, told: Signature) -> bool:
    if told.negations or _WISHING.isdisjoint(wish.vocabulary) or not _OPEN.isdisjoint(told.vocabulary):
        return False
    wanted = frozenset(_wanted(wish))
    if not wanted:
        return False
    was = not _WAS.isdisjoint(told.vocabulary) and _WAS.isdisjoint(wish.vocabulary)  # 'I was fired'
    return not wanted.isdisjoint(ended(told.vocabulary if was else told.vocabulary - wish.vocabulary))


def _wanted(s: Signature) -> Iterator[str]:
    """Stems of the verbs behind 'want to', 'about to', 'thinking of'."""
    for i in range(len(s.words) - 2):
        word, small, verb = s.words[i : i + 3]
        if verb == "be":  # 'about to be fired'
            verb = (*s.words[i + 3 : i + 4], verb)[0]
        if word in _WISHING and small in ("to", "of") and verb not in lx.FUNCTION_WORDS:
            yield stem(verb)
