"""Guards: one thing of each text is of another sort, by the word before it, 'adult ticket' / 'group ticket', or another
is weighed against it: 'rent or buy' / 'rent or lease'.

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
from ..text.words import APART, OPPOSITE, SIBLING, Words, slip
from .searches import IDLE
from .thresholds import THAN

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
_DENYING: Final = frozenset(("less", "least"))
_PASSING: Final = frozenset("new old good bad big small".split())
"""What may be said of either by the way: 'change my old password' sets a new one."""
_MORE: Final = frozenset(("more", "less"))
"""'More affordable' is 'cheaper'."""
_FAR: Final = 0.55
_STRANGE: Final = 0.3
"""The same of words that are weighed against others, and against one that both texts name: 'rent or buy' is 'rent or
own', but 'rent or lease' is not."""
_LEADING: Final = PREPOSITIONS.union(POSSESSORS, ("a", "an", "the", "one"))


def modifiers(a: Reading, b: Reading, table: Words) -> bool:
    """Both name one kind of thing, and each says of it what no word of the other may stand for; but 'Mt. Everest' and
    'Mount Everest' are one."""
    mine = _sorts(a, b)
    if not mine:
        return False
    theirs = _sorts(b, a)
    apart = any(
        _opposed(x, y, table) or (not slip(x, y) and _own(x, b, table, _NEAR) and _own(y, a, table, _NEAR))
        for thing, sorts in mine.items()
        for x in sorts
        for y in theirs.get(thing, ())
    )
    return apart and not a.says(b)


def alternatives(a: Reading, b: Reading, table: Words) -> bool:
    """Each weighs something against another thing, which is not what the other text weighs."""
    if "or" not in a.signature.vocabulary or "or" not in b.signature.vocabulary:
        return False
    mine, theirs = _weighed(a), _weighed(b)
    if mine and frozenset(map(stem, mine)) == frozenset(map(stem, theirs)) and _less(a) and _less(b):
        return _less(a).isdisjoint(_less(b))
    known, said = a.signature.stems, b.signature.stems
    lone, other = ([w for w in x if stem(w) not in y] for x, y in ((mine, said), (theirs, known)))
    if len(lone) == len(other) == 1 and not {*map(stem, mine)}.isdisjoint(map(stem, theirs)):
        two = table.relation(lone[0], other[0]) == SIBLING
        return (two or table.unlike(lone[0], other[0], _STRANGE)) and not a.says(b)
    if lone != mine or other != theirs:
        return False
    return any(
        not slip(x, y) and _own(x, b, table, _FAR) and _own(y, a, table, _FAR) for x in mine for y in theirs
    )


def _less(r: Reading) -> frozenset[bool]:
    """Whether it asks for the greater of two, or for the smaller: 'heavier', 'cheaper'."""
    return frozenset(THAN[word] for word in r.signature.words if word in THAN and word not in _MORE)


def _weighed(r: Reading) -> list[str]:
    """The words on either side of the only 'or'; of 'pay now or later' none."""
    words = r.signature.words
    at = words.index("or")
    before, behind = words[at - 1 : at], (w for w in words[at + 1 :] if w not in _LEADING)
    named = [word for word in (*before, next(behind, "")) if word.isalpha()]
    if words.count("or") > 1 or not at or not (FUNCTION_WORDS - PREPOSITIONS).isdisjoint(named):
        return []
    return [word for word in named if word not in PREPOSITIONS]


def _opposed(x: str, y: str, table: Words) -> bool:
    return x not in _PASSING and y not in _PASSING and table.relation(x, y) == OPPOSITE


def _sorts(r: Reading, other: Reading) -> Mapping[str, list[str]]:
    """What the other names as well, each with the words right before it that the other has not."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    words, known = r.signature.words, other.signature.stems
    for before, sort, thing in zip(("a", *words), words, words[1:], strict=False):
        if sort in FUNCTION_WORDS or thing in FUNCTION_WORDS or stem(thing) not in known:
            continue
        if before in _DENYING or (before in FUNCTION_WORDS and before not in _BEFORE):
            continue
        root = stem(sort)
        if root not in known and root not in _VAGUE and sort.isalpha():
            found[stem(thing)].append(sort)
    return found


def _own(word: str, other: Reading, table: Words, far: float) -> bool:
    at = table.ids.get(word)
    if at is None:
        return False
    near = table.vectors((at,)) @ other.vectors.T
    return float(near.max(initial=0.0)) < far and all(table.relation(word, x) in APART for x in other.content)
