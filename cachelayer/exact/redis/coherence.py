"""What this process knows of epochs and deletions, kept up to date by what the servers push.

Chosen: RESP3 client-side tracking in broadcasting mode on one prefix, on a connection of its own per node
(https://redis.io/docs/latest/develop/reference/client-side-caching/). The server itself says what changed, so that no
writer can forget to, and a connection that broke or fell silent is known to have missed something.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from ...errors import StoreFault, Unusable
from ...protocols import Clock
from ...types import Reason
from .calls import Answers, Request, answers, call, forced, full, number, other_type, plainly, refusals
from .epochs import BORN, DECLARED, NEVER, TTL, Epoch, Known, Table, learned, unpack
from .names import Names, digest_of
from .news import EVERYTHING, News, Newsroom
from .node import Node, Role
from .pipe import pack
from .replication import Replication
from .topology import Topology
from .waiters import Act

REMEMBERED = 4096
"""Deletions remembered, to compare with reads and writes under way."""
TRIES = 4

Wanted = tuple[bytes, float]
"""The name of a tag or scope, and until when its epoch must last."""
Make = Callable[[bytes, Wanted], Request]


class Coherence:
    """What one loop knows; monotonic times. `trust_reloaded`: whether what a restarted server read from disk counts."""

    def __init__(self, names: Names, clock: Clock, topology: Topology, *, trust_reloaded: bool) -> None:
        self._names, self._clock, self._topology = names, clock, topology
        self._trust_reloaded = trust_reloaded
        self.table = Table()
        self.valid: set[bytes] = set()
        """The epochs of entries, as they stand in them, that need no comparison."""
        self.sequence = 0
        self._floor = 0
        self._marks: dict[bytes, int] = {}
        self._own: dict[bytes, tuple[bytes, float]] = {}
        self.news = Newsroom(topology, names, self.read)
        self.replication = Replication(topology, clock.monotonic)

    # what the servers push ----------------------------------------------------------------------------------

    def pushed(self, names: list[bytes] | None) -> None:
        """Names that changed; None: all of them."""
        if names is None:
            self.missed(everything=True)
            return
        named = self._names
        deleted = [key for name in names if (key := named.deleted(name)) is not None]
        replaced = [key for name in names if (key := named.replaced(name)) is not None]
        for key in (*deleted, *replaced):
            self._mark(key)
        digests = []
        for digest in [digest for name in names if (digest := named.declared(name)) is not None]:
            token = self.table.forget(digest)
            digests.append((digest, token))
            if token:
                self._relearn(digest)
        self.news.tell(News(tuple(deleted), tuple(digests), tuple(replaced)))

    def missed(self, *, everything: bool) -> None:
        """Something may be unknown here: for ever, or until a silent connection is heard again."""
        if everything:
            self.table.clear()
            self._marks.clear()
            self._own.clear()
            self.sequence += 1
            self._floor = self.sequence
        self.news.tell(EVERYTHING)

    def suspend(self, on: bool) -> None:
        """Vouch for nothing while a node is silent or away."""
        self.valid = set() if on else self.table.valid

    def changed_since(self, key: bytes, sequence: int) -> bool:
        """Whether the entry was deleted or replaced elsewhere since `self.sequence` was `sequence`."""
        return self._floor > sequence or self._marks.get(key, 0) > sequence

    def _mark(self, key: bytes) -> None:
        if len(self._marks) >= REMEMBERED:
            self._marks.clear()
            self._floor = self.sequence
        self.sequence += 1
        self._marks[key] = self.sequence

    def _relearn(self, digest: bytes) -> None:
        """Ask the owner anew, at once: it need not be the one that pushed, as where a slot moved away."""
        with suppress(StoreFault):  # asked again when needed
            request = self.read(digest)
            node = self._topology.route(request.name)
            act = Act(asyncio.get_running_loop(), partial(self._take, digest, node))
            node.control.need().post(request.commands, (act,))

    # epochs -------------------------------------------------------------------------------------------------

    def _take(self, digest: bytes, node: Node, raw: Any) -> None:
        """Learn an epoch from the reply to GET."""
        if other_type(raw):
            raw = b""  # written over as what nobody can read
        if isinstance(raw, Exception):
            return
        if not isinstance(raw, bytes | None):
            raise TypeError("an epoch is bytes")
        now, epoch = self._clock.monotonic(), unpack(raw)
        if epoch is None or not (self._trust_reloaded or node.trusts(epoch.incarnation, epoch.written)):
            self.table.learn(digest, Known(b"", now, NEVER, now, overwrite=raw is not None))
            return
        old = self.table.get(digest)
        if old is None or old.token != epoch.token:
            lost = self.table.succeeds(digest, epoch.token)
            self.table.learn(digest, learned(epoch, now, node.offset, node.incarnation, lost=lost))

    async def check(self, deps: bytes) -> None:
        """Raises Unusable(INVALIDATED) where one of an entry's tokens is outdated; StoreFault where none can tell."""
        if not self._topology.coherent:
            raise StoreFault("a node of Redis is silent or away: epochs cannot be compared")
        for _ in range(TRIES):
            unknown = self.table.compare(deps)
            if unknown is None:
                raise Unusable("an entry was invalidated", Reason.INVALIDATED)
            if not unknown:
                return
            requests = [self.read(digest) for digest in unknown]
            for result in await call(self._topology, Role.CONTROL, requests, wait=False):
                answers(result)
        raise StoreFault("epochs change faster than they can be read")

    async def ensure(self, wanted: Mapping[bytes, Wanted], faults: list[StoreFault]) -> dict[bytes, Known]:
        """The epochs of `wanted` (by digest), made where there are none; of one that is refused `faults` hears."""
        for _ in range(TRIES):  # what is pushed meanwhile is forgotten meanwhile
            absent = {d: w for d, w in wanted.items() if not self._known(d)}
            if not absent:
                break
            await self._each(self.read, absent)
            made = await self._each(self._make, {d: w for d, w in absent.items() if not self._known(d)})
            if refused := refusals(made):
                faults += refused
                break
        await self._each(self._remaining, self._late(wanted))
        await self._each(self._prolong, self._late(wanted))
        return {d: known for d in wanted if (known := self._known(d))}

    def _known(self, digest: bytes) -> Known | None:
        known = self.table.get(digest)
        return known if known is not None and known.token else None

    def _late(self, wanted: Mapping[bytes, Wanted]) -> dict[bytes, Wanted]:
        return {d: w for d, w in wanted.items() if (known := self._known(d)) and known.until < w[1]}

    async def _each(self, make: Make, wanted: Mapping[bytes, Wanted]) -> list[Answers]:
        requests = []
        for digest, want in wanted.items():
            with suppress(StoreFault):  # no node owns it now
                requests.append(make(digest, want))
        return await call(self._topology, Role.CONTROL, requests)

    def read(self, digest: bytes, want: Wanted | None = None) -> Request:
        """The request that reads an epoch and learns it."""
        name = self._names.epoch(digest)
        return Request(name, [pack(b"GET", name)], partial(self._take, digest))

    def _make(self, digest: bytes, want: Wanted) -> Request:
        name = self._names.epoch(digest)
        node, known = self._topology.route(name), self.table.get(digest)
        label = self._names.label(digest, want[0])
        value = Epoch(os.urandom(8), node.incarnation, node.now(), BORN, label).pack()
        words: list[bytes | int] = [b"SET", name, value, b"PX", self._lifetime(want[1])]
        if known is None or not known.overwrite:
            words.append(b"NX")
        return Request(name, [pack(*words), pack(b"GET", name)], partial(self._take, digest))

    def _remaining(self, digest: bytes, want: Wanted) -> Request:
        name = self._names.epoch(digest)
        return Request(name, [pack(b"PTTL", name)], lambda node, reply: self._lasts(digest, reply))

    def _prolong(self, digest: bytes, want: Wanted) -> Request:
        name, lifetime = self._names.epoch(digest), self._lifetime(want[1])
        command = pack(b"PEXPIRE", name, lifetime)
        return Request(name, [command], lambda node, reply: self._lasts(digest, reply and lifetime))

    def _lasts(self, digest: bytes, milliseconds: int) -> None:
        known = self.table.get(digest)
        if known is not None and milliseconds > 0:
            self.table.learn(digest, replace(known, until=self._clock.monotonic() + milliseconds / 1000))

    def _lifetime(self, until: float) -> int:
        """Milliseconds for which an epoch is kept when it is needed until then."""
        return int(1000 * max(TTL, 3 * (until - self._clock.monotonic())))

    def touches(self) -> list[Request]:
        """Requests that keep the epochs in use from being evicted, to be sent every minute or so."""
        names = [self._names.epoch(digest) for digest in self.table]
        return [Request(name, [pack(b"TOUCH", name)]) for name in names]

    # declaring ----------------------------------------------------------------------------------------------

    async def declare(self, texts: Sequence[bytes]) -> None:
        """Write new tokens for these names, on a full server too.

        Raises StoreFault if one could not be written; the others are.
        """
        results = await self._all(self._declare, texts)
        refused = [text for text, result in zip(texts, results, strict=True) if full(result)]
        results = [result for result in results if not full(result)]
        for result in (*results, *await self._all(partial(self._declare, force=True), refused)):
            answers(result)
        await self.replication.confirm([self._names.epoch(digest_of(text)) for text in texts])

    async def _all(self, make: Callable[[bytes], Request], texts: Sequence[bytes]) -> list[Answers]:
        made: list[Request | StoreFault] = []
        for text in texts:
            try:
                made.append(make(text))
            except StoreFault as fault:
                made.append(fault)
        requests = [one for one in made if isinstance(one, Request)]
        called = iter(await call(self._topology, Role.CONTROL, requests))
        return [one if isinstance(one, StoreFault) else next(called) for one in made]

    def _declare(self, text: bytes, *, force: bool = False) -> Request:
        name = self._names.epoch(digest := digest_of(text))
        node, known = self._topology.route(name), self.table.get(digest)
        epoch = Epoch(
            os.urandom(8), node.incarnation, node.latest(), DECLARED, self._names.label(digest, text)
        )
        left = known.until - self._clock.monotonic() if known is not None else 0.0
        lifetime = int(1000 * max(TTL, left))  # more each time would soon be too much for Redis
        command = (forced if force else plainly)(name, epoch.pack(), lifetime)

        def declared(node: Node, reply: Any) -> None:
            self._take(digest, node, epoch.pack())
            self.replication.wrote(name, node, partial(self._declare, text, force=force))

        return Request(name, [command], declared)

    async def bury(self, keys: Sequence[bytes], lifetime: float) -> int:
        """Delete entries, on a full server too, and note that for `lifetime` seconds; returns how many there were.

        Raises StoreFault.
        """
        milliseconds = int(lifetime * 1000)
        results = await self._all(partial(self._bury, milliseconds), keys)
        refused = [key for key, result in zip(keys, results, strict=True) if full(result)]
        removed = [answers(result)[1] for result in results if not full(result)]
        buried = await self._all(partial(self._bury, milliseconds, force=True), refused)
        found = sum(map(number, (*removed, *(answers(result)[0] for result in buried))))
        await self.replication.confirm([*map(self._names.entry, keys)])
        return found

    def _bury(self, lifetime: int, key: bytes, *, force: bool = False) -> Request:
        entry, near, tomb = self._names.entry(key), self._names.near(key), self._names.tomb(key)
        node = self._topology.route(entry)
        token = os.urandom(8)
        epoch = Epoch(token, node.incarnation, node.latest(), DECLARED)
        act = partial(self._buried, key, token, partial(self._bury, lifetime, key, force=force))
        if force:
            return Request(entry, [forced(tomb, epoch.pack(), lifetime, near, entry)], act)
        mark = plainly(tomb, epoch.pack(), lifetime)
        # marked again at the end: where a move of slots makes three steps of this, readers in between hear of the last
        steps = [mark, pack(b"UNLINK", entry), pack(b"UNLINK", near), mark]
        return Request(entry, steps, act, atomic=True)

    def _buried(self, key: bytes, token: bytes, again: Callable[[], Request], node: Node, reply: Any) -> None:
        self._mark(key)
        self.replication.wrote(self._names.entry(key), node, again)
        if len(self._own) >= REMEMBERED:
            self._own.clear()
        self._own[key] = token, self._clock.monotonic()

    def outdates(self, key: bytes, tomb: Epoch | None, node: Node, started: float) -> bool:
        """Whether a deletion forbids an answer whose computation began at `started`."""
        if tomb is None:
            return False
        token, moment = self._own.get(key, (b"", 0.0))
        if tomb.token == token:
            return started < moment
        return tomb.written > started + node.offset - node.margin

    def admits(self, known: Known, node: Node, started: float) -> bool:
        """Whether an answer whose computation began at `started` is newer than the epoch's last invalidation."""
        return known.learned <= started or known.declared < started - node.margin
