"""Guard: subject and object are exchanged, where one text is a passive or a question and the other is not.

'Rome defeated Carthage' / 'Rome was defeated by Carthage', 'Who taught Plato?' / 'Who did Plato teach?'.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text import lexicon as lx
from ..text.lexemes import POSSESSORS, PREPOSITIONS, stem
from ..text.signature import Signature
from .moods import TELLING
from .slots import shared

BEING: Final = frozenset("am is are was were be been being got isn't aren't wasn't weren't".split())
_ASKING: Final = frozenset("do does did don't doesn't didn't will would can could should may must".split())
_WHO: Final = frozenset("who whom what which".split())
_PARTICIPLES: Final = ("ed", "en", "wn", "ught", "ld", "nt", "pt", "lt", "id")
_IRREGULAR: Final = frozenset(
    """made led run won cut hit set put hurt held found met shot fed shut lost done left understood struck stuck sung
    begun drunk hung dug bound spun swum worn torn sworn born read spread""".split()
)
_PEOPLE: Final = frozenset("i you he she it we they".split())
_ASKED: Final = "?"
"""Stands for whom a question asks."""
_ARTICLES: Final = frozenset("a an the this that these those all which who whom what".split()).union(
    POSSESSORS
)
_EARLY: Final = 3
"""Words within which one that asks is no relative."""
_LONGEST: Final = 16
"""Words up to which a text is taken for one clause."""

_Parts = tuple[str, frozenset[str]]
"""Who acts, and everything else that is named."""


def voices(a: Signature, b: Signature) -> bool:
    """The same things, and who acts in one text is acted upon in the other."""
    if ("by" in a.vocabulary) != ("by" in b.vocabulary) and (
        _in_place(a.words, b.words) or _done_to(a.words, b.words) or _done_to(b.words, a.words)
    ):
        return True
    if len(a.words) > _LONGEST or len(b.words) > _LONGEST or len(a.stems) < 2:
        return False
    if a.question == b.question == "who" and (_suffers(a, b) or _suffers(b, a)):
        return True
    if len(a.stems - b.stems) > 1 or len(b.stems - a.stems) > 1:  # 'taught' and 'teach' are two stems
        return False
    if ("by" in a.vocabulary) != ("by" in b.vocabulary):
        return _exchanged(_passive(a.words), _active(b.words)) or _exchanged(
            _passive(b.words), _active(a.words)
        )
    if a.content == b.content or _WHO.isdisjoint(a.vocabulary) or _WHO.isdisjoint(b.vocabulary):
        return False
    return _turns(a.words, b.words) or _turns(b.words, a.words)


def _in_place(left: Sequence[str], right: Sequence[str]) -> bool:
    """In texts of any length, the same but for one place: 'Ann sued the city' / 'Ann was sued by the city'."""
    left, right = (left, right) if "by" in right else (right, left)
    first, last = shared(left, right)
    does, suffers = left[first : len(left) - last], right[first : len(right) - last]
    if not 1 <= len(does) <= 2 < len(suffers) <= 4 or suffers[0] not in BEING or suffers[-1] != "by":
        return False
    return does[-1][:2] == suffers[-2][:2]  # 'beat', 'beaten'


def _done_to(suffers: Sequence[str], does: Sequence[str]) -> bool:
    """'Countries conquered by Rome' / 'countries that conquered Rome': the same follows, with 'by' and without."""
    for i, word in enumerate(suffers):
        if word == "by" and i and suffers[i - 1].endswith(_PARTICIPLES):
            deed, by = stem(suffers[i - 1]), _thing(suffers[i + 1 :])
            if by and any(stem(w) == deed and _thing(does[k + 1 :]) == by for k, w in enumerate(does)):
                return suffers[0] == does[0]
    return False


def _thing(words: Sequence[str]) -> str:
    """The first word behind articles and the like."""
    word = next((w for w in words if w not in _ARTICLES), "")
    return "" if word in PREPOSITIONS else stem(word)


def _suffers(done: Signature, does: Signature) -> bool:
    """'Who was hired' / 'who hired', 'who wants to be visited' / 'who wants to visit'; not 'who did they hire'."""
    if (
        "by" in done.vocabulary
        or not _ASKING.isdisjoint(does.vocabulary)
        or not BEING.isdisjoint(does.vocabulary)
    ):
        return False
    deeds = {stem(w) for before, w in pairwise(done.words) if before in BEING and w.endswith(_PARTICIPLES)}
    return not deeds.isdisjoint(map(stem, does.words))


def _exchanged(passive: _Parts | None, active: _Parts | None) -> bool:
    if passive is None or active is None:
        return False
    return passive[0] in active[1] and active[0] in passive[1]


def participle(word: str) -> bool:
    """'Broken', 'made'; what is 'read' or 'cut' may be none."""
    return word.endswith(_PARTICIPLES) or word in _IRREGULAR


def _passive(words: Sequence[str]) -> _Parts | None:
    """'X was done by Y', 'was X done by Y', 'who was X done by', 'by whom was X done'."""
    at = _first(words, BEING)
    by = next((i for i, word in enumerate(words) if word == "by" and (i > at or not i)), -1)
    done = [w for w in words[at + 1 : by if by > at else None] if participle(w)]
    if at < 0 or by < 0 or not done or done[-1] == "meant":  # 'what is meant by it' asks what it is
        return None
    named, following = _named(words), words[by + 1 : by + 2]
    asked = not _WHO.isdisjoint(following) or (not following and _first(words, _WHO) >= 0)
    agent = _ASKED if asked else next((s for i, s in named if i > by), "")
    bears = frozenset(s for i, s in named if i < by or not by) - {agent, stem(done[-1])}
    return (agent, bears) if agent else None


def _active(words: Sequence[str]) -> _Parts | None:
    """'Y does X', 'does Y do X', 'who does X', 'whom does Y do'."""
    named, asks, helps = _named(words), _first(words[:_EARLY], _WHO), _first(words, _ASKING)
    if len(named) > 1 and words[named[0][0]] in TELLING:
        named = named[1:]  # 'explain how'
    agent = named[0][1] if named else ""
    if asks >= 0:
        turned = [s for i, s in named if i > helps > asks]
        agent = turned[0] if turned else _ASKED
    return (agent, frozenset(s for _, s in named) - {agent}) if agent else None


def _first(words: Sequence[str], of: frozenset[str]) -> int:
    return next((i for i, word in enumerate(words) if word in of), -1)


def _named(words: Sequence[str]) -> list[tuple[int, str]]:
    """Words that carry meaning, and whom the text asks for, with their places."""
    out = [(i, stem(w)) for i, w in enumerate(words) if w not in lx.FUNCTION_WORDS]
    asks = _first(words[:_EARLY], _WHO)
    return out if asks < 0 else sorted([*out, (asks, _ASKED)])


def _turns(asked: Sequence[str], told: Sequence[str]) -> bool:
    """'Who did X call' / 'who called X': `asked` names X and then what X does, `told` the same deed before X."""
    asks, helps = _first(asked, _WHO), _first(asked, _ASKING)
    if not 0 <= asks < helps or not BEING.isdisjoint(told):
        return False
    if not _PEOPLE.isdisjoint(asked[helps + 1 : helps + 2]):
        return False
    there = max(_first(told, _WHO), _first(told, _ASKING))
    mine = [s for i, s in _named(asked) if i > helps]
    theirs = [s for i, s in _named(told) if i > there]
    if len(mine) < 2 or there < 0 or mine[0] not in theirs:
        return False
    before, every = theirs[: theirs.index(mine[0])], {s for _, s in _named(asked)}
    return any(s in mine[1:] or (s not in every and not set(mine[1:]) <= set(theirs)) for s in before)
