"""Guard: another end or another side, of which one excludes the other, however the texts are worded.

'Meetings that start before ten' / 'that end before ten', 'left of the house' / 'below it', 'its width' / 'its height'.
"""

from __future__ import annotations

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


def sides(a: Signature, b: Signature) -> bool:
    """Both texts name poles of an axis, and not the same ones."""
    left, right = a.vocabulary & _POLES, b.vocabulary & _POLES
    return bool(left and right) and any(_apart(axis, left, right) for axis in _AXES)


def _apart(axis: tuple[frozenset[str], ...], left: frozenset[str], right: frozenset[str]) -> bool:
    mine = [pole for pole in axis if not pole.isdisjoint(left)]
    theirs = [pole for pole in axis if not pole.isdisjoint(right)]
    return bool(mine and theirs) and mine != theirs
