"""Writing entries: nothing newer is overwritten, nothing outdated is stored, and who holds an old copy is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import StoreFault
from ...protocols import Clock
from ...types import PART, Reason, Record
from .calls import Answers, Request, answers, call, moving, other_type
from .coherence import Wanted
from .epochs import NEVER, Known, unpack
from .lane import Lane
from .names import Names, digest_of, scope_name, tag_name
from .node import Node, Role
from .pipe import pack
from .wire import DEP, HEADER, PEEK, Dep, Wire

TOMB = 900.0
"""Seconds for which a deletion is remembered; longer than any computation that it must outlive."""
STEADY = 2.0
"""Seconds by which an epoch must be older than a computation to prove that the server has lost no deletion since that
began, though our connection is younger: more than clocks differ that were compared through the server."""
STORE = (
    b"local gone=redis.pcall('get',KEYS[2]) if (type(gone)=='string' and gone or '')~=ARGV[1] then return 0 end "
    b"local new,old=ARGV[2],redis.pcall('getrange',KEYS[1],0,83) "
    b"local function at(o,i) return struct.unpack('<d',o,i) end "
    b"if type(old)=='string' and #old==84 and old:sub(1,3)==new:sub(1,3) and at(old,53)<=at(new,45) "
    b"and at(old,53)-at(old,77)>at(new,53)-at(new,77) then return -1 end "
    b"redis.call('set',KEYS[1],new,'px',ARGV[3]) return #old>0 and 2 or 1"
)
"""Set an entry unless it was deleted since we looked: a writer that dies in between must leave nothing outdated. Nor in
place of one whose computation began later, by the times in both (`HEADER`); one from the future does not count, since
the server's clock was set back."""
UNDO = (
    b"if redis.call('getrange',KEYS[1],0,#ARGV[1]-1)==ARGV[1] then "
    b"return redis.call('unlink',KEYS[1],KEYS[2]) end return 0"
)
"""Remove an entry with this beginning, and what lies beside it."""


@dataclass(slots=True)
class Draft:
    """A record on its way."""

    record: Record
    names: list[bytes]
    started: float
    """By our monotonic clock, as `until`."""
    until: float
    node: Node
    deps: list[Dep] = field(default_factory=list)
    tomb: bytes = b""
    head: bytes = b""
    """How what was written begins: header, checksum, epochs."""


class Writer:
    """Writes batches of records for one loop; counts in `refused` what it leaves out, by reason."""

    def __init__(
        self,
        names: Names,
        clock: Clock,
        wire: Wire,
        lane: Lane,
        lanes: Sequence[Lane],
        refused: Counter[Reason],
    ) -> None:
        """`lanes`: those of all loops of this process."""
        self._names, self._now, self._wire = names, clock.monotonic, wire
        self._past = clock.monotonic() - clock.time()
        """What makes times of our monotonic clock of those in the records, were that other clock set meanwhile."""
        self._topology, self._coherence, self._refused = lane.topology, lane.coherence, refused
        self._lanes = lanes
        listening = [one for one in lanes if one.coherence.news.heeded and one.loop.is_running()]
        heard = min((one.topology.confirmed for one in listening), default=float("inf"))
        self._heard = self._now() - (lane.loop.time() - heard)
        """Until when all invalidations are known to who listens for memory, on whatever loop: that may stand still."""
        self.overtaken: list[bytes] = []
        """Names that say of which entries there were newer ones."""

    async def put(self, records: Sequence[Record], fences: Mapping[bytes, int]) -> int:
        """Store records; returns of how many they or newer are there. Raises StoreFault after storing the others."""
        drafts, faults = self._drafts(records)
        drafts = self._usable(await self._look(drafts, fences, faults), await self._epochs(drafts, faults))
        stored = await self._store(drafts, fences, faults)
        for lane in self._lanes if self.overtaken else ():
            lane.overtaken(self.overtaken)
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
                started, until = record.created - record.seconds, record.stale_until
                drafts.append(Draft(record, names, started + self._past, until + self._past, node))
        return drafts, faults

    async def _epochs(self, drafts: Sequence[Draft], faults: list[StoreFault]) -> dict[bytes, Known]:
        wanted: dict[bytes, Wanted] = {}
        for draft in drafts:
            until = draft.until
            for name in draft.names:
                digest = digest_of(name)
                wanted[digest] = name, max(until, wanted.get(digest, (b"", NEVER))[1])
        return await self._coherence.ensure(wanted, faults)

    async def _look(
        self, drafts: Sequence[Draft], fences: Mapping[bytes, int], faults: list[StoreFault]
    ) -> list[Draft]:
        """Leave out what would overwrite an entry of a newer schema or a later lease holder, or was deleted since."""
        kept, requests = [], (self._ask(draft.record.key) for draft in drafts)
        for draft, result in zip(drafts, await call(self._topology, Role.WRITE, requests), strict=True):
            if isinstance(result, list):  # of another type: to be overwritten
                result = [b"" if other_type(one) else one for one in result]
            replies = _replies(result, faults)
            if replies is None:
                continue
            draft.tomb = replies[1] or b""
            if self._wire.newer(replies[0], fences.get(draft.record.key, 0), draft.node.now()):
                self._refused[Reason.SCHEMA] += 1
            elif self._coherence.outdates(draft.record.key, unpack(replies[1]), draft.node, draft.started):
                self._refused[Reason.INVALIDATED] += 1
            else:
                kept.append(draft)
        return kept

    def _ask(self, key: bytes) -> Request:
        entry, tomb = self._names.entry(key), self._names.tomb(key)
        return Request(entry, [pack(b"GETRANGE", entry, 0, PEEK - 1), pack(b"GET", tomb)])

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
        if draft.until <= self._now():
            return Reason.EXPIRED
        built = any(tag.startswith(PART) for tag in draft.record.tags)
        # what it was built on may have been held until its invalidation was heard of
        since = draft.started - self._topology.silence if built else draft.started
        nodes, steady = [draft.node], set()
        for name in draft.names:
            digest = digest_of(name)
            epoch, node = known.get(digest), self._topology.route(self._names.epoch(digest))
            if epoch is None:
                return Reason.FAULT
            if not self._coherence.admits(epoch, node, since):
                return Reason.INVALIDATED
            nodes.append(node)
            if epoch.standing + STEADY < draft.started and not built:
                steady.add(node)
            draft.deps.append((digest, epoch.token))  # one that changes from here on makes the entry invalid
        if any(draft.started < node.since and node not in steady for node in nodes):
            return Reason.INVALIDATED  # a deletion may have been lost with the server's memory, or unheard
        return Reason.INVALIDATED if built and self._heard < since else None

    async def _store(
        self, drafts: Sequence[Draft], fences: Mapping[bytes, int], faults: list[StoreFault]
    ) -> int:
        sets = (self._set(draft, fences.get(draft.record.key, 0)) for draft in drafts)
        results = await call(self._topology, Role.WRITE, sets)
        tell: list[Request] = []
        done: list[Draft] = []
        for draft, result in zip(drafts, results, strict=True):
            if moving(result):
                self._refused[Reason.FAULT] += 1
                continue
            replies = _replies(result, faults)
            if replies is None:
                continue
            over, stored = self._names.over(draft.record.key), replies[0]
            if stored == -1:
                self.overtaken.append(over)
            elif stored in (1, 2):
                done.append(draft)
            else:
                self._refused[Reason.INVALIDATED] += 1
            if stored == 2:  # those are told who hold what was there before
                tell.append(Request(over, [pack(b"SET", over, b"", b"PX", 1000), pack(b"UNLINK", over)]))
        await call(self._topology, Role.CONTROL, tell)
        return len(done) + len(self.overtaken) - await self._undo(done)

    async def _undo(self, drafts: Sequence[Draft]) -> int:
        """Remove what was declared invalid while it was being stored; returns how many that were.

        It would be served to nobody, but an erasure that has passed must have left nothing behind.
        """
        table = self._coherence.table
        doubtful = [draft for draft in drafts if table.compare(_joined(draft.deps)) != []]
        if not doubtful:
            return 0
        known = await self._epochs(doubtful, [])
        late = [d for d in doubtful if any(x in known and known[x].token != token for x, token in d.deps)]
        await call(self._topology, Role.WRITE, map(self._removal, late))
        self._refused[Reason.INVALIDATED] += len(late)
        return len(late)

    def _removal(self, draft: Draft) -> Request:
        entry = self._names.entry(draft.record.key)
        return Request(entry, [pack(b"EVAL", UNDO, 2, entry, self._names.near_of(entry), draft.head)])

    def _set(self, draft: Draft, fence: int) -> Request:
        record, node = draft.record, draft.node
        value = self._wire.write(
            record, draft.deps, offset=node.offset + self._past, now=node.now(), incarnation=node.incarnation,
            fence=fence,
        )  # fmt: skip
        draft.head = value[: HEADER.size + DEP * len(draft.deps)]
        entry, tomb = self._names.entry(record.key), self._names.tomb(record.key)
        lifetime = max(1, int((draft.until - self._now()) * 1000))
        return Request(entry, [pack(b"EVAL", STORE, 2, entry, tomb, draft.tomb, value, lifetime)])


def _joined(deps: Sequence[Dep]) -> bytes:
    """Epochs as they stand in an entry."""
    return b"".join(digest + token for digest, token in deps)


def _replies(result: Answers, faults: list[StoreFault]) -> list[Any] | None:
    try:
        return answers(result)
    except StoreFault as fault:
        faults.append(fault)
        return None
