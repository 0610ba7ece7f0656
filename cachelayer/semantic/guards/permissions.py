"""Guards: one text asks whether an act is allowed, the other whether it is required, advisable or safe.

'Do I have to register the drone?' / 'Is it worth registering the drone?', 'How many days may I take?' / 'How many days
do I have to take?'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ..text.lexemes import stem
from ..text.signature import QUESTION_WORDS, Signature

_FIRST: Final = dict.fromkeys(("can", "could", "may", "might"), "leave") | {
    "must": "duty", "should": "advice", "ought": "advice", "shall": "advice",
}  # fmt: skip
"""What a question asks for that begins with these."""
_SAID: Final = {
    word: kind
    for kind, said in (
        ("leave", "allowed permitted legal legally lawful illegal forbidden prohibited possible"),
        ("duty", "required obliged obligated obligatory mandatory compulsory necessary need needed must"),
        ("advice", "wise advisable recommended recommend worth worthwhile sensible should"),
        ("safety", "safe dangerous harmful risky unsafe"),
    )
    for word in said.split()
}
_ALIKE: Final = {"leave", "safety"}
_HAVING: Final = ("have", "has", "had")
_DOING: Final = ("do", "does", "did")
_HAVE_TO: Final = frozenset((("have", "to"), ("need", "to")))
_ASKED: Final = frozenset(("you", "u", "someone", "somebody", "anyone", "anybody"))
"""'Can you', 'can anyone' ask for a favour."""


def permissions(a: Signature, b: Signature) -> bool:
    """Both ask whether, or both when or who, each for another of leave, duty, advice and safety; but 'can I' may be
    'is it safe', and 'how can I' is 'how should I'.
    """
    if a.question != b.question:
        return False
    if a.question == "yesno":
        mine, theirs = matter(a), matter(b)
    elif a.question in ("when", "who"):
        mine, theirs = opening(a.words[1:]), opening(b.words[1:])
    else:
        return False
    return mine != "" != theirs != mine and {mine, theirs} != _ALIKE


def matter(s: Signature) -> str:
    """'leave', 'duty', 'advice' or 'safety'; '' for none of them, and for more than one."""
    words = s.words
    if not QUESTION_WORDS.isdisjoint(s.vocabulary):
        return ""
    kinds = {_SAID[word] for word in words[1:] if word in _SAID}
    if words[0] in _FIRST and (len(words) < 2 or words[1] not in _ASKED):
        kinds.add(_FIRST[words[0]])
    if "to" in s.vocabulary and any(x in _HAVING and y == "to" for x, y in pairwise(words)):
        kinds.add("duty")
    return kinds.pop() if len(kinds) == 1 else ""


def opening(words: Sequence[str]) -> str:
    """What a question asks for by its first words, those behind 'when' and 'who'; '' for nothing of the kind."""
    if not words or not _ASKED.isdisjoint(words[1:2]):
        return ""
    if words[0] in _DOING:
        return "" if _HAVE_TO.isdisjoint(pairwise(words[2:6])) else "duty"
    return _FIRST.get(words[0], "")


_MAY: Final = frozenset("may can could allowed permitted able free entitled optionally ok okay".split())
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


def duties(a: Signature, b: Signature) -> bool:
    """One text asks for leave to do what the other asks a duty of, in any kind of question."""
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
        if word in ("can", "could") and not _WAYS.isdisjoint(words[max(i - 1, 0) : i]):
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
