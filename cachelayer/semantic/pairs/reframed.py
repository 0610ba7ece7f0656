"""Whether two texts are one question in two frames, or in words of which either says what the other does."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from ..text.frames import BESIDE, FRAMES, TELLING
from ..text.lexemes import stem
from ..text.reading import Reading
from ..text.variants import COMMON, SAYING, VARIANTS

_TELLING: Final = TELLING | SAYING
_OTHERWISE: Final = TELLING | VARIANTS | BESIDE


def reframed(a: Reading, b: Reading) -> bool:
    """Whether they are one question in two frames, or with words of which either says the same, word for word.

    What they do not share must be such words, and one verb in two forms at most: a look before any is reframed.
    """
    mine = a.signature.vocabulary
    differ = mine ^ b.signature.vocabulary
    apart = differ - FRAMES
    if apart and (len(apart) != 2 or not _one_verb(apart)):
        if apart.isdisjoint(_TELLING) or apart <= mine or apart.isdisjoint(mine):
            return False
        apart -= _OTHERWISE
        if apart and (len(apart) != 2 or not _one_verb(apart)):
            return False
    return a is not b and a.plain == b.plain != () and not _named(differ & COMMON, a, b)


def _named(words: Set[str], a: Reading, b: Reading) -> bool:
    """Whether one of `words` is written as a name is: 'Who stars in Mom?'."""
    names = a.signature.names | b.signature.names
    return bool(names) and any(stem(word) in names for word in words)


def _one_verb(words: Set[str]) -> bool:
    """Whether two words may be forms of one."""
    one, other = words
    return one[0] == other[0]
