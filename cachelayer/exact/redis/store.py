"""The shared tier on plain Redis >= 6, without modules: one server, a unix socket, TLS, or a cluster, by URL."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ...checks import either, whole
from ...errors import ConfigurationError, Unusable
from ...flow.loops import left_behind
from ...protocols import Clock, Lease
from ...types import Findable, Reason, Record
from .calls import Request, answers, call, other_type
from .doctor import Finding, examine
from .erase import Eraser
from .feed import Feed
from .lane import Asked, Lane, bounded
from .lease import RedisLease
from .link import Dialer
from .names import Names, scope_name, tag_name
from .news import Changed
from .node import Role
from .pipe import driver, pack
from .recall import Recall
from .reports import Reports
from .seal import Seal
from .url import parse, redacted
from .wire import Wire
from .writing import TOMB, Writer

TRIES = 3
GREETED = 0.1
"""Seconds that a lookup may wait for the very first connection, whatever its budget: where nobody called `start`, what
others left would go unread."""


class RedisStore:
    """Entries, invalidations and leases shared by all processes that name one Redis and one prefix.

    `schema`: the version of what is stored; entries of another one are not read, those of a newer one not overwritten.
    `signing_keys`, `encrypt_keys`: the first writes, all read; see `seal`. `compress_above`: bytes of an entry above
    which it is compressed (zlib), None for never. `max_connections`: of this process, over all loops and nodes; each
    loop takes three a node. `feed`: about how many entries other processes can learn of by meaning, the latest.
    `trust_reloaded`: serve what a restarted server read from disk, although invalidations shortly before the restart
    may be missing. The constructor does no I/O and binds no loop; each loop has its own connections.
    """

    name = "redis"
    bounded = checks = True

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "cachelayer",
        schema: int = 1,
        signing_keys: Sequence[bytes] = (),
        encrypt_keys: Sequence[bytes] = (),
        compress_above: int | None = None,
        max_connections: int = 64,
        trust_reloaded: bool = False,
        feed: int = 100_000,
        clock: Clock = time,
    ) -> None:
        driver()
        either("trust_reloaded", trust_reloaded)
        whole("feed", feed, 1)
        whole("schema", schema, 0)
        if schema >= 2**32:
            raise ConfigurationError("schema", schema, "give a number from 0 to 2**32 - 1")
        if compress_above is not None:
            whole("compress_above", compress_above, 0, " bytes, or None")
        whole("max_connections", max_connections, 3, ": a loop needs so many a node")
        self._target, self._url, seal = parse(url), redacted(url), Seal(signing_keys, encrypt_keys)
        self._names, self._feed = Names(prefix, seal), feed
        self._wire = Wire(self._names.prefix, schema, seal, compress_above)
        self._clock, self._max_connections, self._trust_reloaded = clock, max_connections, trust_reloaded
        self._lanes: dict[asyncio.AbstractEventLoop, Lane] = {}
        self.recall = Recall(self._lanes, self._names, clock, trust_reloaded=trust_reloaded)
        self.reports = Reports(self._names, self._started)
        self._dialer: Dialer | None = None
        self.refused: Counter[Reason] = Counter()
        """Records that were not stored, by reason."""

    # the life of a store ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect for the running loop. Raises StoreFault; then it goes on trying by itself."""
        await self._lane().start()

    async def aclose(self) -> None:
        """Close the running loop's connections. What other loops hold is closed when they are."""
        lane = self._lanes.pop(asyncio.get_running_loop(), None)
        if lane is not None:
            await lane.aclose()

    def reset(self) -> None:
        """Forget all connections: after a fork they are the parent's."""
        self._lanes.clear()
        self._dialer = None

    def _lane(self) -> Lane:
        loop = asyncio.get_running_loop()
        lane = self._lanes.get(loop)
        if lane is None:
            left_behind(self._lanes)
            if self._dialer is None:
                self._dialer = Dialer(self._target, limit=self._max_connections)
            lane = self._lanes[loop] = Lane(
                self._dialer, self._names, self._clock, self._started, trust_reloaded=self._trust_reloaded
            )
        return lane

    async def _started(self, *, patient: bool = True) -> Lane:
        lane = self._lane()
        if not lane.started:
            await lane.start(patient=patient)
        return lane

    # reading ------------------------------------------------------------------------------------------------

    def ask(self, key: bytes, budget: float) -> Asked | None:
        """Ask ahead of `get` for what is under `key`; None if no connection was made yet. Raises StoreFault."""
        lane = self._lanes.get(asyncio.get_running_loop())
        return None if lane is None or not lane.started else lane.fetch(key, self._names.word(key), budget)

    async def get(
        self, key: bytes, canonical: bytes, budget: float | None = None, asked: Asked | None = None
    ) -> Record | None:
        """The record under `key` (16 bytes) whose canonical bytes are equal, fresh or stale; None for none.

        Raises Unusable, whose reason says why what is there may not be served, or StoreFault; with reason BUDGET where
        an answer took longer than `budget` seconds: cheaper than a timeout around the call. Cancelling is safe.
        `asked`: what `ask` gave.
        """
        if asked is None:
            lane = self._lanes.get(asyncio.get_running_loop())
            if lane is None or not lane.started:
                patience = None if budget is None else max(budget, GREETED)
                lane = await bounded(patience, self._started(patient=False))
            await lane.standing(key, budget)
            asked = lane.fetch(key, self._names.word(key), budget)
        tries = 0
        while True:
            reply, node, lane, sequence = asked
            coherence, raw = lane.coherence, await reply
            if raw is not None and type(raw) is not bytes:
                raw, node = await bounded(budget, self._follow(lane, key, raw))
            if raw is None:
                return None
            now = node.now()
            try:
                opened = self._wire.read(raw, key, canonical, now - self._clock.time(), now)
            except Unusable as refusal:
                if refusal.reason is Reason.CORRUPT:
                    await lane.probe(node)
                raise
            if opened is None:
                await lane.probe(node)
                return None
            record, deps, incarnation, written = opened
            if incarnation != node.incarnation and not (
                self._trust_reloaded or node.trusts(incarnation, written)
            ):
                raise Unusable("an entry was read back from disk", Reason.RELOADED)
            if deps not in coherence.valid:
                await bounded(budget, coherence.check(deps))
            if coherence.sequence == sequence or not coherence.changed_since(key, sequence):
                return record
            tries += 1
            if tries == TRIES:
                raise Unusable("an entry changes faster than it can be read", Reason.INVALIDATED)
            asked = lane.fetch(key, self._names.word(key), budget)

    async def _follow(self, lane: Lane, key: bytes, reply: Any) -> tuple[Any, Any]:
        """What a cluster answers in the end where it first sent us elsewhere."""
        name = self._names.entry(key)
        if other_type(reply):
            raise Unusable("what is stored under the key is not an entry", Reason.CORRUPT)
        if not isinstance(reply, Exception):
            await lane.probe(lane.topology.route(name))
        result = await call(lane.topology, Role.READ, [Request(name, [pack(b"GET", name)])], wait=False)
        return answers(result[0])[0], lane.topology.route(name)

    # writing ------------------------------------------------------------------------------------------------

    async def put(self, records: Sequence[Record], leases: Sequence[Lease] = ()) -> int:
        """Store records until their `stale_until`; returns of how many they or newer ones are there; see `refused`.

        A record's computation is taken to have begun `seconds` before `created`: what was invalidated since is not
        stored. Of a key whose lease is among `leases`, an entry by a later holder stays. Raises StoreFault.
        """
        lane = await self._started()
        lanes = tuple(self._lanes.values())
        writer = Writer(self._names, self._clock, self._wire, lane, lanes, self.refused)
        fences = {lease.key: lease.fence for lease in leases if isinstance(lease, RedisLease)}
        return await writer.put(records, fences)

    async def delete(self, keys: Sequence[bytes]) -> int:
        """Delete entries, and those under way; returns how many there were. Raises StoreFault."""
        lane = await self._started()
        return await lane.coherence.bury(keys, TOMB)

    async def invalidate(self, *, tags: Sequence[str] = (), scopes: Sequence[bytes] = ()) -> None:
        """Declare everything under these tags and scopes invalid, for every process, in O(number given).

        Raises StoreFault if one could not be declared; the others are. On a server with replicas it waits a moment for
        one of them to have it. `stats()["unconfirmed"]` counts where none did, which its successor is told again.
        """
        lane = await self._started()
        await lane.coherence.declare([*map(tag_name, tags), *map(scope_name, scopes)])

    async def erase(
        self,
        *,
        tags: Sequence[str] = (),
        scopes: Sequence[bytes] = (),
        everything: bool = False,
    ) -> int:
        """Invalidate at once, then remove physically in small steps; returns how many names were removed.

        Leave it to a task of its own; it may be cancelled and begun again. `everything`: all that has the prefix.
        """
        lane = await self._started()
        return await Eraser(self._names, lane).run(tags, scopes, everything=everything)

    # sharing ------------------------------------------------------------------------------------------------

    async def acquire(self, key: bytes, ttl: float) -> RedisLease | None:
        """The lease for `key`, renewed until released, or None if another process holds it. Raises StoreFault."""
        return await (await self._started()).leases.acquire(key, ttl)

    async def wait(self, key: bytes, timeout: float) -> None:
        """Return when the holder of the lease for `key` released it or died, or after `timeout` seconds."""
        await (await self._started()).leases.wait(key, timeout)

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Changed]]:
        """Invalidations and deletions by other processes and loops; `everything` where some may have been missed.

        Entering needs no connection. A connection that broke, or was silent for 65 ms, says `everything`; so does one
        that stands again.
        """
        lane = self._lane()
        mailbox = lane.coherence.news.subscribe()
        lane.begin()
        try:
            yield lane.coherence.news.follow(mailbox)
        finally:
            lane.coherence.news.unsubscribe(mailbox)

    async def sync(self) -> None:
        """Return when every invalidation that was made before the call is known to this loop. Raises StoreFault."""
        await (await self._started()).sync()

    async def publish(self, findable: Sequence[Findable]) -> None:
        """Tell every process what became findable by meaning. Raises StoreFault."""
        lane = await self._started()
        await self._feed_of(lane).publish(findable, self._clock.time())

    async def published(self, after: bytes, limit: int) -> tuple[Sequence[Findable], bytes, bool]:
        """See `protocols.Feed`. Raises StoreFault."""
        return await self._feed_of(await self._started()).read(after, limit)

    def _feed_of(self, lane: Lane) -> Feed:
        return Feed(self._names, lane.topology, self._wire.seal, self._feed)

    @property
    def coherent(self) -> bool:
        """Whether the running loop hears of every invalidation, within 90 ms of its return."""
        lane = self._lanes.get(asyncio.get_running_loop())
        return lane is not None and lane.topology.coherent

    # looking at it ------------------------------------------------------------------------------------------

    async def diagnose(self) -> list[Finding]:
        """What is right and wrong with the servers, with remedies. Raises StoreFault if none can be reached."""
        return await examine(await self._started(), self._names, trust_reloaded=self._trust_reloaded)

    def stats(self) -> dict[str, Any]:
        """Counts of this process, and of the running loop's connections where there is one."""
        lanes = list(self._lanes.values())
        return {
            "url": self._url,
            "connections": self._dialer.open if self._dialer is not None else 0,
            "coherent": all(lane.topology.coherent for lane in lanes) if lanes else False,
            "epochs": sum(len(lane.coherence.table) for lane in lanes),
            "unconfirmed": sum(lane.coherence.replication.unconfirmed for lane in lanes),
            "refused": {reason.value: count for reason, count in self.refused.items()},
        }

    def __repr__(self) -> str:
        return f"<RedisStore {self._url} prefix={self._names.prefix.decode()}>"
