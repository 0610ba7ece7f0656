"""Guard: one text says that there is too much of something, the other asks for more of it; or as much, and more.

'The music is too loud' / 'make the music louder', in whatever wording; 'as long as a bus' / 'longer than a bus'.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text.signature import Signature

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
