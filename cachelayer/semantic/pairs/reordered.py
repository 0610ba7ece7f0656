"""Requests that differ only in the order of two things, where that says nothing.

They are joined by 'and' or 'or' ('is butter or margarine better' / 'is margarine or butter better'), or the one is to
the other what that is to it ('is Ann married to Bob' / 'is Bob married to Ann'), or they are where from and where to
('from the port to the inn' / 'to the inn from the port').
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..guards.mentions import mentions
from ..text import lexicon as lx
from ..text.courtesies import OF_WORDS
from ..text.reading import Reading

LONGEST: Final = 4
"""Words of each of the two at most."""
_JOINING: Final = frozenset("and or nor vs versus".split())
_MUTUAL: Final = {
    first: tuple(rest.split())
    for first, _, rest in (
        phrase.strip().partition(" ")
        for phrase in """married to, engaged to, related to, friends with, dating, similar to, identical to, equal to,
        close to, next to, adjacent to, parallel to, opposite, different from, compatible with, interchangeable with,
        synonymous with""".split(",")
    )
}
"""What two things are to each other, by the first word of the phrase."""
_PLACING: Final = frozenset(("from", "to"))
_FAR: Final = frozenset(("far", "distance"))
_BEING: Final = frozenset("is are was were be been".split())
_ORDERED: Final = OF_WORDS.union(
    """then first second third last next before after respectively former latter order sequence sort ratio rate rates
    exchange convert conversion divide divided subtract minus fraction transfer move migrate switch flight flights fly
    train trains bus buses drive travel route way walk ride backward backwards forward forwards downward
    upward""".split()
)
"""Words beside which the order of two things may be what is asked for: 'the ratio of sugar and water'."""
_BEFORE_VERBS: Final = frozenset(
    "to i you we they he she it can could should must will would may might please not and or".split()
)
"""Behind these a single word may be a verb, and verbs follow each other in time: 'wash and dry'."""
_CLAUSE: Final = frozenset("is are was were has can will would should does do did am isn't aren't".split())
"""Behind these two a new clause: 'I like tea and coffee is bad'."""


def reordered(a: Reading, b: Reading) -> bool:
    """Whether `b` says `a` with two things in the other order."""
    left, right = a.signature, b.signature
    if len(left.words) != len(right.words) or left.words == right.words:
        return False
    if _LINKING.isdisjoint(left.vocabulary) or sorted(left.words) != sorted(right.words):
        return False
    if left.formal or right.formal or mentions(a, b):
        return False
    if "from" in left.vocabulary and (
        _to_first(left.words, right.words) or _to_first(right.words, left.words)
    ):
        return True
    if not _ORDERED.isdisjoint(left.vocabulary):
        return False
    return any(_turned(left.words, right.words, at, behind) for at, behind in _links(left.words))


def _links(words: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """From where to where a word or phrase stands that joins two things."""
    far = not _FAR.isdisjoint(words) and "by" not in words  # 'by bike' one way may be longer
    for at, word in enumerate(words):
        start = at - 1 if at and words[at - 1] in _BEING else at
        if word in _JOINING or (far and word in ("from", "to")):
            yield at, at + 1
        elif word in _MUTUAL and words[at + 1 : at + 1 + len(_MUTUAL[word])] == _MUTUAL[word]:
            yield start, at + 1 + len(_MUTUAL[word])


def _to_first(words: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether `words` have 'from one to two' where `other` has 'to two from one'."""
    start = words.index("from")
    for at in range(start + 2, min(start + LONGEST + 2, len(words))):
        for end in range(at + 2, min(at + LONGEST + 2, len(words) + 1)) if words[at] == "to" else ():
            if other == (*words[:start], *words[at:end], *words[start:at], *words[end:]):
                return _PLACING.isdisjoint(words[end:])  # 'from Rome to Pisa to Genoa'
    return False


def _turned(words: tuple[str, ...], other: tuple[str, ...], at: int, behind: int) -> bool:
    """Whether `other` has what `words[at:behind]` joins in the other order."""
    for start in range(max(at - LONGEST, 0), at):
        for end in range(behind + 1, min(behind + 1 + LONGEST, len(words) + 1)):
            one, two = words[start:at], words[behind:end]
            if other[start:end] == (*two, *words[at:behind], *one) and other[end:] == words[end:]:
                return other[:start] == words[:start] and _things(words, start, at, end)
    return False


def _things(words: tuple[str, ...], start: int, at: int, end: int) -> bool:
    """Whether both are things in one place of a sentence, and no verbs, clauses or ends of a span."""
    if words[at] not in _SEQUENCES:
        return True
    before, after = words[start - 1] if start else "", words[end] if end < len(words) else ""
    if not start or (before in _BEFORE_VERBS and 1 in (at - start, end - at - 1)):
        return False
    counted = words[start][0].isdigit() or words[start] in lx.CARDINALS
    return not (before == "between" and counted) and not (after in _CLAUSE and start > 1)


_SEQUENCES: Final = frozenset(("and", "or", "nor"))
_LINKING: Final = _JOINING.union(_MUTUAL, ("from", "to"))
