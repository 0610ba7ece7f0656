"""Guards: small verbs that make another statement of the same words.

'Is Ann a lawyer' / 'does Ann have a lawyer', 'is the hotel near the port' / 'is there a hotel near the port', 'do I
get a receipt' / 'do I give a receipt', 'what is the boss like' / 'what does the boss like', 'do I ask him to leave' /
'do I ask to leave'.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..text.lexemes import POSSESSORS
from ..text.signature import Signature
from .exchanges import apart

_BE: Final = frozenset("am is are was were be i'm he's she's it's we're they're you're".split())
_HAVE: Final = frozenset("have has had".split())
_DO: Final = frozenset("do does did".split())
_HELPING: Final = _BE | _HAVE | _DO
_ARTICLES: Final = frozenset(("a", "an"))
_KNOWN: Final = frozenset(("the", *POSSESSORS))
_GOT: Final = {
    form: verb
    for verb, forms in (
        ("get", "get gets got getting"),
        ("give", "give gives gave giving"),
        ("need", "need needs needed needing"),
    )
    for form in forms.split()
}
"""Verbs of which none is another: 'who gets the grades' / 'who gives the grades'."""
_GIVEN_TO: Final = frozenset(POSSESSORS).union(("you", "it", "someone", "somebody"))
"""'Can I get my dog milk' is 'can I give my dog milk'."""
_ASKING: Final = frozenset(
    "ask asks asked asking want wants wanted need needs needed expect expects expected promise promised".split()
)
_ASKED: Final = frozenset("me him her us them".split())
"""Without 'you': 'I want you to cancel it' is 'I want to cancel it'."""


def predicates(a: Signature, b: Signature) -> bool:
    """The same words of content, but another small verb."""
    differ = a.vocabulary ^ b.vocabulary
    if differ.isdisjoint(_SMALL):
        return False
    if differ <= _HELPING and (_is_or_has(a, b) or _is_or_has(b, a) or _like(a, b) or _like(b, a)):
        return True
    return _gets(a, b) or _asked(a, b) or _asked(b, a) or _placed(a, b) or _placed(b, a)


_SMALL: Final = _HELPING.union(_GOT, _ASKED, ("there",))


def _placed(known: Signature, any_: Signature) -> bool:
    """Where a thing is that one knows, and whether there is one."""
    if known.content != any_.content or known.words[:1] != any_.words[:1] or any_.words[1:2] != ("there",):
        return False
    return known.words[0] in _BE and not _KNOWN.isdisjoint(known.words[1:2])


def _is_or_has(being: Signature, having: Signature) -> bool:
    """'Is it a demo' / 'does it have a demo'; but 'is it gone' is 'has it gone'."""
    only, other = having.vocabulary - being.vocabulary, being.vocabulary - having.vocabulary
    if only.isdisjoint(_HAVE) or other.isdisjoint(_BE) or not only.isdisjoint(_BE):
        return False
    return any(
        word in _HAVE and a in _ARTICLES for word, a in zip(having.words, having.words[1:], strict=False)
    )


def _like(being: Signature, doing: Signature) -> bool:
    """'What is she like' / 'what does she like'."""
    if being.words[-1:] != ("like",) or doing.words[-1:] != ("like",):
        return False
    return being.vocabulary.isdisjoint(_DO) and doing.vocabulary.isdisjoint(_BE)


def _gets(a: Signature, b: Signature) -> bool:
    if len(places := apart(a.words, b.words)) != 1:
        return False
    (at,) = places
    one, other = _GOT.get(a.words[at]), _GOT.get(b.words[at])
    return None not in (one, other) and one != other and _GIVEN_TO.isdisjoint(a.words[at + 1 : at + 2])


def _asked(others: Signature, own: Signature) -> bool:
    """What one is asked to do in one text, who asks does in the other: 'want him to call' / 'want to call'."""
    if _ASKED.isdisjoint(others.vocabulary) or _ASKING.isdisjoint(own.vocabulary):
        return False
    return not frozenset(_deeds(others, 1)).isdisjoint(_deeds(own, 0))


def _deeds(s: Signature, between: int) -> Iterator[tuple[str, str]]:
    """A verb of asking and what is asked for, with `between` words for whom."""
    words = s.words
    for i, word in enumerate(words):
        to = i + between + 1
        if word in _ASKING and words[to : to + 1] == ("to",) and _ASKED.issuperset(words[i + 1 : to]):
            yield word, (*words[to + 1 :], "")[0]
