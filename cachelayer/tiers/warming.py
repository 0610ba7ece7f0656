"""Answers made while the model is loading: once it serves, they become findable by meaning and go to the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..exact.memory.table import Slot
from ..keep.call import Call
from ..semantic.tier import SimilarTier
from ..semantic.types import State

MOST: Final = 1000
"""Answers that may wait; each holds the arguments for which it was made."""
LOADING: Final = frozenset({State.COLD, State.WARMING})


@dataclass(slots=True)
class Written:
    """A kept answer on its way through the write-back."""

    call: Call
    slot: Slot
    made: bool
    """Whether this process made it; what came from the shared store is only indexed."""
    author: str | None = None
    """Who made what came from there; '' for no named principal, None for what was made here."""
    late: bool = False
    """Whether it waited for the model, so that it is in the store already."""


class Warming:
    """Holds what waits for a tier to serve. Thread-safe."""

    def __init__(self) -> None:
        self._held: dict[int, Written] = {}

    def holds(self, item: Written, tier: SimilarTier | None) -> bool:
        """Hold `item` if its tier does not serve yet; returns whether it waits from now on."""
        if tier is None or tier.state not in LOADING or not item.slot.resident or len(self._held) >= MOST:
            return False
        key = item.slot.id
        self._held[key] = item
        # the tier may serve by now, and may have taken what waited before this was added
        return tier.state in LOADING or self._held.pop(key, None) is None

    def drop(self, slot: Slot) -> None:
        """The entry left memory."""
        self._held.pop(slot.id, None)

    def take(self) -> list[Written]:
        """All that waited; it waits no longer."""
        return [item for key in tuple(self._held) if (item := self._held.pop(key, None)) is not None]
