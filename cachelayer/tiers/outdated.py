"""What proved wrong for similar requests is found word for word alone, after a restart, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from ..exact.wire.entry_log import EntryLog
from ..semantic.types import Entry
from .arrivals import Arrivals
from .records import record_of

STEP = 32
"""Answers encoded in one turn of the loop."""


class Outdated:
    """Rewrites entries of a log as they are to come back. `write`: has the log written in the background."""

    def __init__(self, arrivals: Arrivals, log: EntryLog, write: Callable[[], None]) -> None:
        self._arrivals, self._log, self._write = arrivals, log, write

    def __call__(self, left: Sequence[tuple[Entry, str]]) -> None:
        """The decider serves these no more, since answers changed, or too many were wrong; with who made them."""
        self._arrivals.background.spawn(partial(self._kept_plain, left), owed=True)

    async def _kept_plain(self, left: Sequence[tuple[Entry, str]]) -> None:
        for number, (entry, author) in enumerate(left, 1):
            if entry.value.id in self._log and entry.value.resident:
                self._arrivals.faults.attempt_now("encode", self._keep_plain, entry, author)
            if number % STEP == 0:
                await asyncio.sleep(0)
        self._write()

    def _keep_plain(self, entry: Entry, author: str) -> None:
        arrivals, slot = self._arrivals, entry.value
        call = arrivals.call_of(entry.function, slot)
        call.principal = author
        record = record_of(call, slot, arrivals.keeper, arrivals.codec)
        self._log.put(slot.id, arrivals.plain(call, slot), record)
