"""Answers that were made while the model loaded: they are found by meaning, and go to the disk, once it serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..exact.memory.table import Slot
from ..keep.call import Call
from ..semantic.asks import State
from ..semantic.tier import SimilarTier

MOST: Final = 1000
"""Answers that wait at most; each holds the arguments that it was made for."""
LOADING: Final = frozenset({State.COLD, State.WARMING})


@dataclass(slots=True)
class Written:
    """A kept answer on its way behind the caller's back."""

    call: Call
    slot: Slot
    made: bool
    """By this process; what came from the shared store is only indexed."""
    late: bool = False
    """It waited for the model, and is in the store already."""


class Warming:
    """What waits for a tier to serve. For threads, too."""

    def __init__(self) -> None:
        self._held: dict[int, Written] = {}

    def holds(self, item: Written, tier: SimilarTier | None) -> bool:
        """Whether `item` waits from now on: its tier does not serve yet."""
        if tier is None or tier.state not in LOADING or not item.slot.resident or len(self._held) >= MOST:
            return False
        key = item.slot.id
        self._held[key] = item
        # it may serve since, and whatever waited was taken before this came
        return tier.state in LOADING or self._held.pop(key, None) is None

    def drop(self, slot: Slot) -> None:
        """The entry left the memory."""
        self._held.pop(slot.id, None)

    def take(self) -> list[Written]:
        """What waited, which waits no more."""
        return [item for key in tuple(self._held) if (item := self._held.pop(key, None)) is not None]
