"""Guard: one text asks how something is, the other how it used to be, is becoming, should be, or would have been.

'does the bus stop here' / 'did the bus use to stop here', 'is the lake salty' / 'is the lake becoming salty', 'is the
light blinking' / 'is the light supposed to blink', 'what if I miss it' / 'what if I had missed it'.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ..text.lexemes import PREPOSITIONS
from ..text.signature import Signature
from .tenses import ended

_USED: Final = frozenset(("used", "use"))
_ACCUSTOMED: Final = frozenset(
    "am is are was were be been being i'm it's he's she's we're they're get gets got getting".split()
)
"""'I am used to it', 'get used to it', 'what is salt used to do'."""
_DID: Final = frozenset(("did", "didn't"))
_WHETHER: Final = ("yesno", "other", "")
_SUPPOSED: Final = frozenset(("supposed", "meant"))
_DUE: Final = frozenset(
    "should shouldn't must mustn't ought expected need needs have has had due normal normally".split()
)
"""Beside one of these it may be as supposed."""
_WOULD: Final = frozenset("would could might wouldn't couldn't would've could've might've".split())
_PAST: Final = frozenset("was were wasn't weren't did didn't had hadn't formerly previously once".split())
_TURNING: Final = frozenset(("becoming", "getting"))
_ATTACHED: Final = PREPOSITIONS.union("after before without since while".split())
"""Behind these 'becoming' is no verb of the sentence: 'the reward for becoming a writer'."""
_TURNS: Final = frozenset("become becomes becoming became get gets getting got".split())
_HINTS: Final = _USED.union(_SUPPOSED, _TURNING, ("had",))
"""Of which one at least is there where a text says more than how something is."""
_IS: Final = frozenset("is are am isn't aren't i'm it's he's she's we're they're".split())


def habits(a: Signature, b: Signature) -> bool:
    """As it is in one text, and otherwise real in the other."""
    if _HINTS.isdisjoint(a.vocabulary) and _HINTS.isdisjoint(b.vocabulary):
        return False
    once, supposed = _once(a), _supposed(a)
    if once != _once(b) and not _tells_of_past(b if once else a):
        return True
    if supposed != _supposed(b) and _DUE.isdisjoint((b if supposed else a).vocabulary):
        return True
    if (_unreal(a) and _may_come(b)) or (_unreal(b) and _may_come(a)):
        return True
    return _becomes(a, b) or _becomes(b, a)


def _supposed(s: Signature) -> bool:
    """'supposed to be', 'meant to blink'; 'how am I supposed to' is 'how do I'."""
    if _SUPPOSED.isdisjoint(s.vocabulary) or s.question not in _WHETHER:
        return False
    return any(word in _SUPPOSED and after == "to" for word, after in pairwise(s.words[:-1]))


def _unreal(s: Signature) -> bool:
    """'would ... if I had missed it'; 'if I had a dog' may come true."""
    if "had" not in s.vocabulary or "if" not in s.vocabulary or _WOULD.isdisjoint(s.vocabulary):
        return False
    return any(
        word == "had" and (after.endswith("en") or ended(frozenset((after,))))
        for word, after in pairwise(s.words)
    )


def _may_come(s: Signature) -> bool:
    return "if" in s.vocabulary and _WOULD.isdisjoint(s.vocabulary) and _PAST.isdisjoint(s.vocabulary)


def _once(s: Signature) -> bool:
    """'used to', but neither 'get used to' nor 'can be used to pay'."""
    if "to" not in s.vocabulary or s.vocabulary.isdisjoint(_USED):
        return False
    for i, (word, after) in enumerate(pairwise(s.words)):
        if after == "to" and (word == "used" or (word == "use" and not _DID.isdisjoint(s.words[:i]))):
            return _ACCUSTOMED.isdisjoint(s.words[:i])
    return False


def _tells_of_past(s: Signature) -> bool:
    return not _PAST.isdisjoint(s.vocabulary) or any(word.endswith("ed") for word in s.vocabulary)


def _becomes(turning: Signature, other: Signature) -> bool:
    """'is becoming salty' and 'is salty'; of 'getting' only where both ask whether: why it is (getting) hot is one."""
    if turning.vocabulary.isdisjoint(_TURNING) or not _TURNS.isdisjoint(other.vocabulary):
        return False
    if _IS.isdisjoint(other.vocabulary) or _IS.isdisjoint(turning.vocabulary):
        return False
    for i, (word, after) in enumerate(pairwise(turning.words)):
        if word == "becoming":
            return not _IS.isdisjoint(turning.words[:i]) and _ATTACHED.isdisjoint(turning.words[:i])
        if word == "getting" and turning.question == other.question == "yesno" and after in other.vocabulary:
            return not after.endswith("ed")
    return False
