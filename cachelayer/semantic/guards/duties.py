"""Guard: one text asks how much may be done, the other how much must be.

'How many days may I take?' / 'How many days do I have to take?'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..text.lexemes import stem
from ..text.signature import Signature

_MAY: Final = frozenset("may can could allowed permitted able free entitled optionally".split())
_MUST: Final = frozenset("must have has need needs required obliged obligated supposed".split())
_BARE: Final = frozenset("may can could must optionally".split())
"""Those that need no 'to' before the verb."""
_BEING: Final = frozenset("am is are was were be been".split())
_NEAR: Final = 6
"""Words within which the verb follows."""
_ANYTHING: Final = frozenset("do know be get go see use want need have help".split())
"""Verbs that are said of either: 'What can I do to', 'What do I have to do to'."""
_WAYS: Final = frozenset(("how", "what", "where", "when"))
"""'How can I', 'where can I' ask for ways."""
_ASKED: Final = frozenset(("can", "could"))


def duties(a: Signature, b: Signature) -> bool:
    """One text asks for leave to do what the other asks a duty of."""
    return _apart(a, b) or _apart(b, a)


def _apart(must: Signature, may: Signature) -> bool:
    """A verb is a duty in `must` alone, and leave in `may` alone."""
    if _MUST.isdisjoint(must.vocabulary) or _MAY.isdisjoint(may.vocabulary):
        return False
    duty, leave = frozenset(_said(must.words, _MUST)), frozenset(_said(may.words, _MAY))
    both = duty & leave - _ANYTHING
    if not both:
        return False
    return both.isdisjoint(_said(must.words, _MAY)) and both.isdisjoint(_said(may.words, _MUST))


def _said(words: Sequence[str], how: frozenset[str]) -> Iterator[str]:
    """Stems of what stands after a word of `how`: at once after its 'to', within some words of a bare one."""
    for i, word in enumerate(words):
        if word not in how or words[i + 1 : i + 2] == ("you",):
            continue
        if word in _ASKED and not _WAYS.isdisjoint(words[max(i - 1, 0) : i]):
            continue
        if word == "required" and _BEING.isdisjoint(words[max(i - 3, 0) : i]):
            continue
        if word in _BARE:
            yield from _deeds(words, range(i + 1, min(i + 1 + _NEAR, len(words))))
        elif words[i + 1 : i + 2] == ("to",):
            at = i + 3 if words[i + 2 : i + 3] == ("be",) else i + 2
            yield from _deeds(words, range(at, min(at + 1, len(words))))


def _deeds(words: Sequence[str], where: range) -> Iterator[str]:
    """'sign', and 'be sign' where it is what is done to something."""
    for i in where:
        yield f"be {stem(words[i])}" if words[i - 1] == "be" else stem(words[i])
