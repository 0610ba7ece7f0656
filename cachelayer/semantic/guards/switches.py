"""Guards: something is on, or to be turned on, in one text, and off in the other, wherever these words stand; or it is
to rise in one, and to fall in the other; or to change by a number in one, and to that number in the other.

'Lights on' / 'turn the lights in here off', 'is the heating off' / 'is the kitchen heating on'; 'lower the volume' /
'turn the sound up'; 'raise my limit by 500' / 'to 500'.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text.lexemes import NONE, stem
from ..text.lexicon import CARDINALS, FUNCTION_WORDS
from ..text.signature import Signature

_SWITCHING: Final = frozenset(
    """turn turns turned turning switch switches switched switching put puts putting power powers powered flip flips
    flipped shut keep keeps kept leave leaves left set sets is are was were be stay stays""".split()
)
_ON: Final = "on"
_OFF: Final = "off"
_NEAR: Final = 6
"""Words behind the verb among which what belongs to it stands."""
_WHEN: Final = frozenset(
    "at in when whenever after before while until till from during if as once every and".split()
)
"""Behind one of these 'on' and 'off' something is said of when."""
_UP, _DOWN = "up", "down"
_TURNING: Final = frozenset("turn turns turned turning crank bring".split())
_RISING: Final = frozenset(map(stem, "raise increase boost brighten louder".split()))
_FALLING: Final = frozenset(map(stem, "decrease reduce dim quieter softer".split()))
_LOWER: Final = "lower"
"""A verb where what is lowered follows; of a 'lower floor' nothing is said."""
_THE: Final = frozenset("the my our your his her their this that it".split())
_OTHERWISE: Final = frozenset(map(stem, "set change adjust extend shorten cut shrink grow drop move".split()))
_TIMES: Final = frozenset("am pm o'clock".split())
_MOVING: Final = frozenset((_UP, _DOWN, _LOWER))
_LEVELS: Final = _RISING | _FALLING


def switches(a: Signature, b: Signature) -> bool:
    """On in one, off in the other, and each but one of them; or at one time on here and off there."""
    if _OFF in a.vocabulary and _OFF in b.vocabulary:
        there = _timed(b.words)
        return any(there.get(time, state) != state for time, state in _timed(a.words).items())
    if _OFF in a.vocabulary:
        return _OFF not in b.vocabulary and _ON not in a.vocabulary and _is(a, _OFF) and _is(b, _ON)
    return _OFF in b.vocabulary and _ON not in b.vocabulary and _is(b, _OFF) and _is(a, _ON)


def _timed(words: Sequence[str]) -> dict[str, str]:
    """When something is on, and when off: of 'on at night and off when I leave' 'night' and 'leave', as stems."""
    found, state = dict[str, str](), ""
    for word, after in pairwise((*words, "")):
        if word in (_ON, _OFF):
            state = word if after in _WHEN else ""
        elif state and word not in FUNCTION_WORDS and word not in _WHEN:
            found[stem(word)] = state
            state = ""
    return found


def levels(a: Signature, b: Signature) -> bool:
    """Up in one and down in the other, or by a number and to it."""
    if not a.numbers and a.stems.isdisjoint(_LEVELS) and a.vocabulary.isdisjoint(_MOVING):
        return False
    mine, theirs = _courses(a), _courses(b)
    if mine and theirs and mine.isdisjoint(theirs):
        return True
    if not a.numbers or not b.numbers or not (_changes(a, mine) and _changes(b, theirs)):
        return False
    by, other = _numbers(a, "by"), _numbers(b, "by")
    return bool((by & _numbers(b, "to") | _numbers(a, "to") & other) - (by & other))


def _courses(s: Signature) -> frozenset[str]:
    """Whether what it speaks of goes up, or down."""
    if s.stems.isdisjoint(_LEVELS) and s.vocabulary.isdisjoint(_MOVING):
        return NONE
    found = set[str]()
    if not s.stems.isdisjoint(_RISING) or _turned(s, _UP):
        found.add(_UP)
    lowered = any(word == _LOWER and what in _THE for word, what in pairwise(s.words))
    if lowered or not s.stems.isdisjoint(_FALLING) or _turned(s, _DOWN):
        found.add(_DOWN)
    return frozenset(found)


def _turned(s: Signature, course: str) -> bool:
    """'Turn it up', 'turn down the volume'."""
    if course not in s.vocabulary:
        return False
    at = s.words.index(course)
    return not _TURNING.isdisjoint(s.words[max(at - _NEAR, 0) : at])


def _changes(s: Signature, course: frozenset[str]) -> bool:
    return bool(course) or not s.stems.isdisjoint(_OTHERWISE)


def _numbers(s: Signature, before: str) -> frozenset[str]:
    """The numbers right behind a word; no times of day."""
    words = (*s.words, "", "")
    return frozenset(
        str(CARDINALS.get(word, word))
        for small, word, after in zip(words, words[1:], words[2:], strict=False)
        if small == before and (word in CARDINALS or word[:1].isdigit()) and after not in _TIMES
    )


def _is(s: Signature, state: str) -> bool:
    """Whether the word stands last, or behind a verb of switching."""
    if state not in s.vocabulary:
        return False
    words = s.words
    at = len(words) - 1 - words[::-1].index(state)
    return at == len(words) - 1 or not _SWITCHING.isdisjoint(words[max(at - _NEAR, 0) : at])
