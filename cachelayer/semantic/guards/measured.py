"""Guard: two orders of one amount, each of which names what the other does not; or one amount of two things.

'Add 5 minutes to the timer in the kitchen' / 'increase the pizza timer by 5 minutes'. What is to be done with the
amount goes by many verbs; what it is done to is named. What is looked for goes by many nouns: 'find bricks 3 inches
wide' is left to the trees, which take a shared amount for agreement. 'Two cups of flour' / 'two cups of sugar' are
told apart whatever is asked.
"""

from __future__ import annotations

from typing import Final

from ..text.lexicon import CARDINALS, UNITS
from ..text.manners import told
from ..text.reading import Reading
from ..text.signature import Signature
from ..text.words import APART, Words
from .moods import NO_VERBS
from .searches import IDLE

LONGEST: Final = 30
"""Words of an order at most."""
_NEAR: Final = 0.55
"""Cosine of two words from which either may say what the other does."""
_ALIKE: Final = 0.7
"""The same of two things of one amount."""
_OF_THINGS: Final = frozenset(
    "kg g mg ounce ton pound km mile m cm mm inch foot yard liter ml gallon cup".split()
)
"""Units, but those of time: 'ten days of leave' are 'ten days of vacation'."""
_WISHING: Final = frozenset("i i'd i'm we we'd".split())
_SOUGHT: Final = NO_VERBS.union("get give select show return choose fetch".split())
"""What begins no order, or one to find or tell."""


def measured(a: Reading, b: Reading, table: Words) -> bool:
    """Whether both order something to be done by one amount, to things that the other does not name, or speak of one
    amount of two things."""
    mine, theirs = a.signature, b.signature
    if not mine.numbers or mine.numbers != theirs.numbers:
        return False
    if _things(a, b, table):
        return True
    one, other = _verb(mine), _verb(theirs)
    return bool(one and other) and _alone(a, b, one, table) and _alone(b, a, other, table)


def _things(a: Reading, b: Reading, table: Words) -> bool:
    """Whether one amount is of two things: 'two cups of flour in grams' / 'how many grams is 2 cups of sugar'."""
    mine, theirs = _amounts(a.signature), _amounts(b.signature)
    return any(
        mine[amount] not in b.signature.vocabulary
        and theirs[amount] not in a.signature.vocabulary
        and table.unlike(mine[amount], theirs[amount], _ALIKE)
        for amount in mine.keys() & theirs.keys()
    )


def _amounts(s: Signature) -> dict[tuple[str, str], str]:
    """What there is so much of, by numbers and their units."""
    found, words = dict[tuple[str, str], str](), s.words
    for at, (unit, of, what) in enumerate(zip(words[1:], words[2:], words[3:], strict=False)):
        value = str(CARDINALS.get(words[at], words[at]))
        if value[:1].isdigit() and UNITS.get(unit) in _OF_THINGS and of == "of":
            found[value, UNITS[unit]] = what
    return found


def _verb(s: Signature) -> str:
    """What an order begins with; '' of anything else."""
    at = told(s.words)
    if (s.question and not at) or not at + 1 < len(s.words) <= LONGEST or s.words[at] in _SOUGHT:
        return ""
    verb = s.words[at]
    named = verb.endswith("ing") or (verb.endswith("s") and not verb.endswith("ss"))
    return "" if named or s.words[0] in _WISHING else verb


def _alone(a: Reading, b: Reading, verb: str, table: Words) -> bool:
    """Whether `a` names something, besides its `verb`, that no word of `b` may stand for."""
    for at, (word, base) in enumerate(zip(a.content, a.stems, strict=True)):
        if word == verb or not a.known[at] or not word.isalpha() or word in CARDINALS:
            continue
        if base in b.signature.stems or base in IDLE:
            continue
        near = a.vectors[at] @ b.vectors.T
        if float(near.max(initial=0.0)) < _NEAR and all(table.relation(word, x) in APART for x in b.content):
            return True
    return False
