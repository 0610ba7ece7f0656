"""Guard: something is measured by the same thing in both texts, and otherwise.

'Older than Tom' / 'as old as Tom', 'less time than the first' / 'at least as long as the first', 'before the lunch'
/ 'after the lunch', 'is Ann older than Bob' / 'would Bob be older than Ann'. What is measured by a number is compared
in `thresholds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature
from .thresholds import BEHIND, NOT, THAN

_MOMENTS: Final = {"before": "<", "after": ">"}
_DEGREES: Final = frozenset(
    """long short big large small tall high low old young heavy cheap expensive many much few close far wide deep fast
    slow strong good bad""".split()
)
"""'As long as a thing', but not 'as well as' or 'as soon as' it."""
_BOUNDED: Final = {"least": ">=", "most": "<="}
"""'At least the age of Tom', 'at most as old as Tom'."""
_EQUAL: Final = ({"=", "<"}, {"=", ">"})
"""What no two names for one thing bring together."""
_SAME: Final = frozenset(("same", "equal"))
_COMPARING: Final = frozenset(("than", "as", "equal", "least", "most")).union(_MOMENTS)
_WEAKER: Final = {"<": "<=", ">": ">="}
_DENIED: Final = {"<": ">=", ">": "<="}
_WITHIN: Final = 9
"""Words behind, among which is what something is measured by."""


def comparisons(a: Signature, b: Signature) -> bool:
    """Both measure something once, by one thing: by more in one text, and by less, or no more, in the other."""
    if _COMPARING.isdisjoint(a.vocabulary) or _COMPARING.isdisjoint(b.vocabulary):
        return False
    if "than" in a.vocabulary and "than" in b.vocabulary and _traded(a, b):
        return True
    mine, theirs = list(_measures(a.words)), list(_measures(b.words))
    if len(mine) != 1 or len(theirs) != 1:
        return False
    (things, how), (others, otherwise) = *mine, *theirs
    if {how, otherwise} in _EQUAL:
        return True
    return how != otherwise and (things[0] in others or others[0] in things)


def _traded(a: Signature, b: Signature) -> bool:
    """'Is A faster than B?' / 'would B be faster than A?'"""
    (this, more, that), (these, again, those) = _sides(a), _sides(b)
    crossed = (this - that) & (those - these) and (that - this) & (these - those)
    return bool(crossed and more & again) and (more ^ again).isdisjoint(THAN)


def _sides(s: Signature) -> tuple[set[str], set[str], set[str]]:
    """Stems of what is said before 'than', the comparatives there, and stems of what is said behind."""
    at = s.words.index("than")
    before, behind = ({stem(w) for w in words if _names(w)} for words in (s.words[:at], s.words[at + 1 :]))
    return before, {w for w in s.words[:at] if w in THAN or w.endswith("er")}, behind


def _names(word: str) -> bool:
    """'Plan A' has 'a' for a name."""
    return word not in lx.FUNCTION_WORDS or word == "a"


def _measures(words: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """By what something is measured, the first words first, and how: '<', '>=', '='."""
    for i, word in enumerate(words):
        how = _MOMENTS.get(word) or (_more(words, i) if word == "than" else _as_much(words, i))
        if how is None:
            continue
        things = [
            stem(w.removesuffix("'s")) for w in words[i + 1 : i + _WITHIN] if w not in lx.FUNCTION_WORDS
        ]
        if things and not (word in _MOMENTS and things[0][0].isdigit()):
            yield things, how


def _more(words: Sequence[str], than: int) -> str | None:
    """'More than', 'no more than', 'less than or equal to', 'the same or longer than'."""
    at = next((k for k in range(than - 1, max(than - 4, -1), -1) if words[k] in THAN), -1)
    if at < 0:
        return None
    how = ">" if THAN[words[at]] else "<"
    if at and words[at - 1] in NOT:
        return _DENIED[how]
    near = (*words[max(at - 4, 0) : at], *words[than + 1 : than + 3])
    return _WEAKER[how] if "or" in near and not _SAME.isdisjoint(near) else how


def _as_much(words: Sequence[str], at: int) -> str | None:
    """'Equal to', 'at most the', and what `_as` reads."""
    word, behind = words[at], words[at + 1] if at + 1 < len(words) else ""
    if word == "as":
        return _as(words[max(at - 7, 0) : at])
    if (word, behind) == ("equal", "to"):
        return None if "or" in words[max(at - 2, 0) : at + 4] else "="
    return _BOUNDED.get(word) if behind == "the" and at and words[at - 1] == "at" else None


def _as(before: Sequence[str]) -> str | None:
    """'As long as', 'at least as long to cook as', 'the same size as', 'the same or more time to cook as'."""
    first = next((k for k, word in enumerate(before[:-1]) if word == "as" and before[k + 1] in _DEGREES), -1)
    if first >= 0:
        ahead = before[max(first - 2, 0) : first]
        bounded = next((_BOUNDED[word] for word in ("least", "most") if word in ahead), None)
        return bounded or ("=" if NOT.isdisjoint(ahead) else "<")
    if "same" not in before:
        return None
    over = next((BEHIND[w] for w in before if w in BEHIND), None) if "or" in before else None
    return "=" if over is None else ">=" if over else "<="
