"""What one event loop owns of the store: connections, knowledge of epochs, leases. No two loops share any of it."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ...errors import StoreFault
from ...flow.background import Background
from ...flow.deadlines import Deadlines
from ...flow.waiting import Ticker, within
from ...protocols import Clock
from ...types import Reason
from .calls import call
from .coherence import Coherence
from .lease import Leases
from .link import Dialer, Link
from .names import Names
from .node import ROLE, Node, Role, Turn
from .pipe import pack
from .topology import Topology, hosts_in, parse_nodes
from .url import Address
from .waiters import NONSENSE, Reads, mistaken

T = TypeVar("T")
SURVEY, TOUCH = 1.0, 60.0
"""Seconds between two looks at the cluster, and at the epochs in use."""
CLUSTER = pack(b"CLUSTER", b"NODES"), pack(b"CLUSTER", b"SLOTS")


class Asked(NamedTuple):
    """A question that is under way."""

    reply: asyncio.Future[Any]
    """To come within the budget."""
    node: Node
    lane: Lane
    sequence: int
    """What was known of changes when it left."""


class Lane:
    """Made on its loop; `start` connects. `here` gives the running loop's."""

    def __init__(
        self, dialer: Dialer, names: Names, clock: Clock, here: Callable[[], Awaitable[Lane]], *,
        trust_reloaded: bool,
    ) -> None:  # fmt: skip
        self.loop = asyncio.get_running_loop()
        self._dialer, self._names = dialer, names
        self._target = dialer.target
        self.tasks = Background(limit=100_000)
        self.topology = Topology(
            partial(self._node, names, clock),
            self._target.addresses[0] if self._target.addresses else None,
            cluster=self._target.cluster,
            silence=self._target.silence,
        )
        self.cluster, self.only = self._target.cluster, self.topology.only
        self.coherence = Coherence(names, clock, self.topology, trust_reloaded=trust_reloaded)
        self.leases = Leases(names, self.topology, self.tasks, partial(_leases, here))
        self._deadlines: dict[float, Deadlines] = {}
        self._reads: dict[float, Reads] = {}
        self._ticker: Ticker | None = None
        self._beats = 0
        self._surveying = False
        self.started = False

    def _node(self, names: Names, clock: Clock, address: Address | None) -> Node:
        return Node(
            self._dialer, address, names, self.tasks, clock,
            pushed=self._pushed, turned=self._turned, leases=self._leases_changed,
        )  # fmt: skip

    def _pushed(self, names: list[bytes] | None) -> None:
        self.coherence.pushed(names)

    def _turned(self, node: Node, turn: Turn) -> None:
        if turn is not Turn.HEARD:
            self.coherence.missed(everything=turn is not Turn.SILENT)
        self.coherence.suspend(not self.topology.coherent)
        if turn is Turn.DOWN:
            self.topology.stale = self.cluster
            self.leases.changed(None)  # who waits is not to wait for a server that hangs
        elif turn is Turn.UP:
            self.tasks.spawn(self._redeclare)  # before anything is compared with what this server knows
            self.leases.settle()

    def _leases_changed(self, names: list[bytes] | None) -> None:
        self.leases.changed(names)

    def overtaken(self, names: list[bytes]) -> None:
        """Drop copies of entries than which the store has newer ones. Safe in every thread."""
        with suppress(RuntimeError):  # closed
            self.loop.call_soon_threadsafe(self._pushed, names)

    def begin(self) -> None:
        """Connect in the background, and keep trying."""
        if self._ticker is None:
            self._ticker = contextvars.Context().run(Ticker, self._target.beat, self._beat)
            if self.only is not None:
                self.only.open()

    async def start(self, *, patient: bool = True) -> None:
        """Connect to the server, or to all primaries of the cluster. Raises StoreFault; then it goes on trying.

        `patient`: a second attempt is waited for where the first failed before.
        """
        self.begin()
        if self.cluster and not self.topology.nodes:
            await self._survey()
        for node in self.topology:
            await node.ready(patient=patient)
        self.started = True

    def fetch(self, key: bytes, word: bytes, budget: float | None) -> Asked:
        """Ask for the entry of `key`, whose name is `word`. Raises StoreFault, as the reply may."""
        kind = None if budget is None else self._reads.get(budget)
        if kind is None and budget is not None:
            kind = self._reads[budget] = Reads(self.deadlines(budget))
        node = self.only or self.topology.route(self._names.entry(key))
        reply = (node.reader.pipe or node.reader.need()).get(word, kind)
        return Asked(reply, node, self, self.coherence.sequence)

    async def standing(self, key: bytes, budget: float | None) -> None:
        """Wait for the connection that reads `key`, where it is being made at this moment. Raises StoreFault."""
        link = (self.only or self.topology.route(self._names.entry(key))).reader
        if link.pipe is None:
            await bounded(budget, link.ready())

    def deadlines(self, budget: float) -> Deadlines:
        """What ends reads that take longer than `budget` seconds."""
        found = self._deadlines.get(budget)
        if found is None:
            found = self._deadlines[budget] = contextvars.Context().run(Deadlines, budget, over_budget)
        return found

    async def sync(self) -> None:
        """Return when every invalidation that was made before the call is known here. Raises StoreFault."""
        for node in self.topology:
            await (await node.control.ready()).ask([pack(b"PING")])

    async def probe(self, node: Node) -> None:
        """A reply was not what was asked for: make sure that replies still belong to their commands."""
        pipe, word = node.reader.need(), os.urandom(8)
        if await pipe.send(pack(b"ECHO", word)) != word:
            pipe.abort(StoreFault("Redis answers one question with the reply to another"))

    async def aclose(self) -> None:
        """Close every connection of this loop."""
        if self._ticker is not None:
            self._ticker.stop()
        self.leases.close()
        self.topology.close()
        await self.tasks.cancel()

    # what happens by itself ---------------------------------------------------------------------------------

    def _beat(self) -> None:
        self._beats += 1
        for node in self.topology:
            node.beat()
        survey, touch = round(SURVEY / self._target.beat), round(TOUCH / self._target.beat)
        hurry = self.topology.stale and self._beats % 4 == 0
        if (hurry or self._beats % survey == 0) and not self._surveying:
            self._surveying = self.tasks.spawn(self._look)
        if self._beats % touch == 0:
            self.tasks.spawn(self._touch)

    async def _look(self) -> None:
        self.leases.settle()
        try:
            await self._roles()
            if self.cluster:
                await self._survey()
            await self.coherence.replication.settle()
        except StoreFault:
            pass  # the next look is soon
        finally:
            self._surveying = False

    async def _redeclare(self) -> None:
        with suppress(StoreFault):  # the next look is soon
            await self.coherence.replication.settle()

    async def _roles(self) -> None:
        for node in self.topology:
            if node.control.pipe is not None:
                node.take_role((await node.control.pipe.ask([ROLE]))[0])

    async def _touch(self) -> None:
        touches = self.coherence.touches()
        for at in range(0, len(touches), 500):
            await call(self.topology, Role.CONTROL, touches[at : at + 500], wait=False)

    async def _survey(self) -> None:
        """Ask the cluster who owns what: nodes that are connected first, else whoever was ever named."""
        fault = StoreFault("no node of the cluster can be reached")
        for node in self.topology:
            if node.control.pipe is not None and node.address is not None:
                reply, slots = await node.control.pipe.ask(CLUSTER)
                if not isinstance(reply, Exception):
                    self._take(reply, slots, node.address)
                    return
        for address in dict.fromkeys((*self.topology.replicas, *self._target.addresses)):
            try:
                await self._probe(address)
            except StoreFault as broken:
                fault = broken
            else:
                return
        raise fault

    async def _probe(self, address: Address) -> None:
        link = Link(self._dialer, address, self.tasks)
        try:
            reply, slots = await (await link.ready()).ask(CLUSTER)
        finally:
            link.close()
        if isinstance(reply, Exception):
            raise StoreFault(f"Redis knows of no cluster: {reply}")
        self._take(reply, slots, address)

    def _take(self, reply: object, slots: object, asked: Address) -> None:
        try:
            owners = parse_nodes(_text(reply), asked, hosts_in(slots, asked))
        except NONSENSE as wrong:
            raise mistaken(wrong) from wrong
        self.topology.take(owners)


async def _leases(here: Callable[[], Awaitable[Lane]]) -> Leases:
    return (await here()).leases


async def bounded(budget: float | None, work: Awaitable[T]) -> T:
    """The result of `work`; StoreFault with reason BUDGET after `budget` seconds."""
    if budget is None:
        return await work
    try:
        return await within(budget, work)
    except TimeoutError:
        raise over_budget() from None


def over_budget() -> StoreFault:
    return StoreFault("Redis took longer than the budget", Reason.BUDGET)


def _text(reply: object) -> str:
    return reply.decode() if isinstance(reply, bytes) else str(reply)
