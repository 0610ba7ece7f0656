"""Leases: one process computes, the others wait until it is done or dead.

SET NX with an expiry, an owner's token, and compare-and-act on renewal and release
(https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/, single instance). Whoever waits is told by
the server: the read connection tracks the lease (OPTIN), and its expiry bounds the wait for a leader that died.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from ...errors import StoreFault
from ...flow.background import Background
from ...flow.loops import wake
from ...flow.waiting import Ticker, settled, within
from .calls import Request, answers, call, number
from .names import Names
from .node import Node, Role
from .pipe import pack
from .topology import Topology

RENEW = (
    b"if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) end return 0"
)
RELEASE = b"if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('unlink',KEYS[1]) end return 0"
CACHING = pack(b"CLIENT", b"CACHING", b"YES")
OWED = 1024
"""Leases that are to be given back, or were, at most; of more the oldest expire by themselves."""


class RedisLease:
    """The right to compute for one key, renewed every third of `ttl` seconds until released."""

    __slots__ = ("_leases", "_renewing", "_ticker", "_until", "fence", "key", "owner", "ttl")

    def __init__(
        self, leases: Leases, key: bytes, owner: bytes, fence: int, ttl: float, until: float
    ) -> None:
        self._leases, self.key, self.owner, self.ttl, self._until = leases, key, owner, ttl, until
        self.fence = fence
        """Grows with every holder: an entry by a later holder is never overwritten by an earlier one."""
        self._renewing = False
        self._ticker = Ticker(ttl / 3, self._tick)

    @property
    def held(self) -> bool:
        """Whether nobody else can hold it now."""
        return self._leases.now() < self._until

    def stop(self) -> None:
        """Stop renewing."""
        self._ticker.stop()
        self._until = float("-inf")

    async def release(self) -> None:
        """Give the lease up, and wake those who wait for it. Raises StoreFault; it is then given up once the server is
        back."""
        self._leases.retire(self)
        await (await self._leases.here()).let_go(self)

    def _tick(self) -> None:
        if not self.held:
            self._ticker.stop()
        elif not self._renewing:
            self._renewing = self._leases.spawn(self)

    async def renew(self) -> None:
        """Extend the lease by `ttl` seconds, or find out that it is lost."""
        until = self._leases.now() + self.ttl
        try:
            kept = await self._leases.keep(self)
            if self._until > float("-inf"):  # not released meanwhile
                self._until = until if kept else float("-inf")
        except StoreFault:
            pass  # it may still be ours until it expires; the next tick tries again
        finally:
            self._renewing = False


class Leases:
    """All leases of one loop: those held, and those waited for. `here` gives those of the running loop."""

    def __init__(
        self, names: Names, topology: Topology, tasks: Background, here: Callable[[], Awaitable[Leases]]
    ) -> None:
        self._names, self._topology, self._tasks, self.here = names, topology, tasks, here
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self._waiting: dict[bytes, set[asyncio.Future[None]]] = {}
        self._held: set[RedisLease] = set()
        self._owed: dict[bytes, tuple[bytes, float]] = {}
        """By owner, the names of leases that nobody wants, and when they expire: they may be there, or be granted yet,
        by a server that reads only now what it was sent before the connection broke."""
        self._given: dict[bytes, tuple[bytes, float, Node, bytes]] = {}
        """The same of those given back to a server with replicas, and which run of it: one that is promoted may have
        missed that."""

    async def acquire(self, key: bytes, ttl: float) -> RedisLease | None:
        """The lease, or None if another holds it. Raises StoreFault."""
        name, owner, since = self._names.lease(key), os.urandom(16), self.now()
        take = pack(b"SET", name, owner, b"NX", b"PX", int(ttl * 1000))
        request = Request(name, [take, pack(b"TIME")], atomic=True)
        try:
            taken, time = answers((await call(self._topology, Role.CONTROL, [request]))[0])
        except (asyncio.CancelledError, StoreFault) as fault:  # it may have been granted
            self._owe(owner, name, since + ttl)
            if not isinstance(fault, StoreFault):
                self._tasks.spawn(partial(self._withdraw, owner))
            raise
        if taken is None:
            return None
        lease = RedisLease(self, key, owner, int(time[0]) * 1_000_000 + int(time[1]), ttl, since + ttl)
        self._held.add(lease)
        return lease

    def spawn(self, lease: RedisLease) -> bool:
        return self._tasks.spawn(lease.renew)

    async def keep(self, lease: RedisLease) -> bool:
        """Whether the lease could be renewed."""
        lifetime = b"%d" % int(lease.ttl * 1000)
        return bool(await self._compare(self._names.lease(lease.key), RENEW, lease.owner, lifetime))

    def retire(self, lease: RedisLease) -> None:
        """Renew it no more; from whatever loop, for an answer may be written by another than the one that asked."""
        self._held.discard(lease)
        if self._loop is asyncio.get_running_loop():
            lease.stop()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lease.stop)

    async def let_go(self, lease: RedisLease) -> None:
        """Delete it where it is still there. Raises StoreFault; then it is done once the server is back."""
        self._owe(lease.owner, self._names.lease(lease.key), self.now() + lease.ttl)
        await self._give_back(lease.owner)

    def _owe(self, owner: bytes, name: bytes, until: float) -> None:
        _make_room(self._owed)
        self._owed[owner] = name, until

    async def _give_back(self, owner: bytes) -> None:
        name, until = self._owed.get(owner, (b"", 0.0))
        if self.now() < until:
            node = self._topology.route(name)
            run = node.incarnation
            await self._release(name, owner)
            if node.replicas:
                _make_room(self._given)
                self._given[owner] = name, until, node, run
        self._owed.pop(owner, None)

    async def _withdraw(self, owner: bytes) -> None:
        with suppress(StoreFault):
            await self._give_back(owner)

    def settle(self) -> None:
        """Give back what could not be: a connection stands again, or a server may take writes again; and once more what
        was given back to a server whose place another took."""
        for owner, (name, until, given, run) in tuple(self._given.items()):
            with suppress(StoreFault):
                node = self._topology.route(name)
                if node.coherent and (node is not given or node.incarnation != run):
                    del self._given[owner]
                    self._owe(owner, name, until)
        for owner in tuple(self._owed):
            self._tasks.spawn(partial(self._withdraw, owner))

    async def _release(self, name: bytes, owner: bytes) -> None:
        try:
            await self._compare(name, RELEASE, owner)
        except StoreFault:
            # scripts may be forbidden; between these two steps it may change hands: one call more
            if await self._ask(name, pack(b"GET", name)) == owner:
                await self._ask(name, pack(b"UNLINK", name))

    async def _compare(self, name: bytes, script: bytes, *words: bytes) -> int:
        return number(await self._ask(name, pack(b"EVAL", script, 1, name, *words)))

    async def _ask(self, name: bytes, command: bytes) -> Any:
        return answers((await call(self._topology, Role.CONTROL, [Request(name, [command])]))[0])[0]

    async def wait(self, key: bytes, timeout: float) -> None:
        """Return when the lease on `key` is free, or after `timeout` seconds. Raises StoreFault."""
        with suppress(TimeoutError):
            await within(timeout, self._free(key))

    async def _free(self, key: bytes) -> None:
        name = self._names.lease(key)
        request = Request(name, [CACHING, pack(b"GET", name), pack(b"PTTL", name)])
        while True:
            woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(key, set()).add(woken)
            try:
                self._topology.route(name).control.need()
                _, owner, left = answers((await call(self._topology, Role.READ, [request], wait=False))[0])
                if owner is None:
                    return
                await settled(woken, max(left, 0) / 1000 + 0.002)
            finally:
                self._forget(key, woken)

    def changed(self, names: list[bytes] | None) -> None:
        """Wake those who wait for leases that changed; None: all of them."""
        if names is None:
            keys = list(self._waiting)
        else:
            keys = [key for name in names if (key := self._names.leased(name)) is not None]
        for key in keys:
            for woken in self._waiting.get(key, ()):
                wake(woken)

    def close(self) -> None:
        """Renew no more; what is held expires by itself."""
        for lease in self._held:
            lease.stop()
        self._held.clear()
        self.changed(None)

    def _forget(self, key: bytes, woken: asyncio.Future[None]) -> None:
        waiting = self._waiting[key]
        waiting.discard(woken)
        if not waiting:
            del self._waiting[key]


def _make_room(leases: dict[bytes, Any]) -> None:
    """Drop the oldest, so that one more has room."""
    while len(leases) >= OWED:
        del leases[next(iter(leases))]
