"""Guard: one text says that there is too much of something, the other asks for more of it.

'The music is too loud' / 'make the music louder', in whatever wording."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..text.signature import Signature

_VOWELS: Final = frozenset("aeiou")


def degrees(a: Signature, b: Signature) -> bool:
    """One text has too much of what the other asks more of."""
    return ("too" in a.vocabulary and _more(a, b)) or ("too" in b.vocabulary and _more(b, a))


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
