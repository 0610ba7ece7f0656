"""Guard: another end or another side, of which one excludes the other, however the texts are worded.

'Meetings that start before ten' / 'that end before ten', 'left of the house' / 'below it', 'its width' / '3 m high'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..text.signature import Signature

_AXES: Final = tuple(
    tuple(frozenset(pole.split()) for pole in " ".join(axis.split()).split(" / "))
    for axis in (
        """start starts started starting begin begins began begun beginning commence commences commencing /
        end ends ended ending finish finishes finished finishing""",
        "left / right / above / below",
        "north northern / south southern / east eastern / west western",
        "width wide / height tall / depth deep / length",
        "greatest highest largest biggest / fewest lowest smallest",
    )
)
_POLES: Final = frozenset(word for axis in _AXES for pole in axis for word in pole)


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
    left, right = a.vocabulary & _POLES, b.vocabulary & _POLES
    if left and right and any(_apart(axis, left, right) for axis in _AXES):
        return True
    if _LENGTHS.isdisjoint(a.vocabulary) or _LENGTHS.isdisjoint(b.vocabulary):
        return False
    mine, theirs = _extents(a.words), _extents(b.words)
    return bool(mine and theirs) and mine.isdisjoint(theirs)


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
