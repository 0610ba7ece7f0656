"""Guard: a phrase was exchanged for one of the opposite meaning, and everything else is the same.

'apart from Tom' / 'including Tom', 'regardless of age' / 'depending on age', 'what resulted from it' / 'what resulted
in it'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature

Phrase = tuple[str, ...]
_CONTRARY: Final = (
    (
        "except, excluding, leaving out, left out, without, with no, apart from, aside from, other than, all but,"
        "everything but, everyone but, everybody but",
        "including, with, along with, together with, as well as, everything in, everything and, everyone and",
    ),
    ("regardless of, irrespective of, no matter, independent of", "depending on, dependent on, based on"),
    (
        "even though, although, despite, in spite of",
        "provided, provided that, as long as, only if, on condition, assuming",
    ),
    (
        "resulting from, result from, results from, resulted from, arise from, arises from, arose from, caused by,"
        "triggered by",
        "resulting in, result in, results in, resulted in, lead to, leads to, led to, leading to, causes, triggers",
    ),
    (
        "prior to, ahead of, leading up to, until, till, before",
        "following, after, once, as soon as, subsequent to, since",
    ),
    (
        "during, while, in the middle of",
        "prior to, ahead of, leading up to, following, once, as soon as, subsequent to",
    ),
    ("still", "already, yet, no longer"),
    ("part of, included in, covered by", "extra to, excluded from, not part of"),
    ("have to, obliged to, obligated to, must", "entitled to, allowed to, permitted to, free to"),
    ("at no cost, for free, free of charge", "at a cost, for a fee, for money"),
    ("instead of, rather than", "in addition to, on top of, as well as, along with, together with"),
    ("in favor of, in favour of, pro", "against, opposed to"),
    ("nothing but, only", "anything but, everything but"),
    ("sooner than, earlier than", "later than"),
    ("more than", "up to, at most, no more than, less than, fewer than"),
    ("up to, until, till, leading up to", "onwards, onward, from then on"),
    ("up to, at most, no more than", "at least, no less than, no fewer than"),
    ("for the first time", "again, once more, for the last time"),
    ("on behalf of", "against"),
)


def _side(phrases: str) -> frozenset[Phrase]:
    return frozenset(tuple(phrase.split()) for phrase in phrases.split(","))


_SIDES: Final = tuple((_side(one), _side(other)) for one, other in _CONTRARY)
_BY_FIRST: Final = lx.phrases(",".join(said for pair in _CONTRARY for said in pair))
_FIRST: Final = frozenset(_BY_FIRST)
_STEMS: Final = frozenset(stem(word) for one, other in _SIDES for phrase in one | other for word in phrase)


def phrases(a: Signature, b: Signature) -> bool:
    """One text has a phrase and the other its contrary; else they speak of the same."""
    if a.vocabulary.isdisjoint(_FIRST) or b.vocabulary.isdisjoint(_FIRST):
        return False
    if not (a.stems ^ b.stems) <= _STEMS:
        return False
    mine, theirs = _phrases(a.words), _phrases(b.words)
    mine, theirs = mine - theirs, theirs - mine
    said = frozenset(stem(w) for phrase in mine | theirs for w in phrase)
    if not (a.stems ^ b.stems) <= said:
        return False
    return any(
        not (mine.isdisjoint(x) or theirs.isdisjoint(y))
        for one, other in _SIDES
        for x, y in ((one, other), (other, one))
    )


def _phrases(words: Sequence[str]) -> frozenset[Phrase]:
    """The longest of those that begin at each word, behind the last: 'no more than' holds no 'more than'."""
    found, behind = [], 0
    for i, word in enumerate(words):
        for phrase in _BY_FIRST.get(word, ()) if i >= behind else ():
            if tuple(words[i : i + len(phrase)]) == phrase and (
                phrase[-1] != "by" or i + len(phrase) < len(words)
            ):
                found.append(phrase)
                behind = i + len(phrase)
                break
    return frozenset(found)
