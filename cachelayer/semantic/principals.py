"""Whose evidence may move what: no single principal talks a whole function into trust, or out of it.

What scopes share (the risk model, its calibration) learns from named principals only so far as others keep up: one of
them adds at most as much as all others together beyond a start of `ALONE` labels. What they found wrong is held
back until a second one found something wrong too. Their own scope heeds it at once: there `Caution` raises every
foretold risk. Requests of no named principal are the owner's own traffic and are never held back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .risk import Floats

ALONE: Final = 30
"""Labels that one principal may teach a function before any other taught it something."""
_PRINCIPALS: Final = 1024
_HELD: Final = 256
_STRENGTH: Final = 3.0
"""Wrong answers that a scope is granted as if they had been foretold, before its risks are raised."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One label, as the shared parts learn it."""

    risk: float
    right: bool
    weight: float
    x: Floats | None
    reading_right: bool
    """Whether the neighbours' own answer was right; where the pair verifier spoke it may be another."""
    objected: tuple[int, ...]
    """Guards that objected to the neighbours' answer."""
    pair: bool


class Evidence:
    """What named principals taught one function. Bounded; the one longest silent is forgotten."""

    def __init__(self) -> None:
        self._taught: OrderedDict[str, int] = OrderedDict()
        self._total = 0
        self._held: dict[str, list[Lesson]] = {}

    def heed(self, principal: str, lesson: Lesson) -> Iterator[Lesson]:
        """The lessons to learn now: this one, none, or with it those that were held back for want of a second voice."""
        if not principal:
            yield lesson
            return
        mine = self._taught.get(principal, 0)
        if mine >= ALONE + (self._total - mine):
            return
        self._count(principal, mine)
        if lesson.right:
            yield lesson
            return
        held = self._held.setdefault(principal, [])
        if len(held) < _HELD // max(len(self._held), 1):
            held.append(lesson)
        if len(self._held) > 1:
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
    """By how much one scope's risks are raised: wrong answers there beyond those foretold (Gamma-Poisson ratio)."""

    def __init__(self) -> None:
        self._foretold = self._wrong = 0.0
        self.doubt = 1.0
        """More than 1 while the scope's own alarm warns."""

    def learn(self, foretold: float, right: bool, weight: float) -> None:
        """`foretold`: the corrected risk."""
        self._foretold = 0.999 * self._foretold + weight * foretold
        self._wrong = 0.999 * self._wrong + weight * (not right)

    @property
    def factor(self) -> float:
        """At least 1."""
        return self.doubt * max(1.0, (_STRENGTH + self._wrong) / (_STRENGTH + self._foretold))
