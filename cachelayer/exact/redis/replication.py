"""Invalidations that no replica confirmed: a lost primary takes them along, so its successor is told again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from ...errors import StoreFault
from .calls import Request, call, number
from .node import Node, Role
from .pipe import pack
from .topology import Topology

WAIT = pack(b"WAIT", 1, 40)
"""An invalidation waits so long for a replica, milliseconds."""
LASTS = 60.0
"""Seconds after which a primary will not be found to have been lost at that time."""
MOST = 4096


class Unconfirmed(NamedTuple):
    """Something declared invalid that a lost primary would take along."""

    node: Node
    incarnation: bytes
    """Which run of the server has it."""
    until: float
    again: Callable[[], Request]


class Replication:
    """What one loop declared invalid and no replica confirmed. `now` is monotonic."""

    def __init__(self, topology: Topology, now: Callable[[], float]) -> None:
        self._topology, self._now = topology, now
        self.unconfirmed = 0
        """Times that no replica confirmed anything."""
        self._held: dict[bytes, Unconfirmed] = {}

    def wrote(self, name: bytes, node: Node, again: Callable[[], Request]) -> None:
        """`node` carried out what `again` makes anew; other servers may not have it."""
        self._held.pop(name, None)
        if node.replicas:
            if len(self._held) >= MOST:
                self._held.clear()
            self._held[name] = Unconfirmed(node, node.incarnation, self._now() + LASTS, again)

    async def confirm(self, names: Sequence[bytes]) -> None:
        """Wait a moment, which holds up the connection, for a replica; where none keeps up, not again for a while."""
        held = [(name, self._held[name]) for name in names if name in self._held]
        for node in {one.node for _, one in held}:
            if not await self._known(node):
                self.unconfirmed += 1
                continue
            for name, one in held:
                if one.node is node and self._held.get(name) is one:
                    del self._held[name]

    @staticmethod
    async def _known(node: Node) -> bool:
        """Whether a replica has all that the node was told; an error where the node becomes one itself meanwhile."""
        replicas = 0
        if node.confirms:
            with suppress(StoreFault):
                replicas = number(await (await node.control.ready()).send(WAIT))
            node.confirms = replicas > 0
        return replicas > 0

    async def settle(self) -> None:
        """Declare anew what was told to a server that is not the primary any more. Raises StoreFault."""
        now, lost = self._now(), list[tuple[bytes, Request]]()
        for name, one in tuple(self._held.items()):
            if one.until < now:
                del self._held[name]
                continue
            node = self._topology.route(name)
            if node.coherent and (node is not one.node or node.incarnation != one.incarnation):
                lost.append((name, one.again()))
        await call(self._topology, Role.CONTROL, [request for _, request in lost])
        await self.confirm([name for name, _ in lost])
