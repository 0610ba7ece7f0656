"""Entries that come from elsewhere: made by another process, or by this one before a restart.

They are taken into memory like answers of our own, so that bounds, freshness and invalidation hold for them too, and
become findable by meaning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..exact.answers.admission import has_tool_calls, text_of
from ..exact.keys.canonical import encode
from ..exact.memory.table import Slot
from ..exact.wire.codec import Codec
from ..exact.wire.writer import encodes
from ..flow.attempt import Faults
from ..flow.background import Background
from ..keep.call import Call, Function
from ..keep.invalidation import Invalidation
from ..keep.keeper import Keeper
from ..keep.streams import seen_of
from ..protocols import Clock
from ..semantic.reported_pairs import digest
from ..semantic.tier import SimilarTier
from ..semantic.types import Ask
from ..types import Findable, Reason, Record
from .elsewhere import Elsewhere

WAITING = 100_000
"""How many entries may wait for their function to be wrapped."""
STEP = 256
"""Waiting entries compared with an invalidation in one turn of the loop."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An entry on its way in. `id`: from before a restart, under which its vector may be in the index; else 0."""

    item: Findable
    record: Record
    epoch: int
    """The epoch in which it was read: an invalidation declared since forbids it."""
    offset: float
    """Unix time minus the monotonic clock's when it was read: it may wait, and the former may be set meanwhile."""
    id: int = 0

    @property
    def marks(self) -> tuple[tuple[str, ...], bytes, int]:
        """Its tags, scope and key, by which it may have been declared invalid."""
        tags = tuple(tag for tag in self.record.tags if not tag.startswith("\0"))
        return tags, *marks_of(self.item)

    def plain(self, function: Function) -> bool:
        """Whether it is from before a restart and found word for word only: other entries have a partition."""
        by_meaning = self.item.partition and function.similar and function.own is None
        return self.id > 0 and not by_meaning


class Arrivals:
    """Takes entries in. What arrives for a function that is not wrapped yet waits, within bounds."""

    def __init__(
        self,
        *,
        keeper: Keeper,
        similar: SimilarTier,
        faults: Faults,
        clock: Clock,
        codec: Codec,
        functions: Mapping[str, Function],
        background: Background,
    ) -> None:
        self.keeper, self.similar, self.faults, self.clock = keeper, similar, faults, clock
        self.codec, self.functions, self.background = codec, functions, background
        self._waiting: dict[str, dict[bytes, Arrival]] = {}
        self.taken = self.dropped = 0

    def read(self, item: Findable, record: Record, epoch: int, id: int = 0) -> Arrival:
        """An entry that was read just now."""
        return Arrival(item, record, epoch, self.clock.time() - self.clock.monotonic(), id)

    def known(self, item: Findable) -> bool:
        """Whether the entry is findable here already, or never will be."""
        function = self.functions.get(item.function)
        if function is None:
            return False
        if function.own is not None:
            return True
        digest = self.keeper.digest(item.canonical)
        held = function.memory.at(digest)
        mine = held is not None and held.canonical == item.canonical and self.similar.knows(held.id)
        return mine or not function.similar or not self._mine(item)

    def _waits(self, arrival: Arrival) -> bool:
        may = sum(map(len, self._waiting.values())) < WAITING
        if may:
            self._waiting.setdefault(arrival.item.function, {})[arrival.item.key] = arrival
        self.dropped += not may
        return may

    async def take(self, arrival: Arrival) -> bool | None:
        """Whether the entry is findable from now on; None if it waits for its function."""
        function = self.functions.get(arrival.item.function)
        if function is None:
            return None if not self._invalid(arrival) and self._waits(arrival) else False
        if arrival.plain(function):
            slot = self.remember(arrival)
            kept = slot is not None and slot.resident
            self.taken += kept
            return kept
        if self.known(arrival.item):
            return False
        took = await self.faults.attempt("arrival", self._take(function, arrival), None)
        self.taken += took is True
        if self.similar.due:  # nothing may be written here for long
            self.background.spawn(self.similar.maintain)
        return took is True

    def remember(self, arrival: Arrival) -> Slot | None:
        """Let exact lookups find the entry at once; `take` makes it findable by meaning later."""
        item = arrival.item
        function = self.functions.get(item.function)
        if function is None or (not self._mine(item) if arrival.plain(function) else self.known(item)):
            return None
        slot = self.faults.attempt_now("arrival", self._kept, function, arrival)
        return None if isinstance(slot, Reason) else slot

    def _mine(self, item: Findable) -> bool:
        """Whether it was kept under this layer's seed."""
        return self.keeper.digest(item.canonical).to_bytes(16, "big") == item.key

    def _invalid(self, arrival: Arrival) -> bool:
        """Whether it was declared invalid since it was read."""
        keeper, epoch = self.keeper, arrival.epoch
        return keeper.epoch != epoch and keeper.invalidated_since(epoch, *arrival.marks)

    def _kept(self, function: Function, arrival: Arrival) -> Slot | None:
        """The entry in memory; None if it cannot be kept there, or was declared invalid since it was read."""
        item, keeper = arrival.item, self.keeper
        call = Call(function, (), {}, None, never)
        call.tenant, call.canonical = item.tenant, item.canonical
        call.digest, call.since = keeper.digest(item.canonical), arrival.epoch
        held = keeper.peek(call)
        if held is not None and held.id == arrival.id:
            return held
        answer = (function.codec or self.codec).decode(arrival.record.payload)
        return keeper.adopt(call, arrival.record, answer, self.clock.monotonic() + arrival.offset, arrival.id)

    async def _take(self, function: Function, arrival: Arrival) -> bool:
        item, slot = arrival.item, self._kept(function, arrival)
        if slot is None or not slot.resident:
            return False
        if has_tool_calls(seen := seen_of(function, slot.answer)):
            return False
        ask = Ask(item.function, item.partition, item.text, item.turns, 0.0, arrival.record.principal)
        ask.tenant = item.tenant
        same_model = item.identity == self.similar.embedder.identity
        vector = item.vector if same_model else None
        return await self.similar.adopt(ask, slot.id, text_of(seen), slot, vector)

    def findable(self, call: Call, ask: Ask, slot: Slot) -> Findable | None:
        """What to announce or store of an indexed entry; None if it was not indexed, or left memory meanwhile."""
        if ask.query is None or ask.generation != self.similar.generation or not slot.resident:
            return None
        if not encodes("".join((ask.text, call.tenant or "", *(turn.text for turn in ask.turns)))):
            return None
        until = slot.stale_until + self.clock.time() - self.clock.monotonic()
        return Findable(
            call.digest.to_bytes(16, "big"), call.canonical, ask.partition, call.function.name, ask.text, until,
            call.tenant, ask.turns, self.similar.embedder.identity, ask.query.vector,
        )  # fmt: skip

    def call_of(self, function: str, slot: Slot) -> Call:
        """A call like the one that made an entry."""
        call = Call(self.functions[function], (), {}, None, never)
        call.tenant = self.keeper.tenant_of(slot.scope)
        call.digest, call.canonical = slot.digest, slot.canonical
        return call

    def plain(self, call: Call, slot: Slot) -> Findable:
        """What to store of an entry that is only found word for word."""
        until = slot.stale_until + self.clock.time() - self.clock.monotonic()
        key, name = call.digest.to_bytes(16, "big"), call.function.name
        return Findable(key, call.canonical, b"", name, "", until, call.tenant)

    def due(self, function: str) -> bool:
        """Whether entries wait for this function, which is wrapped now."""
        return bool(self._waiting) and function in self._waiting and function in self.functions

    def waited(self, function: str) -> list[Arrival]:
        """What waited for a function; it waits no longer."""
        return list(self._waiting.pop(function, {}).values())

    def outdated(self, key: bytes) -> None:
        """What lay under a key was deleted or replaced: a waiting entry goes as well."""
        for waiting in self._waiting.values():
            waiting.pop(key, None)

    async def forget(self, declared: Invalidation) -> None:
        """What was declared invalid waits no longer: an erasure leaves nothing of it in memory."""
        all_waiting = [
            (waiting, arrival) for waiting in self._waiting.values() for arrival in waiting.values()
        ]
        for number, (waiting, arrival) in enumerate(all_waiting, 1):
            if declared.covers(*arrival.marks):
                waiting.pop(arrival.item.key, None)
            if number % STEP == 0:
                await asyncio.sleep(0)

    def clear(self) -> None:
        """Drop all that waits: it may be outdated, and will be fetched again."""
        self._waiting.clear()

    def stats(self) -> dict[str, int]:
        waiting = sum(map(len, self._waiting.values()))
        return {"taken": self.taken, "waiting": waiting, "dropped": self.dropped}


class Incoming(Elsewhere):
    """A source whose entries come in through `arrivals`."""

    def __init__(self, arrivals: Arrivals) -> None:
        self.arrivals = arrivals

    def listen(self, function: str) -> bool:
        return self.arrivals.due(function) and self.arrivals.background.spawn(partial(self.drain, function))

    async def drain(self, function: str) -> None:
        """Take in what waited for a function."""
        for arrival in self.arrivals.waited(function):
            await self.arrivals.take(arrival)
            await asyncio.sleep(0)


async def never(*args: Any, **kwargs: Any) -> Reason:
    """An entry that arrives has no backend."""
    return Reason.ABSENT


def marks_of(item: Findable) -> tuple[bytes, int]:
    """Scope and key of an entry."""
    return encode([item.function, item.tenant]), int.from_bytes(item.key, "big")


def owners_of(declared: Invalidation) -> list[bytes] | None:
    """Whose answers were declared invalid, as digests for `reported_pairs`; None for everybody's."""
    return None if declared.everything else [digest(scope) for scope in declared.scopes]
