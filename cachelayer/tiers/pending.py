"""Entries of a directory that were not restored yet: a call that needs one claims it, the others follow one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from ..exact.memory.table import Slot
from ..keep.call import Call
from ..keep.invalidation import Invalidation
from .arrivals import Arrival, Arrivals


class PendingEntries:
    """Those that are still to be restored, by id. `discard`: removes from the disk what cannot be."""

    def __init__(self, arrivals: Arrivals, discard: Callable[[Sequence[int]], Awaitable[None]]) -> None:
        self.arrivals, self._discard = arrivals, discard
        self.restored = 0
        self._entries: dict[int, Arrival] = {}
        self._keys: dict[bytes, int] = {}
        """Ids by key, without those that a call has claimed."""

    def expect(self, entries: Iterable[Arrival]) -> None:
        """These come, and no others."""
        self._entries = {entry.id: entry for entry in entries}
        self._keys = {entry.item.key: key for key, entry in self._entries.items()}

    def drop(self, key: int) -> bool:
        """The entry went; returns whether it was to come."""
        return self._entries.pop(key, None) is not None

    def covered(self, declared: Invalidation) -> list[int]:
        """Ids of those that were declared invalid."""
        return [key for key, entry in self._entries.items() if declared.covers(*entry.marks)]

    def awaits(self, digest: int) -> bool:
        """Whether an entry under this key comes once a call claims it."""
        return bool(self._keys) and digest.to_bytes(16, "big") in self._keys

    def claim(self, call: Call) -> bool:
        """Take the entry of this call into memory; returns whether it is there."""
        entry = self._entries.get(self._keys.pop(call.digest.to_bytes(16, "big"), -1))
        if entry is None or entry.item.canonical != call.canonical:
            return False
        slot = self.arrivals.remember(entry)
        kept = slot is not None and slot.resident
        if kept and entry.plain(call.function):
            self._arrived(entry.id)
        return kept

    async def take(self, entries: Iterable[Arrival]) -> None:
        """Let them in one by one; what cannot be kept goes from the disk."""
        for entry in entries:
            if entry.id in self._entries:  # else it went meanwhile
                took = await self.arrivals.take(entry)
                if took is False:
                    await self._discard([entry.id])
                elif took:
                    self._arrived(entry.id)
                await asyncio.sleep(0)

    def gone(self, slot: Slot) -> None:
        """An entry left memory; a vector that was read before its entry came goes, too."""
        self.arrivals.similar.forget(slot.id, indexed=self.drop(slot.id))

    def _arrived(self, key: int) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            self._keys.pop(entry.item.key, None)
            self.restored += 1
            if entry.item.partition and not self.arrivals.similar.knows(key):  # no longer compared
                self.arrivals.similar.forget(key, indexed=True)
