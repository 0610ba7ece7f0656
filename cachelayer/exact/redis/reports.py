"""Pairs of requests that are kept apart, for every process: a bounded stream of digests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

from .calls import Request, answers, call
from .feed import LASTS, rows
from .lane import Lane
from .names import Names
from .node import Role
from .pipe import pack

MOST = 16_384
"""About how many pairs the stream keeps, the latest."""
STEP = 1024


class Reports:
    """A `protocols.Reports` on one Redis; all methods raise StoreFault. `lane`: the running loop's, started."""

    def __init__(self, names: Names, lane: Callable[[], Awaitable[Lane]]) -> None:
        self._name, self._lane = names.apart, lane

    async def _write(self, words: list[bytes]) -> None:
        topology = (await self._lane()).topology
        answers((await call(topology, Role.WRITE, [Request(self._name, words)]))[0])

    async def report(self, pairs: Sequence[bytes]) -> None:
        name = self._name
        words = [pack(b"XADD", name, b"MAXLEN", b"~", MOST, b"*", b"p", pair) for pair in pairs]
        words.append(pack(b"PEXPIRE", name, int(1000 * LASTS)))
        await self._write(words)

    async def reported(self, after: bytes, limit: int) -> tuple[Sequence[bytes], bytes, bool]:
        found = await self._rows(after, limit)
        pairs = [fields[1] for _, fields in found if len(fields) == 2]
        return pairs, found[-1][0] if found else after, len(found) < limit

    async def _rows(self, after: bytes, limit: int) -> list[tuple[bytes, list[bytes]]]:
        return await rows((await self._lane()).topology, self._name, after, limit)

    async def unreport(self, beginnings: Collection[bytes] | None) -> None:
        name, after, whole = self._name, b"", beginnings is None
        doomed = [pack(b"UNLINK", name)] if beginnings is None else []
        gone = tuple(beginnings or ())
        while not whole:
            found = await self._rows(after, STEP)
            whole, after = len(found) < STEP, found[-1][0] if found else after
            doomed += [pack(b"XDEL", name, id) for id, fields in found if fields[-1].startswith(gone)]
        if doomed:
            await self._write(doomed)
