"""Whether two texts differ only in typing errors: 'how do i vist a mosqe' / 'how do I visit a mosque'.

With the other text at hand, a misspelt word need not lead to a single word by itself, as `spelling` requires, its first
two letters may be swapped, and a space may have come too early or too late: 'wha tis a mosque'.
"""

from __future__ import annotations

import re
from typing import Final

from .lexicon import FUNCTION_WORDS
from .reading import Reading
from .repeats import SPELLED, few, named
from .spelling import LEAST, Spelling
from .words import slip

_SPELT: Final = frozenset(
    "spell spells spelled spelt spelling typo typos misspelled misspelt misspelling misspellings proofread".split()
)
"""With one of these it is asked how a word is written; `SPELLED` also has those about what it means."""
_HOW: Final = re.compile(r"\bhow\b.*\bspel", re.IGNORECASE)
"""'How do you spell recieve': the answer is the right spelling, of whichever was written."""


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


def misspelt(a: Reading, b: Reading, spelling: Spelling) -> bool:
    """Both ask how a word is written, which one of them writes wrong: 'is recieve spelled right' / 'is receive ...'."""
    mine, theirs = set(a.core), set(b.core)
    if _SPELT.isdisjoint(mine) or _SPELT.isdisjoint(theirs) or (_HOW.search(a.text) and _HOW.search(b.text)):
        return False
    return any(
        _meant(x, y, a.text, spelling) or _meant(y, x, b.text, spelling)
        for x in mine - theirs
        for y in theirs - mine
    )


def moved(one: str, other: str) -> bool:
    """Whether two texts, of which one is a character longer at most, may differ by where one space stands."""
    return one != other and _letters(one) == _letters(other)


def respaced(a: Reading, b: Reading, spelling: Spelling) -> bool:
    """Whether one space alone stands elsewhere, and leaves a word that there is not: 'livin gin Rome'."""
    mine, theirs = a.core, b.core
    if "".join(mine) != "".join(theirs) or not SPELLED.isdisjoint(mine) or not SPELLED.isdisjoint(theirs):
        return False
    first = next((i for i, (x, y) in enumerate(zip(mine, theirs, strict=False)) if x != y), 0)
    last = next((i for i, (x, y) in enumerate(zip(mine[::-1], theirs[::-1], strict=False)) if x != y), 0)
    left, right = mine[first : len(mine) - last], theirs[first : len(theirs) - last]
    if {len(left), len(right)} == {2}:
        one_place = abs(len(left[0]) - len(right[0])) == 1
    else:
        one_place = {len(left), len(right)} == {1, 2}
    return one_place and (_odd(left, right, a.text, spelling) or _odd(right, left, b.text, spelling))


def _odd(words: tuple[str, ...], others: tuple[str, ...], text: str, spelling: Spelling) -> bool:
    """One of `words`, of `text`, is nobody's, and all `others` are common."""
    strange = [w for w in words if w.isalpha() and not spelling.known(w) and not named(w, text)]
    return bool(strange) and all(w in spelling.common or w in FUNCTION_WORDS for w in others)


def _letters(text: str) -> str:
    return text.replace(" ", "").lower()


def _meant(word: str, other: str, text: str, spelling: Spelling) -> bool:
    """`word`, of `text`, is nobody's, and `other` a common one a letter away."""
    swapped = word[:2] == other[1::-1] and word[2:] == other[2:]
    if not (swapped or slip(word, other)) or other not in spelling.common or not word.isalpha():
        return False
    if min(len(word), len(other)) < LEAST and sorted(word) != sorted(other):
        return False  # 'nuxt' is no slip of 'next'
    return not spelling.known(word) and not named(word, text)
