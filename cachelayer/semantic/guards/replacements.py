"""Guard: what goes in one text comes in its place in the other.

'Can I replace butter with oil?' / 'can butter replace oil?', 'use tea instead of coffee' / 'coffee rather than tea',
however they are worded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..text.lexemes import POSSESSORS, PREPOSITIONS, stem
from ..text.lexicon import AUXILIARIES, FUNCTION_WORDS
from ..text.signature import Signature
from .voices import BEING

_REPLACING: Final = frozenset(map(stem, ("replace", "substitute", "exchange", "swap", "switch")))
_REPLACE, _SUBSTITUTE = stem("replace"), stem("substitute")
_BY: Final = frozenset(("by", "for", "with"))
_PREFERRED: Final = (("instead", "of"), ("rather", "than"))
_SAID: Final = frozenset(("instead", "rather"))
_POINTING: Final = frozenset(("a", "an", "the", "this", "that", "any", "some")).union(POSSESSORS)
_HELPING: Final = AUXILIARIES | BEING
_STOPPING: Final = FUNCTION_WORDS | PREPOSITIONS
Things = frozenset[str]


def replacements(a: Signature, b: Signature) -> bool:
    """What one text wants gone is what the other wants in its place, and the other way round."""
    if not (_replaces(a) and _replaces(b)):
        return False
    mine = list(_changes(a.words))
    return bool(mine) and any(
        _exchanged(goes - comes, comes - goes, went - came, came - went)
        for goes, comes in mine
        for went, came in _changes(b.words)
    )


def _exchanged(goes: Things, comes: Things, went: Things, came: Things) -> bool:
    """Of each pair one may be what is asked for: 'What can I replace butter with?' / 'What can butter replace?'."""
    return bool(
        (goes & came and (comes & went or not (comes and went))) or (comes & went and not (goes and came))
    )


def _replaces(s: Signature) -> bool:
    return not (_SAID.isdisjoint(s.vocabulary) and _REPLACING.isdisjoint(s.stems))


def _changes(words: Sequence[str]) -> Iterator[tuple[Things, Things]]:
    """Stems of what goes and of what comes in its place."""
    for at, word in enumerate(words):
        if tuple(words[at : at + 2]) in _PREFERRED:
            yield _behind(words, at + 2)[0], _before(words, at)
        elif (deed := stem(word)) in _REPLACING:
            thing, end = _behind(words, at + 1)
            thing = thing or _before(words, at)  # 'can butter be replaced with oil'
            link = words[end] if end < len(words) else ""
            other = _behind(words, end + 1)[0] if link in _BY else frozenset()
            if other:
                yield (other, thing) if (deed, link) == (_SUBSTITUTE, "for") else (thing, other)
            elif deed == _REPLACE:
                yield thing, _before(words, at)
            elif deed == _SUBSTITUTE and link == "for":
                yield frozenset(), thing  # 'what can I substitute it for'


def _behind(words: Sequence[str], at: int) -> tuple[Things, int]:
    """What is named from there on, and where that ends."""
    found: list[str] = []
    while at < len(words) and (words[at] in _POINTING or words[at] not in _STOPPING):
        if words[at] not in _POINTING:
            found.append(stem(words[at]))
        at += 1
    return frozenset(found), at


def _before(words: Sequence[str], at: int) -> Things:
    """What is named right before, helping words aside."""
    while at > 0 and words[at - 1] in _HELPING:
        at -= 1
    found: list[str] = []
    while at > 0 and words[at - 1] not in _STOPPING:
        at -= 1
        found.append(stem(words[at]))
    return frozenset(found)
