"""Guard: subject and object of a verb are exchanged, told by what stands before and behind it.

'how often did Nadal beat Federer' / 'the number of times Federer beat Nadal', 'is the owner able to read a guest's
notes' / 'can a guest read the notes of the owner', whatever words are around them. With 'by', see `voices`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..text.lexemes import CONDITIONS, POSSESSORS, PREPOSITIONS, stem
from ..text.lexicon import FUNCTION_WORDS
from ..text.signature import Signature
from .voices import BEING, participle

_HELPING: Final = BEING.union(
    """do does did don't doesn't didn't will won't would can can't could should may might must has have had to not never
    ever also still always able allowed permitted supposed more less""".split()
)
"""What may stand between who does it and what is done."""
_POINTING: Final = frozenset("a an the this that these those any every each another other".split()).union(
    POSSESSORS
)
_LINKING: Final = frozenset(("of", "than"))
_ENDING: Final = FUNCTION_WORDS.union(PREPOSITIONS, CONDITIONS)
EVEN: Final = frozenset(
    map(
        stem,
        "meet met marry married marries differ fight fought fights play played plays equal equals".split(),
    )
)
"""What two do to each other."""
_LONGEST: Final = 4
"""Words of what it is done to."""
Deed = tuple[str, str, frozenset[str]]
"""Stems: who does it, what, and of what it is done to."""


def doers(a: Signature, b: Signature) -> bool:
    """Who does it in one text, it is done to in the other; both active, each word there once."""
    both = a.stems & b.stems
    if len(both) < 3 or not EVEN.isdisjoint(both):
        return False
    if a.content == b.content or "by" in a.vocabulary or "by" in b.vocabulary:
        return False
    if [x for x in a.content if x in both] == [x for x in b.content if x in both]:
        return False
    deeds = list(_deeds(a, both))
    return bool(deeds) and any(
        deed == done and who in what - whom and does in whom - what
        for does, deed, what in deeds
        for who, done, whom in _deeds(b, both)
    )


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
    """Of each word that is among these and has one of them before it, helping words aside, who does that to what; where
    a word that helps or points shows that it is a verb, or both are names."""
    words = s.words
    for at in range(1, len(words) - 1):
        if words[at] in FUNCTION_WORDS or (deed := stem(words[at])) not in among:
            continue
        first = at - 1
        while first > 0 and words[first] in _HELPING:
            first -= 1
        if words[first] in FUNCTION_WORDS or (who := stem(words[first])) not in among:
            continue
        before = _before(words, first)
        last = words[at - 1] if first < at - 1 else before
        if last in BEING and participle(words[at]):
            continue
        what, pointed = _object(words, at + 1)
        named = who in s.names and not what.isdisjoint(s.names)
        if named or pointed or first < at - 1 or before in _HELPING or words[first - 1] in _POINTING:
            yield who, deed, what


def _before(words: Sequence[str], at: int) -> str:
    """What stands before the whole of what ends there: 'can' of 'can the new owner'."""
    while at >= 0 and words[at] not in FUNCTION_WORDS:
        at -= 1
    while at >= 0 and words[at] in _POINTING:
        at -= 1
    return words[at] if at >= 0 else ""


def _object(words: Sequence[str], at: int) -> tuple[frozenset[str], bool]:
    """Stems of what is named there, with what it is of; and whether a word that points comes first."""
    found: list[str] = []
    pointed = False
    for word in words[at:]:
        if word in _POINTING or word in _LINKING:
            pointed = pointed or not found
        elif word in _ENDING or len(found) == _LONGEST:
            break
        else:
            found.append(stem(word))
    return frozenset(found), pointed


def _thing(words: Sequence[str], at: int) -> int:
    """The place of the next word that is no article or the like."""
    while at < len(words) and words[at] in _POINTING:
        at += 1
    return at
