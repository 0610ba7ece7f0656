"""Whose evidence may move what: no single principal talks a whole function into trust, or out of it.

While one principal alone asks a function, everything it shows is learned. Once there are others, what all scopes share
(the risk model, its calibration) learns from a named principal only `ALONE` labels and then as many as from all others
together. A wrong answer that it shows waits until a second principal has shown one, too. The scope where it was shown
takes it into account at once: there `Caution` raises every predicted risk. Requests without a principal are the owner's
own traffic and never wait.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .changes import Novelty
from .risk import Floats

ALONE: Final = 30
"""Labels that one principal may teach a function before any other taught it something."""
_PRINCIPALS: Final = 1024
_HELD: Final = 256
BURST: Final = 4.0
"""By how much risks are raised while questions of a new kind come: none is served then that exceeds the bound alone."""
_STRENGTH: Final = 3.0
"""Wrong answers that a scope is granted as if they had been predicted, before its risks are raised."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One label, as the shared parts learn it."""

    risk: float
    right: bool
    x: Floats | None
    reading_right: bool
    """Whether the neighbours' own answer was right; where the pair verifier spoke it may be another."""
    objected: tuple[int, ...]
    """Guards that objected to the neighbours' answer."""
    pair: bool
    repeat: bool = False
    alone: float = 0.0
    """The risk by the pair verifier alone; 0 if it was not asked."""
    joint: Floats | None = None
    """Features of its risk and the neighbours', where both were weighed."""


class Evidence:
    """What principals taught one function. Bounded; the one longest silent is forgotten."""

    def __init__(self) -> None:
        self._taught: OrderedDict[str, int] = OrderedDict()
        """Lessons heeded, by principal; '' for requests of none."""
        self._total = 0
        self._held: dict[str, list[Lesson]] = {}

    def joins(self, principal: str) -> bool:
        """Whether this principal is the second one, after a single named one.

        What the first taught then weighs as much as `ALONE` labels at most, because it now concerns another.
        """
        if len(self._taught) != 1 or principal in self._taught or "" in self._taught:
            return False
        first = next(iter(self._taught))
        self._total = self._taught[first] = min(self._taught[first], ALONE)
        return True

    def heed(self, principal: str, lesson: Lesson) -> Iterator[Lesson]:
        """The lessons to learn now: none, this one, or with it those that waited for a second principal's."""
        mine = self._taught.get(principal, 0)
        alone = not self._taught or (mine > 0 and len(self._taught) == 1)
        if principal and not alone and mine >= ALONE + (self._total - mine):
            return
        self._count(principal, mine)
        if lesson.right or alone:
            yield lesson
            return
        held = self._held.setdefault(principal, [])
        if len(held) < _HELD // max(len(self._held), 1):
            held.append(lesson)
        if len(self._held) > 1 or not principal:
            for lessons in self._held.values():
                yield from lessons
            self._held.clear()

    def _count(self, principal: str, mine: int) -> None:
        if principal not in self._taught and len(self._taught) >= _PRINCIPALS:
            self._total -= self._taught.popitem(last=False)[1]
        self._taught[principal] = mine + 1
        self._taught.move_to_end(principal)
        self._total += 1


class Caution:
    """By how much one scope's risks are raised: for wrong answers there beyond those predicted (Gamma-Poisson ratio),
    while its alarm warns, and while questions of a new kind come."""

    def __init__(self) -> None:
        self._predicted = self._wrong = 0.0
        self.doubt = 1.0
        """More than 1 while the scope's own alarm warns."""
        self.novelty = Novelty()

    def learn(self, predicted: float, right: bool) -> None:
        """`predicted`: the corrected risk."""
        self._predicted = 0.999 * self._predicted + predicted
        self._wrong = 0.999 * self._wrong + (not right)

    def raised(self, risk: float) -> float:
        factor = self.doubt * max(1.0, (_STRENGTH + self._wrong) / (_STRENGTH + self._predicted))
        if self.novelty.burst:
            factor *= BURST
        return min(0.999, risk * factor) if factor > 1.0 else risk
