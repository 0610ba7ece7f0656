"""Whether one request repeats another, typed differently: what is left of both is the same, and no fact differs."""

from __future__ import annotations

from collections.abc import Sequence

from ..guards.mentions import mentions
from ..guards.plain import FACTS, GUARDS
from ..text.reading import Reading
from ..text.repeats import akin
from ..text.signature import Signature
from ..text.slips import moved, respaced, slipped
from ..text.unaccented import retyped
from ..text.words import words


def may_repeat(mine: Reading, text: str, theirs: Sequence[str]) -> bool:
    """Whether a text, of the words `theirs`, may be the same request typed differently: costs a tenth of `repeats`."""
    said = mine.signature
    return (
        akin(said.vocabulary, frozenset(theirs))
        or (len(said.words) == len(theirs) and _retyped(said, theirs))
        or (-1 <= len(mine.text) - len(text) <= 1 and moved(mine.text, text))
    )


def repeats(a: Reading, b: Reading) -> bool:
    """Whether the texts are the same request, typed differently."""
    if not a.core or not b.core:
        return False
    spelling = words().spelling
    if not (a.core == b.core or slipped(a, b, spelling) or respaced(a, b, spelling) or _accented(a, b)):
        return False
    if any(guard(a.signature, b.signature) for name, guard in GUARDS if name in FACTS):
        return False
    return not mentions(a, b)


def _accented(a: Reading, b: Reading) -> bool:
    """One text of another language with and without its accents, by which alone it may be known as such."""
    if a.signature.english and b.signature.english:
        return False
    if retyped(a.core, b.core):
        return True
    return (a.core[-1] == "?") is (b.core[-1] == "?") and retyped(a.signature.words, b.signature.words)


def _retyped(mine: Signature, others: Sequence[str]) -> bool:
    """Whether as many words may be one text of another language, with and without accents."""
    if mine.english and all(map(str.isascii, (*mine.words, *others))):
        return False
    return retyped(mine.words, others)
