"""Whether two texts differ only in typing errors: 'how do i vist a mosqe' / 'how do I visit a mosque'.

With the other text at hand, a misspelt word need not lead to a single word by itself, as `spelling` requires.
"""

from __future__ import annotations

from .reading import Reading
from .repeats import SPELLED, few, named
from .spelling import LEAST, Spelling
from .words import slip


def slipped(a: Reading, b: Reading, spelling: Spelling) -> bool:
    """Whether what is left of them differs by a few words alone, each time by a letter or two.

    Where words are what is asked about none is a slip.
    """
    mine, theirs = a.core, b.core
    if len(mine) != len(theirs) or not SPELLED.isdisjoint(mine):
        return False
    differ = [(x, y) for x, y in zip(mine, theirs, strict=True) if x != y]
    return len(differ) <= few(len(mine)) and all(
        _meant(x, y, a.text, spelling) or _meant(y, x, b.text, spelling) for x, y in differ
    )


def _meant(word: str, other: str, text: str, spelling: Spelling) -> bool:
    """`word`, of `text`, is nobody's, and `other` a common one a letter away."""
    if not slip(word, other) or other not in spelling.common or not word.isalpha():
        return False
    if min(len(word), len(other)) < LEAST and sorted(word) != sorted(other):
        return False  # 'nuxt' is no slip of 'next'
    return not spelling.known(word) and not named(word, text)
