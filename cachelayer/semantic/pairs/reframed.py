"""Whether two texts are one question in two frames, or in words of which either says what the other does."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from ..text.commands import COMMANDS
from ..text.frames import BESIDE, FRAMES, TELLING
from ..text.lexemes import NONE, stem
from ..text.lexicon import FUNCTION_WORDS
from ..text.making import MAKING
from ..text.phrasebook import ANY, phrasebook
from ..text.reading import Reading
from ..text.repeats import CONTRACTED
from ..text.variants import FORMS, NAMES

_FREE: Final = FUNCTION_WORDS.union(
    FRAMES, TELLING, BESIDE, COMMANDS, MAKING, CONTRACTED, FORMS, FORMS.values()
)
"""Words that may come, go or be others."""
APART: Final = 8
"""Words of one text alone, besides these, at most."""


def reframed(a: Reading, b: Reading) -> bool:
    """Whether they are one question in two frames, or with words of which either says the same, word for word.

    What they do not share must be such words, and one verb in two forms at most: a look before any is reframed.
    """
    mine, theirs = a.signature.vocabulary, b.signature.vocabulary
    if not (_explained(mine, theirs) and _explained(theirs, mine)):
        return False
    return a is not b and a.says(b) and not _named(mine ^ theirs, a, b)


def _named(words: Set[str], a: Reading, b: Reading) -> bool:
    """Whether one of `words`, of a phrase and no name itself, is written as a name is: 'Who stars in Mom?'."""
    names = a.signature.names | b.signature.names
    common = phrasebook().counterparts.keys() & words
    return bool(names) and any(stem(word) in names for word in common - NAMES)


def _explained(mine: Set[str], theirs: Set[str]) -> bool:
    """Whether words that `mine` alone has may belong to a frame or a phrase, or be forms of words of `theirs`."""
    apart = mine - theirs - _FREE
    if len(apart) > APART:
        return False
    known = phrasebook().counterparts
    for word in apart:
        others = known.get(word, NONE)
        if (
            ANY not in others
            and others.isdisjoint(theirs)
            and not any(o[0] == word[0] for o in theirs - mine)
        ):
            return False
    return True
