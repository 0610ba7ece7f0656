"""Guard: one text says when something begins, the other how long it lasts.

'Turn it off in two hours' / 'turn it off for two hours', in whatever wording."""

from __future__ import annotations

from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import NONE
from ..text.signature import Signature

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
    return bool(mine and theirs) and mine != theirs and len(mine | theirs) == 2


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
