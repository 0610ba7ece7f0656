"""Guard: subject and object of a verb are exchanged, told by the order of three words.

'how often did Nadal beat Federer' / 'the number of times Federer beat Nadal', whatever words are around them. Passives
are compared in `voices`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..text.lexemes import POSSESSORS, PREPOSITIONS, stem
from ..text.lexicon import FUNCTION_WORDS
from ..text.signature import Signature

_HELPING: Final = frozenset(
    """do does did don't doesn't didn't will won't would can can't could should may might must has have had""".split()
)
_POINTING: Final = frozenset("a an the this that these those any every each another other".split()).union(
    POSSESSORS
)
EVEN: Final = frozenset(
    map(
        stem,
        "meet met marry married marries differ fight fought fights play played plays equal equals".split(),
    )
)
"""What two do to each other."""
Deed = tuple[str, str, str]
"""Stems: who does it, what, to whom."""


def doers(a: Signature, b: Signature) -> bool:
    """Who does it in one text, it is done to in the other; both active, each word there once."""
    both = a.stems & b.stems
    if len(both) < 3 or not EVEN.isdisjoint(both):
        return False
    if a.content == b.content or "by" in a.vocabulary or "by" in b.vocabulary:
        return False
    if [x for x in a.content if x in both] == [x for x in b.content if x in both]:
        return False
    deeds = frozenset(_deeds(a, both))
    return bool(deeds) and any((whom, deed, who) in deeds for who, deed, whom in _deeds(b, both))


def heads(a: Signature, b: Signature) -> bool:
    """'The index of an item' / 'the item at an index': which is whose."""
    if a.stems != b.stems or len(a.content) != len(b.content):
        return False
    return _owned(a, b) or _owned(b, a)


def _owned(a: Signature, b: Signature) -> bool:
    if "of" not in a.vocabulary:
        return False
    linked = frozenset(_linked(b.words))
    return any((of, thing) in linked for thing, of in _linked(a.words, only="of") if of != thing)


def _linked(words: Sequence[str], only: str = "") -> Iterator[tuple[str, str]]:
    """Stems of what stands before a preposition and behind it."""
    for i in range(1, len(words) - 1):
        if words[i] in PREPOSITIONS and (not only or words[i] == only):
            at = _thing(words, i + 1)
            if at < len(words) and words[i - 1] not in FUNCTION_WORDS:
                yield stem(words[i - 1]), stem(words[at])


def _deeds(s: Signature, among: frozenset[str]) -> Iterator[Deed]:
    """Three words that follow each other, with no more than 'the' or 'my' before the third, where one that helps or
    points stands before the first or the third, or both are names."""
    words, stems = s.words, [stem(word) for word in s.words]
    for i in range(1, len(words) - 1):
        at = _thing(words, i + 1)
        if at >= len(words) or not {stems[i - 1], stems[i], stems[at]} <= among:
            continue
        who, deed, whom = stems[i - 1], stems[i], stems[at]
        named = who in s.names and whom in s.names
        before = words[i - 2] if i > 1 else ""
        led = before in _HELPING or before in _POINTING or at > i + 1
        if (named or led) and all(s.content.count(one) == 1 for one in (who, deed, whom)):
            yield who, deed, whom


def _thing(words: Sequence[str], at: int) -> int:
    """The place of the next word that is no article or the like."""
    while at < len(words) and words[at] in _POINTING:
        at += 1
    return at
