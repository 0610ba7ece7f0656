"""Guard: another end or another side, of which one excludes the other, however the texts are worded.

'Meetings that start before ten' / 'that end before ten', 'left of the house' / 'below it', 'its width' / '3 m high'.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ..text.signature import Signature

_AXES: Final = tuple(
    tuple(frozenset(pole.split()) for pole in " ".join(axis.split()).split(" / "))
    for axis in (
        """start starts started starting begin begins began begun beginning commence commences commenced commencing
        launched premiered premieres debuted founded established issued joined kick-in break-out take-effect /
        end ends ended ending finish finishes finished finishing expire expires expired expiring expiry lapse lapses
        lapsed lapsing terminate terminates terminated terminating completed dissolved retired mature matures maturing
        finale deadline is-over run-out until-what last-day gone-away""",
        "left / right / above / below",
        "north northern / south southern / east eastern / west western",
        "width wide / height tall / depth deep / length",
        "greatest highest largest biggest / fewest lowest smallest",
        "maximum max maximal at-most / minimum min minimal at-least",
    )
)
_PHRASES: Final = {
    tuple(said.split()): phrase
    for phrase, forms in {
        "kick-in": "kick in,kicks in,kicked in",
        "break-out": "break out,breaks out,broke out",
        "take-effect": "take effect,takes effect,took effect,taking effect",
        "is-over": "is over,are over,was over,be over",
        "run-out": "run out,runs out,ran out,running out",
        "until-what": "until what,until when,till what,till when,by when",
        "last-day": "last day",
        "gone-away": "left us,left the,left our,left my,left in",
        "at-most": "at most",
        "at-least": "at least",
    }.items()
    for said in forms.split(",")
}
_POLES: Final = frozenset(word for axis in _AXES for pole in axis for word in pole)
_BEING: Final = frozenset("is are was were be".split())
_HINTS: Final = _POLES.union("kick kicks kicked effect over out until till by last left most least".split())

_LENGTHS: Final = frozenset("inch inches cm mm m meter meters metre metres foot feet ft yard yards".split())
_EXTENTS: Final = {
    **dict.fromkeys(("wide", "wider", "width"), "width"),
    **dict.fromkeys(("high", "tall", "taller", "height"), "height"),
    **dict.fromkeys(("long", "length"), "length"),
    **dict.fromkeys(("deep", "deeper", "depth"), "depth"),
}
"""'Long' and 'high' are one only beside a length: '3 m long'."""


def sides(a: Signature, b: Signature) -> bool:
    """Both texts name poles of an axis, and not the same ones."""
    if not (_HINTS.isdisjoint(a.vocabulary) or _HINTS.isdisjoint(b.vocabulary)):
        left, right = _poles(a), _poles(b)
        if left and right and any(_apart(axis, left, right) for axis in _AXES):
            return True
    if _LENGTHS.isdisjoint(a.vocabulary) or _LENGTHS.isdisjoint(b.vocabulary):
        return False
    mine, theirs = _extents(a.words), _extents(b.words)
    return bool(mine and theirs) and mine.isdisjoint(theirs)


def _poles(s: Signature) -> frozenset[str]:
    said = s.vocabulary & _POLES
    phrases = [_PHRASES[pair] for pair in pairwise(s.words) if pair in _PHRASES]
    if s.words[-1] == "over" and not _BEING.isdisjoint(s.vocabulary):
        phrases.append("is-over")
    return said.union(phrases) if phrases else said


def _extents(words: Sequence[str]) -> frozenset[str]:
    """What is measured in lengths: '3 m long', 'wider than 3 m', 'has a width of 3 m'."""
    return frozenset(
        _EXTENTS[word]
        for i, word in enumerate(words)
        if word in _EXTENTS and not _LENGTHS.isdisjoint((*words[max(i - 1, 0) : i], *words[i + 1 : i + 4]))
    )


def _apart(axis: tuple[frozenset[str], ...], left: frozenset[str], right: frozenset[str]) -> bool:
    mine = [pole for pole in axis if not pole.isdisjoint(left)]
    theirs = [pole for pole in axis if not pole.isdisjoint(right)]
    return bool(mine and theirs) and mine != theirs
