"""Physical removal, in steps that hold up no one: SCAN, a look at each entry's header, UNLINK.

What lies beside an entry goes with it, and where the server evicted the entry alone, whosever it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .calls import checked, other_type
from .lane import Lane
from .names import Names, digest_of, scope_name, tag_name
from .node import Node
from .pipe import pack
from .topology import redirect
from .wire import DEP, HEADER, digests, head_size, of_other_format

STEP = 500
"""Names a step looks at."""
HEAD = HEADER.size + 32 * DEP
PASSES = 3


class Eraser:
    """One erasure."""

    def __init__(self, names: Names, lane: Lane) -> None:
        self._names, self._lane = names, lane
        self._removed = 0

    async def run(self, tags: Sequence[str], scopes: Sequence[bytes], *, everything: bool) -> int:
        """Invalidate, then go over all nodes, again where slots moved meanwhile; returns how many names were removed.

        Raises StoreFault.
        """
        names = [] if everything else [*map(tag_name, tags), *map(scope_name, scopes)]
        await self._lane.coherence.declare(names)
        wanted = set(map(digest_of, names))
        for _ in range(PASSES):
            moves = self._lane.topology.moves
            for node in self._lane.topology:
                await self._node(node, None if everything else wanted)
            if self._lane.topology.moves == moves:
                break
        return self._removed

    async def _node(self, node: Node, wanted: set[bytes] | None) -> None:
        pattern = self._names.prefix + (b":*" if wanted is None else b":[vn]:*")
        cursor = b"0"
        while True:
            pipe = await node.writer.ready()
            scan = pack(b"SCAN", cursor, b"MATCH", pattern, b"COUNT", STEP)
            cursor, found = checked((await pipe.ask([scan]))[0])
            doomed = found if wanted is None else await self._doomed(node, found, wanted)
            if doomed:
                for reply in await pipe.ask([pack(b"UNLINK", name) for name in doomed]):
                    self._removed += 0 if redirect(reply) else checked(reply)
                if wanted is not None:
                    entries = (name for name in doomed if self._names.entry_beside(name) is None)
                    await pipe.ask([pack(b"UNLINK", self._names.near_of(name)) for name in entries])
            if cursor == b"0":
                return

    async def _doomed(self, node: Node, names: list[bytes], wanted: set[bytes]) -> list[bytes]:
        """Which of `names` to remove: entries under the wanted names, or of another format; and what lies beside none
        any more."""
        beside = {name: entry for name in names if (entry := self._names.entry_beside(name)) is not None}
        entries = [name for name in names if name not in beside]
        pipe = await node.writer.ready()
        there = await pipe.ask([pack(b"EXISTS", entry) for entry in beside.values()])
        left = [name for name, count in zip(beside, map(_seen, there), strict=True) if count == 0]
        return [*left, *await self._matching(node, entries, wanted)]

    async def _matching(self, node: Node, names: list[bytes], wanted: set[bytes]) -> list[bytes]:
        pipe = await node.writer.ready()
        heads = await pipe.ask([pack(b"GETRANGE", name, 0, HEAD - 1) for name in names])
        doomed = []
        for name, head in zip(names, map(_seen, heads), strict=True):
            if isinstance(head, bytes):
                if (size := head_size(head)) > HEAD:  # an entry of many tags
                    head = checked((await pipe.ask([pack(b"GETRANGE", name, 0, size - 1)]))[0])
                if of_other_format(head) or wanted.intersection(digests(head)):
                    doomed.append(name)
        return doomed


def _seen(reply: Any) -> Any:
    """The reply to a look; None for what is elsewhere by now, or nothing of ours. Raises StoreFault."""
    return None if redirect(reply) or other_type(reply) else checked(reply)
