"""Guard: one text asks how something is, the other how it used to be, or how it is becoming.

'does the bus stop here' / 'did the bus use to stop here', 'is the lake salty' / 'is the lake becoming salty'.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from ..text.signature import Signature

_USED: Final = frozenset(("used", "use"))
_ACCUSTOMED: Final = frozenset(
    "am is are was were be been being i'm it's he's she's we're they're get gets got getting".split()
)
"""'I am used to it', 'get used to it', 'what is salt used to do'."""
_PAST: Final = frozenset("was were wasn't weren't did didn't had hadn't formerly previously once".split())
_TURNING: Final = frozenset(("becoming", "getting"))
_TURNS: Final = frozenset("become becomes becoming became get gets getting got".split())
_IS: Final = frozenset("is are am isn't aren't i'm it's he's she's we're they're".split())


def habits(a: Signature, b: Signature) -> bool:
    """As it was once in one text and as it is in the other, or as it is and as it is becoming."""
    left, right = _once(a), _once(b)
    if left != right and not _tells_of_past(b if left else a):
        return True
    return _becomes(a, b) or _becomes(b, a)


def _once(s: Signature) -> bool:
    """'used to', but neither 'get used to' nor 'can be used to pay'."""
    if "to" not in s.vocabulary or s.vocabulary.isdisjoint(_USED):
        return False
    for i, (word, after) in enumerate(pairwise(s.words)):
        if after == "to" and (word == "used" or (word == "use" and not _DID.isdisjoint(s.words[:i]))):
            return _ACCUSTOMED.isdisjoint(s.words[:i])
    return False


_DID: Final = frozenset(("did", "didn't"))


def _tells_of_past(s: Signature) -> bool:
    return not _PAST.isdisjoint(s.vocabulary) or any(word.endswith("ed") for word in s.vocabulary)


def _becomes(turning: Signature, other: Signature) -> bool:
    """'is becoming salty' and 'is salty'; of 'getting' only where both ask whether: 'why is it (getting) hot' asks one
    thing."""
    if turning.vocabulary.isdisjoint(_TURNING) or not _TURNS.isdisjoint(other.vocabulary):
        return False
    if _IS.isdisjoint(other.vocabulary) or _IS.isdisjoint(turning.vocabulary):
        return False
    for word, after in pairwise(turning.words):
        if word == "becoming":
            return True
        if word == "getting" and turning.question == other.question == "yesno" and after in other.vocabulary:
            return not after.endswith("ed")
    return False
