"""Guard: one text asks for causes, the other for consequences.

'Why were rates raised?' / 'What came as a result of raised rates?', 'Does stress cause ulcers?' / 'Do ulcers cause
stress?'.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import stem
from ..text.signature import Signature

_CAUSE: Final = lx.phrases(
    "why,what causes,what caused,what triggers,what triggered,what leads to,what led to,what brings about,what makes,"
    "what made,comes about,come about,came about,cause of,causes of,cause and,causes and,reason for,reasons for,"
    "reason why,reasons why,reason behind,reasons behind,reasons and,because of what"
)
_EFFECT: Final = lx.phrases(
    "result of,results of,what happens,what would happen,what will happen,effect of,effects of,effect on,effects on,"
    "effects and,consequence of,consequences of,consequences and,impact of,impacts of,impact on,outcome of,aftermath of"
)
_DOING: Final = ("do", "does", "did")
_HINTS: Final = frozenset(_DOING).union(
    max(phrase, key=len) for known in (_CAUSE, _EFFECT) for same in known.values() for phrase in same
)
"""The longest word of each phrase."""
_MAKING: Final = frozenset(
    """make makes made making cause causes caused causing trigger triggers triggered affect affects affected
    worsen worsens prevent prevents""".split()
)
_BEING: Final = frozenset("am is are was were be been being get gets got".split())
_STOPPING: Final = frozenset("stop stops stopped prevent prevents prevented keep keeps".split())
_PREVENTING: Final = _STOPPING.union(
    "without avoid avoids avoiding stopping preventing no not never against about block".split()
)
_CEASING: Final = frozenset("stop stops stopped quit quits cease avoid".split())
_ENDING: Final = _CEASING | _PREVENTING
_BARE: Final = frozenset("people person someone anyone something thing things".split()).union(_MAKING)
_ROOT: Final = 5
"""Letters by which two forms of one word are told: 'depression', 'depressed'."""
_Sides = tuple[frozenset[str], frozenset[str]]


def causes(a: Signature, b: Signature) -> bool:
    """One text asks where it comes from and the other what comes of it, or cause and effect are exchanged, or one makes
    what the other prevents or ends.
    """
    said = a.vocabulary | b.vocabulary
    if not _CEASING.isdisjoint(said) and (_ceases(a, b) or _ceases(b, a)):
        return True
    if (
        "from" in said
        and (stops := _stops(a)) != _stops(b)
        and _PREVENTING.isdisjoint(a.vocabulary & b.vocabulary)
    ):
        return _PREVENTING.isdisjoint((b if stops else a).vocabulary)
    if not _HINTS.isdisjoint(a.vocabulary) and not _HINTS.isdisjoint(b.vocabulary):
        mine = _asks(a)
        if mine and _asks(b) not in (mine, ""):
            return True
    if _MAKING.isdisjoint(a.vocabulary) or _MAKING.isdisjoint(b.vocabulary):
        return False
    if not {"by", "from", "with"}.isdisjoint(said):
        return False
    left, right = _sides(a.words), _sides(b.words)
    return _crossed(left, right) and not _crossed(left, left) and not _crossed(right, right)


def _asks(s: Signature) -> str:
    """'cause' or 'effect', or '' if it is neither or both."""
    cause, effect = _says(s, _CAUSE), _says(s, _EFFECT) or _does_to(s)
    return "" if cause == effect else "cause" if cause else "effect"


def _says(s: Signature, known: lx.Phrases) -> bool:
    return any(lx.begun(s.words, i, known) for i, word in enumerate(s.words) if word in known)


def _does_to(s: Signature) -> bool:
    """'What does salt do to ice?', 'what it does to ice'."""
    if "what" not in s.vocabulary or "to" not in s.vocabulary:
        return False
    rest = s.words[s.words.index("what") + 1 :]
    return any(w in _DOING and rest[i + 1 : i + 2] == ("to",) for i, w in enumerate(rest))


def _stops(s: Signature) -> bool:
    """'Stop the baby from crying'."""
    if "from" not in s.vocabulary or _STOPPING.isdisjoint(s.vocabulary):
        return False
    words = s.words
    at = next(i for i, word in enumerate(words) if word in _STOPPING)
    return any(
        w == "from" and words[i + 1 : i + 2] and words[i + 1].endswith("ing")
        for i, w in enumerate(words[at:], at)
    )


def _ceases(one: Signature, other: Signature) -> bool:
    """'Stop ignoring the file' / 'ignore the file'."""
    if _CEASING.isdisjoint(one.vocabulary) or not _ENDING.isdisjoint(other.vocabulary):
        return False
    return any(
        word in _CEASING and after.endswith("ing") and stem(after) in other.stems
        for word, after in pairwise(one.words)
    )


def _sides(words: Sequence[str]) -> _Sides:
    """Roots of what stands before what makes and after it; none where that is a noun or passive."""
    at = next(i for i, word in enumerate(words) if word in _MAKING)
    if words[at + 1 : at + 2] == ("of",) or not _BEING.isdisjoint(words[max(at - 1, 0) : at]):
        return frozenset(), frozenset()
    before, after = (
        frozenset(stem(w)[:_ROOT] for w in part if w not in lx.FUNCTION_WORDS and w not in _BARE)
        for part in (words[:at], words[at + 1 :])
    )
    return before, after


def _crossed(left: _Sides, right: _Sides) -> bool:
    return not left[0].isdisjoint(right[1]) and not left[1].isdisjoint(right[0])
