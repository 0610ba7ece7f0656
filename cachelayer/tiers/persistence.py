"""Entries that survive this process without a shared store: answers in a log, vectors in an index beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigurationError, StoreFault
from ..exact.memory.table import Slot
from ..exact.wire.entry_log import EntryLog
from ..flow.background import Busy, offload, offload_whole, offloaded
from ..flow.waiting import Turns
from ..keep.call import Call
from ..keep.invalidation import Invalidation
from ..semantic.pair_log import PairLog
from ..semantic.reported_pairs import PAIR, REPORTED
from ..semantic.types import State
from ..types import Findable, Reason, Record
from . import directory
from .arrivals import Arrivals, Incoming, owners_of
from .elsewhere import Indexed, Plain
from .pending import PendingEntries
from .records import record_of

REFUSED = "the disk refused entries"
STEP = 32
"""Answers encoded in one turn of the loop."""


class Persistence(Incoming):
    """One directory, for one process at a time: `entries`, the index's `vectors/`, the embedder's remembered `texts`.

    An answer survives from the next flush on; what `invalidate` and `erase` removed is off the disk when they end.
    """

    lasting = True

    def __init__(self, place: Path, arrivals: Arrivals) -> None:
        super().__init__(arrivals)
        self.directory = place
        self.log = EntryLog(place / "entries")
        self._reports = PairLog(place / "apart", PAIR, REPORTED)
        self.discarded, self.failure = 0, ""
        self._pending = PendingEntries(arrivals, self._discard)
        self._opened, self._writing = False, Busy()
        self._unopened, self._ending = directory.Unopened(place), Turns()
        self._owes = False
        """Whether neither what was declared invalid nor the whole log could be removed from the disk yet."""
        self._since = 0
        """The epoch in which the directory was closed: invalidations since then were not carried out there."""
        self._begin_ids()

    def _begin_ids(self) -> None:
        """Give ids above those of all earlier runs and below those of all later ones, which go by this order."""
        self.arrivals.keeper.ids_from(int(self.arrivals.clock.time() * 1e6), afresh=True)

    def reset(self) -> None:
        """After a fork, the directory is the parent's."""
        self._begin_ids()
        self._opened, self.failure = False, directory.FORKED if self._opened else self.failure
        self._pending.expect(())
        self.log.reset()
        getattr(self._index, "reset", lambda: None)()

    async def ready(self, *, physically: bool) -> None:
        similar = self.arrivals.similar
        if not self._opened and physically:
            await similar.start()
        elif not self._opened and similar.state is not State.FAILED:
            await self.arrivals.faults.behind("warm-up", similar.start)

    async def restore(self) -> None:
        """Read what is there, before anything is indexed. Raises ConfigurationError if it cannot be read.

        Entries whose vectors are missing or another model's are embedded again in the background. After a close, what
        is still in memory stays there, unless it was removed from the disk meanwhile.
        """
        held, similar, keeper = set(self.log.ids()), self.arrivals.similar, self.arrivals.keeper
        try:
            kept = await offload(self.log.load)
            if self._owes or self._unopened:  # from before a close, or a start: the disk refused until then
                await offload(self.log.clear)
                kept, self._owes, self._unopened.left = [], False, []
        except OSError as fault:
            remedy = f"cannot be read and written ({fault.strerror or fault}): name a directory that can"
            raise ConfigurationError("index", str(self.directory), remedy) from fault
        self._opened = True
        await self._recall_texts()
        with self.arrivals.faults.guard("report"):
            for pair in await offload(self._reports.load):
                similar.reported.add(pair)
        directory.tell(self.log, self._reports)
        now = self.arrivals.clock.time()
        keeper.ids_from(int(now * 1e6))
        timely = (e for e in kept if e.record.created <= now < e.record.stale_until)
        alive = {e.id: e for e in timely if e.id <= keeper.first_id}
        await self._discard([entry.id for entry in kept if entry.id not in alive])
        directory.drop(keeper, held - alive.keys())
        indexed = set(self._index.ids().tolist())
        await self._discard([key for key in indexed if key not in alive and not similar.knows(key)])
        new = [entry for key, entry in alive.items() if not similar.knows(key)]
        entries = [self.arrivals.read(e.findable, e.record, self._since, e.id) for e in new]
        self._pending.expect(entries)
        for entry in entries:  # exact lookups wait for no vectors
            self.arrivals.remember(entry)
            await asyncio.sleep(0)
        later = [entry for entry in entries if entry.item.partition and entry.id not in indexed]
        await self._pending.take(e for e in entries if not e.item.partition or e.id in indexed)
        if later:
            self.arrivals.background.spawn_always(partial(self._pending.take, later))

    @property
    def _index(self) -> Any:
        return self.arrivals.similar.index

    def awaits(self, digest: int) -> bool:
        return self._pending.awaits(digest)

    def claim(self, call: Call) -> bool:
        return self._pending.claim(call)

    async def drain(self, function: str) -> None:
        await self._pending.take(self.arrivals.waited(function))

    async def _discard(self, keys: Sequence[int]) -> None:
        """Remove expired entries, vectors without an entry, and entries with ids that this run may give again."""
        for key in keys:
            self.log.drop(key)
            self._pending.drop(key)
        if keys:
            self.discarded += len(keys)
            await offload(lambda: self._index.remove(np.array(keys, np.int64)))

    async def _recall_texts(self) -> None:
        if (load := getattr(self.arrivals.similar.embedder, "load", None)) is not None:
            with self.arrivals.faults.guard("texts"):
                await offload(lambda: load(self.directory / "texts"))

    async def wrote(self, made: Sequence[Indexed], others: Sequence[Plain], asked: float) -> None:
        """Keep what was answered, and write it in the background."""
        if self.arrivals.similar.state is not State.READY:
            self.arrivals.similar.warm(asked)
        if not self._opened:
            if self.failure is directory.FORKED:
                self.arrivals.faults.report("warm-up", directory.parents(self.directory))
            return
        for call, ask, slot in made:
            self._put(call, slot, self.arrivals.findable(call, ask, slot))
        if self.arrivals.similar.state is State.READY:  # before that, ids may be given twice
            for number, (call, slot) in enumerate(others, 1):
                self._put(call, slot, self.arrivals.plain(call, slot))
                if number % STEP == 0:
                    await asyncio.sleep(0)
        self.write()

    def _put(self, call: Call, slot: Slot, item: Findable | None) -> None:
        # an earlier run's, if the clock was set back; else it was stored before it was findable
        theirs = slot.id in self.log and slot.id <= self.arrivals.keeper.first_id
        if item is None or theirs or not slot.resident:
            return
        record = self._record(call, slot)
        if isinstance(record, Record):
            self.log.put(slot.id, item, record)
        else:
            call.function.stats.kept_out[record] += 1

    def _record(self, call: Call, slot: Slot) -> Record | Reason:
        arrivals = self.arrivals
        return arrivals.faults.attempt_now("encode", record_of, call, slot, arrivals.keeper, arrivals.codec)

    async def keep_apart(self, pair: bytes) -> None:
        if self._opened:
            with self.arrivals.faults.guard("report"):
                await offload(partial(self._reports.append, pair))

    def gone(self, slot: Slot) -> None:
        if self._opened:
            self.log.drop(slot.id)
            self._pending.gone(slot)

    def listen(self, function: str) -> bool:
        self.write()
        return super().listen(function)

    def write(self) -> None:
        """Write what waits, in the background."""
        due = self._opened and self.log.due and not self._writing
        if due and self.arrivals.background.spawn(self._written):
            self._writing.begin()

    async def _written(self) -> None:
        try:
            await self.maintain()
        finally:
            self._writing.end()
        if not self.failure:
            self.write()  # what was kept meanwhile: nobody else may come to have it written

    async def maintain(self) -> None:
        """Write what waits; rewrite the log without its dead entries if they are the most."""
        failed = REFUSED
        try:
            if self._reports.due:
                with self.arrivals.faults.guard("report"):
                    await offload(self._reports.settle)
            with self.arrivals.faults.guard("persist"):
                write = self._kept(self.log.rewrite if self.log.wasteful else self.log.flush)
                await (self._settle(write) if self._owes else offload(write))
                failed = ""
        finally:
            self.failure = failed

    def _kept(self, write: Callable[[], None]) -> Callable[[], None]:
        return partial(directory.keep, self.log, self._index, write)

    def pending(self, declared: Invalidation) -> Sequence[int]:
        return self._pending.covered(declared)

    async def forgotten(self, declared: Invalidation, *, physically: bool) -> int:
        """Make sure that what was dropped cannot come back; if `physically`, nor be found on the disk."""
        if not self._opened:
            with self.arrivals.faults.guard("persist"):
                return await offload(partial(self._unopened.forget, declared))
            return 0
        await self._discard(doomed := self.pending(declared))
        if physically:
            await self.arrivals.forget(declared)
            await self._erase(owners_of(declared))
        else:
            with self.arrivals.faults.guard("persist"):
                await self._settle(self._kept(self.log.flush))
        return len(doomed)

    async def _settle(self, write: Callable[[], None], *, physically: bool = False) -> None:
        """Write; if the disk refuses, clear the log: better nothing than what is invalid. If that fails, it is owed."""
        try:
            await offload(write)
        except OSError as fault:
            self.arrivals.faults.report("persist", fault)
            if physically or self.log.owes:
                self._owes, failed, self.failure = True, self.failure, REFUSED
                await offload(self.log.clear)
                self.failure = failed
        self._owes = False

    async def _erase(self, owners: Sequence[bytes] | None) -> None:
        """Take every step even if others fail; raises StoreFault at the end if any did."""
        texts = self.directory / "texts"
        steps = (
            partial(self._settle, self._kept(self.log.rewrite), physically=True),
            offloaded(self.log.erase_unread),
            offloaded(partial(texts.unlink, missing_ok=True)),
            offloaded(self._index.scrub),
            offloaded(partial(self._reports.drop, owners)),
        )
        refused: list[OSError] = []
        for step in steps:
            try:
                await step()
            except OSError as fault:
                self.arrivals.faults.report("persist", fault)
                refused.append(fault)
        if refused:
            remedy = "all of it left memory; call erase again once the disk can be written"
            raise StoreFault(f"not erased from {self.directory}: {refused[0].strerror}: {remedy}")

    async def aclose(self) -> None:
        """Write what waits, remember the texts, and let the files go."""
        async with self._ending.turn():
            if self._opened:
                await self._end()
            with self.arrivals.faults.guard("persist"):
                await offload(self._unopened.catch_up)

    async def _end(self) -> None:
        self._since = self.arrivals.keeper.epoch
        try:
            await self.maintain()
            save = getattr(self.arrivals.similar.embedder, "save", None)
            if save is not None:
                with self.arrivals.faults.guard("texts"):
                    await offload(lambda: save(self.directory / "texts"))
        finally:
            await self.leave()

    async def leave(self) -> None:
        """Let the files be: they are closed, or could not be read in full."""
        self._opened = False
        await offload_whole(self.log.close)

    def stats(self) -> dict[str, Any]:
        refused = (why := getattr(self._index, "failure", "")) and f"the disk refused vectors: {why}"
        failure = refused or self.failure or self._unopened.failure
        out = {"restored": self._pending.restored, "discarded": self.discarded, "failure": failure}
        return {**out, "lost": self.log.lost, **self.arrivals.stats()}
