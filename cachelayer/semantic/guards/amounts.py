"""Guards: how much and how long, however it is worded.

'Both parents' / 'one parent', 'in two hours' / 'for two hours', 'it is too loud' / 'louder', 'as long as' / 'longer
than'. What bounds a number is compared in `thresholds`, units without a number in `units`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import NONE, stem
from ..text.signature import Signature

_POINTING: Final = frozenset("this that which the each every no any".split())


def both(a: Signature, b: Signature) -> bool:
    """One text is about both of two, the other about one of them: 'both parents' / 'one parent'."""
    if ("both" in a.vocabulary) == ("both" in b.vocabulary):
        return False
    two, one = (a, b) if "both" in a.vocabulary else (b, a)
    if "either" in one.vocabulary:
        return "either" not in two.vocabulary
    return any(
        word == "one" and before not in _POINTING and (after == "of" or stem(after) in two.stems)
        for before, word, after in zip(("", *one.words), one.words, one.words[1:], strict=False)
    )


_WHOLE: Final = frozenset("all every each entire whole".split())
_PARTS: Final = (("a", "single"), ("only", "one"), ("just", "one"), ("part", "of"), ("half", "of"))
_FEW: Final = frozenset(("one", "single", "part", "half"))


def wholes(a: Signature, b: Signature) -> bool:
    """'All messages' / 'one message', 'the whole order' / 'part of my order'."""
    if _WHOLE.isdisjoint(a.vocabulary) == _WHOLE.isdisjoint(b.vocabulary):
        return False
    every, one = (b, a) if _WHOLE.isdisjoint(a.vocabulary) else (a, b)
    if _FEW.isdisjoint(one.vocabulary):
        return False
    whole = {thing for at, word in enumerate(every.words) if word in _WHOLE for thing in _things(every, at)}
    return any(
        not whole.isdisjoint(_things(one, at))
        for at, (before, word) in enumerate(pairwise(("", *one.words)))
        if (before, word) in _PARTS or (word == "one" and before not in _POINTING | {"than"})
    )


def _things(s: Signature, at: int) -> Iterator[str]:
    """What is named within three words behind."""
    return (stem(word) for word in s.words[at + 1 : at + 4] if word not in lx.FUNCTION_WORDS)


_TIMES: Final = frozenset("second minute hour day week month year".split())
_LENGTHS: Final = frozenset(word for word, unit in lx.UNITS.items() if unit in _TIMES and len(word) > 1)
_COUNTED: Final = lx.CARDINALS.keys() | frozenset(("a", "an", "one", "another"))
_BEGINS: Final = frozenset(("in", "within"))
_EITHER: Final = _BEGINS.union(("for",))
_SO_FAR: Final = frozenset(
    "have has had haven't hasn't hadn't i've we've been not never no n't don't didn't doesn't first only".split()
).union("best worst most least highest lowest biggest largest times once twice how ever since".split())
"""'I haven't slept in two days', 'the best in ten years': where both may mean how long it has lasted."""


def spans(a: Signature, b: Signature) -> bool:
    """One text says in how long it begins, the other how long it lasts."""
    if _LENGTHS.isdisjoint(a.vocabulary) or _LENGTHS.isdisjoint(b.vocabulary):
        return False
    mine, theirs = _spans(a), _spans(b)
    return bool(mine and theirs) and mine != theirs


def _spans(s: Signature) -> frozenset[str]:
    """'in', where a length of time follows that or 'within'; 'for'; both; or none that is sure."""
    if _EITHER.isdisjoint(s.vocabulary) or not _SO_FAR.isdisjoint(s.vocabulary):
        return NONE
    words = s.words
    return frozenset(
        "in" if word in _BEGINS else "for"
        for i, word in enumerate(words[:-2])
        if word in _EITHER
        and (words[i + 1] in _COUNTED or words[i + 1][0].isdigit())
        and words[i + 2] in _LENGTHS
        and words[i + 3 : i + 4] != ("of",)
    )


_VOWELS: Final = frozenset("aeiou")


def degrees(a: Signature, b: Signature) -> bool:
    """One text has too much of what the other asks more of, or as much as something of what it has more than it."""
    if ("than" in a.vocabulary) != ("than" in b.vocabulary) and (_as_much(a, b) or _as_much(b, a)):
        return True
    return ("too" in a.vocabulary and _more(a, b)) or ("too" in b.vocabulary and _more(b, a))


def _as_much(even: Signature, other: Signature) -> bool:
    """'As long as' here, 'longer than' or 'more long than' there."""
    if "as" not in even.vocabulary or "than" in even.vocabulary:
        return False
    words = even.words
    much = {how for i, how in enumerate(words) if words[i - 1 : i] == ("as",) == words[i + 1 : i + 2]}
    more = {form for how in much for form in _compared(how)}
    return any(
        than == "than" and (word in more or (word in much and before in ("more", "less")))
        for before, word, than in zip(("", *other.words), other.words, other.words[1:], strict=False)
    )


def _more(too: Signature, other: Signature) -> bool:
    """Of what is too much in one, nothing is denied in the other."""
    if "too" in other.vocabulary or other.negations:
        return False
    more = {form for small, how in pairwise(too.words) if small == "too" for form in _compared(how)}
    return not more.isdisjoint(other.vocabulary) and more.isdisjoint(too.vocabulary)


def _compared(how: str) -> Iterator[str]:
    """'Louder' of 'loud', 'larger' of 'large', 'hotter' of 'hot', 'noisier' of 'noisy'."""
    yield how + "er"
    if how.endswith("e"):
        yield how + "r"
    elif how.endswith("y"):
        yield how[:-1] + "ier"
    elif len(how) > 2 and how[-2] in _VOWELS and how[-1] not in _VOWELS:
        yield how + how[-1] + "er"
