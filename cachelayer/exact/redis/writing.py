"""Writing entries: nothing newer is overwritten, nothing outdated is stored, and who holds an old copy is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import StoreFault
from ...protocols import Clock
from ...types import Reason, Record
from .calls import Answers, Request, answers, call
from .coherence import Coherence, Wanted
from .epochs import NEVER, REPLACED, Epoch, Known, unpack
from .names import Names, digest_of, scope_name, tag_name
from .node import Node, Role
from .pipe import pack
from .topology import Topology
from .wire import PEEK, Dep, Wire

TOMB = 900.0
"""Seconds for which a deletion is remembered; longer than any computation that it must outlive."""


@dataclass(slots=True)
class Draft:
    """A record on its way."""

    record: Record
    names: list[bytes]
    started: float
    node: Node
    deps: list[Dep] = field(default_factory=list)
    existed: bool = False


class Writer:
    """Writes batches of records for one loop; counts in `refused` what it leaves out, by reason."""

    def __init__(
        self,
        names: Names,
        clock: Clock,
        wire: Wire,
        topology: Topology,
        coherence: Coherence,
        refused: Counter[Reason],
    ) -> None:
        self._names, self._clock, self._wire = names, clock, wire
        self._topology, self._coherence, self._refused = topology, coherence, refused

    async def put(self, records: Sequence[Record], fence: int) -> int:
        """How many were stored. Raises StoreFault where some could not be; the others are stored."""
        drafts, faults = self._drafts(records)
        drafts = self._usable(await self._look(drafts, fence, faults), await self._epochs(drafts))
        stored = await self._store(drafts, fence, faults)
        if faults:
            raise faults[0]
        return stored

    def _drafts(self, records: Sequence[Record]) -> tuple[list[Draft], list[StoreFault]]:
        drafts: list[Draft] = []
        faults: list[StoreFault] = []
        for record in records:
            names = [scope_name(record.scope), *map(tag_name, dict.fromkeys(record.tags))]
            try:
                node = self._topology.route(self._names.entry(record.key))
            except StoreFault as fault:
                faults.append(fault)
            else:
                drafts.append(Draft(record, names, record.created - record.seconds, node))
        return drafts, faults

    async def _epochs(self, drafts: Sequence[Draft]) -> dict[bytes, Known]:
        wanted: dict[bytes, Wanted] = {}
        for draft in drafts:
            until = draft.record.stale_until
            for name in draft.names:
                digest = digest_of(name)
                wanted[digest] = name, max(until, wanted.get(digest, (b"", NEVER))[1])
        return await self._coherence.ensure(wanted)

    async def _look(self, drafts: Sequence[Draft], fence: int, faults: list[StoreFault]) -> list[Draft]:
        """Leave out what would overwrite an entry of a newer schema or a later lease holder."""
        names = [self._names.entry(draft.record.key) for draft in drafts]
        requests = [Request(name, [pack(b"GETRANGE", name, 0, PEEK - 1)]) for name in names]
        kept = []
        for draft, result in zip(drafts, await call(self._topology, Role.WRITE, requests), strict=True):
            replies = _replies(result, faults)
            if replies is None:
                continue
            draft.existed = bool(replies[0])
            if self._wire.newer(replies[0], fence):
                self._refused[Reason.SCHEMA] += 1
            else:
                kept.append(draft)
        return kept

    def _usable(self, drafts: Sequence[Draft], known: dict[bytes, Known]) -> list[Draft]:
        """Leave out what was invalidated while it was computed, and what cannot be known not to have been."""
        kept = []
        for draft in drafts:
            reason = self._forbidden(draft, known)
            if reason is None:
                kept.append(draft)
            else:
                self._refused[reason] += 1
        return kept

    def _forbidden(self, draft: Draft, known: dict[bytes, Known]) -> Reason | None:
        if draft.record.stale_until <= self._clock.time():
            return Reason.EXPIRED
        if draft.started < draft.node.since:  # a deletion may have been lost with the server's memory
            return Reason.INVALIDATED
        for name in draft.names:
            digest = digest_of(name)
            epoch, node = known.get(digest), self._topology.route(self._names.epoch(digest))
            if epoch is None:
                return Reason.FAULT
            if draft.started < node.since or not self._coherence.admits(epoch, node, draft.started):
                return Reason.INVALIDATED
            draft.deps.append((digest, epoch.token))  # one that changes from here on makes the entry invalid
        return None

    async def _store(self, drafts: Sequence[Draft], fence: int, faults: list[StoreFault]) -> int:
        results = await call(self._topology, Role.WRITE, [self._set(draft, fence) for draft in drafts])
        undo, tell, stored = [], [], 0
        for draft, result in zip(drafts, results, strict=True):
            replies = _replies(result, faults)
            if replies is None:
                continue
            key = draft.record.key
            if self._coherence.outdates(key, unpack(replies[1]), draft.node, draft.started):
                self._refused[Reason.INVALIDATED] += 1
                undo.append(Request(self._names.entry(key), [pack(b"UNLINK", self._names.entry(key))]))
            else:
                stored += 1
                if draft.existed:
                    tell.append(self._tell(draft))
        await call(self._topology, Role.WRITE, undo)
        await call(self._topology, Role.CONTROL, tell)
        return stored

    def _set(self, draft: Draft, fence: int) -> Request:
        record, node = draft.record, draft.node
        value = self._wire.write(
            record, draft.deps, offset=node.offset, now=node.now(), incarnation=node.incarnation, fence=fence
        )
        entry, left = self._names.entry(record.key), record.stale_until - self._clock.time()
        keep = pack(b"SET", entry, value, b"PX", max(1, int(left * 1000)))
        return Request(entry, [keep, pack(b"GET", self._names.tomb(record.key))])

    def _tell(self, draft: Draft) -> Request:
        """Push the key to those who hold what was there before; a deletion that is remembered stays remembered."""
        tomb, node = self._names.tomb(draft.record.key), draft.node
        mark = Epoch(bytes(8), node.incarnation, draft.started + node.offset, REPLACED).pack()
        lifetime = int(TOMB * 1000)
        commands = [pack(b"SET", tomb, mark, b"PX", lifetime, b"NX"), pack(b"PEXPIRE", tomb, lifetime)]
        return Request(tomb, commands)


def _replies(result: Answers, faults: list[StoreFault]) -> list[Any] | None:
    try:
        return answers(result)
    except StoreFault as fault:
        faults.append(fault)
        return None
