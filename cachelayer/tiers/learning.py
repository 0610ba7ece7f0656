"""Answers on which the owner's judge is asked: stored at once, findable by meaning when it has compared them.

It may be another model, so that it takes as long as it likes; what is stored does not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from ..exact.memory.table import Slot
from ..flow.attempt import Faults
from ..flow.together import together
from ..flow.writeback import WriteBack
from ..semantic.types import Ask
from ..types import Reason
from .elsewhere import Indexed
from .meaning import Meaning
from .rides import Rides
from .warming import Written

MOST: Final = 1000
"""Answers that may wait; each holds the arguments for which it was made."""
AT_ONCE: Final = 32
"""Answers that are judged at the same time, each by up to three calls, one after the other."""
LEARNED: Final = 8
"""Answers that the similar tier learns from in one turn of the loop, at a millisecond each."""


class Learning:
    """Makes answers findable by meaning. `findable`: told which of a batch that was stored before are so now."""

    def __init__(
        self,
        meaning: Meaning,
        rides: Rides,
        faults: Faults,
        findable: Callable[[Sequence[Written], Sequence[Indexed]], Awaitable[None]],
    ) -> None:
        self._meaning, self._rides, self._faults, self._findable = meaning, rides, faults, findable
        self._waiting: dict[int, Written] = {}
        self.queue: WriteBack[int] = WriteBack(self._learn, capacity=MOST, batch=AT_ONCE)

    def reset(self) -> None:
        """After a fork, what waits is the parent's."""
        self._waiting.clear()
        self.queue.reset()

    async def keep(self, item: Written) -> tuple[Indexed | None, bool]:
        """Make an answer findable; returns what to tell of it elsewhere, if it was made here, and whether the model
        hangs."""
        keeping = self._meaning.keep(item.call, item.slot, item.author)
        ask = await self._faults.attempt("write-back", keeping, None)
        if isinstance(ask, Ask) and item.made and item.call.function.own is None:
            return (item.call, ask, item.slot), False
        return None, ask is Reason.BUDGET

    def takes(self, item: Written) -> bool:
        """Whether the owner's judge decides when it is findable; what finds no room here never is."""
        if item.call.function.judge is None or not item.call.function.similar:
            return False
        key = item.slot.id
        self._waiting[key] = item
        if not item.slot.resident or not self.queue.offer(key, asyncio.get_running_loop()):
            self.drop(item.slot)
        return True

    def drop(self, slot: Slot) -> None:
        """The entry left memory: neither it nor its request is held here any more."""
        if (item := self._waiting.pop(slot.id, None)) is not None:
            self._rides.findable(item.call)

    async def _learn(self, batch: Sequence[int]) -> None:
        items = [item for key in batch if (item := self._waiting.get(key)) is not None]
        kept = await together(self._judged(item, number) for number, item in enumerate(items))
        for item in items:
            self.drop(item.slot)
        if indexed := [one for one in kept if one is not None]:
            await self._findable(items, indexed)

    async def _judged(self, item: Written, number: int) -> Indexed | None:
        for _ in range(number // LEARNED):  # what takes no call takes the loop's time
            await asyncio.sleep(0)
        return (await self.keep(item))[0]

    async def aclose(self, limit: float) -> None:
        """Go on for up to `limit` seconds; then judge no more on this loop, and let go of what waits."""
        await self.queue.drain(limit)
        await self.queue.cancel()
        for item in list(self._waiting.values()):
            self.drop(item.slot)
