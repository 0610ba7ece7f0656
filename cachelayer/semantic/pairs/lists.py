"""Requests that differ only in the order of two things joined by 'and' or 'or': a debit or a credit card.

For the answer it is the same: 'is butter or margarine better' / 'is margarine or butter better'.
"""

from __future__ import annotations

from typing import Final

from ..guards.mentions import mentions
from ..text import lexicon as lx
from ..text.reading import Reading
from ..text.repeats import OF_WORDS

LONGEST: Final = 4
"""Words of each of the two at most."""
_JOINING: Final = frozenset("and or nor vs versus".split())
_ORDERED: Final = OF_WORDS.union(
    """then first second third last next before after respectively former latter order sequence sort ratio rate rates
    exchange convert conversion divide divided subtract minus fraction transfer move migrate switch flight flights fly
    train trains bus buses drive travel route way""".split()
)
"""Words beside which the order of two things may be what is asked for: 'the ratio of sugar and water'."""
_BEFORE_VERBS: Final = frozenset(
    "to i you we they he she it can could should must will would may might please not and or".split()
)
"""Behind these a single word may be a verb, and verbs follow each other in time: 'wash and dry'."""
_CLAUSE: Final = frozenset("is are was were has can will would should does do did am isn't aren't".split())
"""Behind these two a new clause: 'I like tea and coffee is bad'."""


def reordered(a: Reading, b: Reading) -> bool:
    """Whether `b` says `a` with two joined things in the other order."""
    left, right = a.signature, b.signature
    if len(left.words) != len(right.words) or not (left.joins or "vs" in left.vocabulary):
        return False
    if left.words == right.words or sorted(left.words) != sorted(right.words):
        return False
    if left.formal or right.formal or not _ORDERED.isdisjoint(left.vocabulary) or mentions(a, b):
        return False
    return any(_turned(left.words, right.words, at) for at, word in enumerate(left.words) if word in _JOINING)


def _turned(words: tuple[str, ...], other: tuple[str, ...], at: int) -> bool:
    """Whether `other` has what `words[at]` joins in the other order."""
    for start in range(max(at - LONGEST, 0), at):
        for end in range(at + 2, min(at + 2 + LONGEST, len(words) + 1)):
            one, two = words[start:at], words[at + 1 : end]
            if other[start:end] == (*two, words[at], *one) and other[end:] == words[end:]:
                return other[:start] == words[:start] and _things(words, start, at, end)
    return False


def _things(words: tuple[str, ...], start: int, at: int, end: int) -> bool:
    """Whether both are things in one place of a sentence, and no verbs, clauses or ends of a span."""
    if words[at] in ("vs", "versus"):
        return True
    before, after = words[start - 1] if start else "", words[end] if end < len(words) else ""
    if not start or (before in _BEFORE_VERBS and 1 in (at - start, end - at - 1)):
        return False
    counted = words[start][0].isdigit() or words[start] in lx.CARDINALS
    return not (before == "between" and counted) and not (after in _CLAUSE and start > 1)
