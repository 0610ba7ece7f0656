"""Prefix single flight: a burst with a new shared prefix computes it once.

Before TensorRT-LLM 1.3 two requests with the same new prefix that arrive together both compute it, because
blocks are shared only once they are filled (in older releases only once the request has finished)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from .blocks import PrefixIndex


class PrefixFlight:
    """Who computes which blocks of one replica right now.

    A request whose next missing block is being computed by another waits for that one's first token, where
    at least `min_blocks` are to be had by waiting, and no longer than `max_hold` seconds. When the leader
    fails, the next sibling leads. Bounded by the requests in flight and by the index."""

    def __init__(self, index: PrefixIndex, *, min_blocks: int = 8, max_hold: float = 2.0) -> None:
        self._index, self._min_blocks, self._max_hold = index, min_blocks, max_hold
        self._leaders: dict[int, Lead] = {}
        self.held = 0
        """Requests that waited, ever."""

    def anew(self) -> PrefixFlight:
        """The same for a replica that restarted: nothing is computed there."""
        flight = PrefixFlight(
            PrefixIndex(self._index.capacity, self._index.ttl),
            min_blocks=self._min_blocks,
            max_hold=self._max_hold,
        )
        flight.held = self.held
        return flight

    async def enter(self, blocks: Sequence[int], deadline: float | None = None) -> Lead:
        """Wait where it pays, then lead what is missing. The caller must call `warm` or `close` on the
        result."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._max_hold
        until = until if deadline is None else min(until, deadline)
        waited = False
        while True:
            now = loop.time()
            missing = blocks[self._index.matched(blocks, now) :]
            leader = self._leaders.get(missing[0]) if missing else None
            if leader is None or leader.shares(missing) < self._min_blocks or now >= until:
                break
            if not waited:
                waited, self.held = True, self.held + 1
            await asyncio.wait([leader.done], timeout=until - now)
        lead = Lead(self, [block for block in missing if block not in self._leaders], blocks)
        for block in lead.blocks:
            self._leaders[block] = lead
        return lead

    def _release(self, lead: Lead, filled: bool) -> None:
        for block in lead.blocks:
            del self._leaders[block]
        if filled:
            self._index.add(lead.path, asyncio.get_running_loop().time())
        lead.done.set_result(None)


class Lead:
    """The blocks that one request computes. Siblings wait for `done`."""

    __slots__ = ("_flight", "blocks", "done", "path")

    def __init__(self, flight: PrefixFlight, blocks: Sequence[int], path: Sequence[int]) -> None:
        self._flight, self.blocks, self.path = flight, frozenset(blocks), path
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def shares(self, missing: Sequence[int]) -> int:
        """How many of the leading missing blocks this request is computing."""
        return next((i for i, block in enumerate(missing) if block not in self.blocks), len(missing))

    def warm(self) -> None:
        """The first token came: the prefix is in the cache."""
        if not self.done.done():
            self._flight._release(self, True)

    def close(self) -> None:
        """The request is over; without a first token its blocks were not filled."""
        if not self.done.done():
            self._flight._release(self, False)
