"""Guard: one thing of each text is of another sort, by the word before it: 'adult ticket' / 'group ticket'.

'How much is the annual fee' / 'what does the entrance fee come to', however the rest is worded. Of two sorts of one
thing the vectors are near, and so is all else that is said of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from ..text.lexemes import POSSESSORS, PREPOSITIONS, stem
from ..text.lexicon import FUNCTION_WORDS
from ..text.reading import Reading
from ..text.words import OPPOSITE, OTHER, SIBLING, Words, slip
from .searches import IDLE

_NEAR: Final = 0.45
"""Cosine of two words from which either may say what the other does."""
_BEFORE: Final = frozenset(
    "a an the this that these those one any some every each no another which what of is".split()
).union(POSSESSORS, PREPOSITIONS) - {"to"}
"""Small words behind which a thing is named; what stands behind others may be a verb."""
_VAGUE: Final = IDLE.union(
    map(stem, "own last recent next first separate second single whole actual certain entire full".split())
)
"""What is said of a thing without making another of it."""
_APART: Final = (OPPOSITE, OTHER, SIBLING)


def modifiers(a: Reading, b: Reading, table: Words) -> bool:
    """Both name one kind of thing, and each says of it what no word of the other may stand for; but 'Mt. Everest' and
    'Mount Everest' are one."""
    mine = _sorts(a, b)
    if not mine:
        return False
    theirs = _sorts(b, a)
    apart = any(
        _own(x, b, table) and any(not slip(x, y) and _own(y, a, table) for y in theirs.get(thing, ()))
        for thing, sorts in mine.items()
        for x in sorts
    )
    return apart and not a.says(b)


def _sorts(r: Reading, other: Reading) -> Mapping[str, list[str]]:
    """What the other names as well, each with the words right before it that the other has not."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    words, known = r.signature.words, other.signature.stems
    for before, sort, thing in zip(("a", *words), words, words[1:], strict=False):
        if sort in FUNCTION_WORDS or thing in FUNCTION_WORDS or stem(thing) not in known:
            continue
        if before in FUNCTION_WORDS and before not in _BEFORE:
            continue
        root = stem(sort)
        if root not in known and root not in _VAGUE and sort.isalpha():
            found[stem(thing)].append(sort)
    return found


def _own(word: str, other: Reading, table: Words) -> bool:
    at = table.ids.get(word)
    if at is None:
        return False
    near = table.vectors((at,)) @ other.vectors.T
    return float(near.max(initial=0.0)) < _NEAR and all(
        table.relation(word, x) in _APART for x in other.content
    )
