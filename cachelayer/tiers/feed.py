"""New findable entries and reports of wrong answers, to and from other processes, through the shared store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ..keep.invalidation import Invalidation
from ..protocols import Feed, Reports
from ..semantic.asks import State
from ..types import Findable, Record
from .arrivals import Arrival, Arrivals, Elsewhere, Indexed, Plain, owners_of
from .shared import SharedTier

PERIOD = 0.2
"""Seconds between two looks at the feed."""
PATIENCE = 5.0
"""Seconds for which a start waits for the feed, and which one look at it may take."""
BATCH = 256


class FeedFollower(Elsewhere):
    """Follows the shared store's feed, and publishes to it what was made here."""

    def __init__(self, arrivals: Arrivals, shared: SharedTier, feed: Feed) -> None:
        super().__init__(arrivals)
        self._shared, self._feed = shared, feed
        shared.invalidations.lost, shared.invalidations.outdated = self._begin_again, arrivals.outdated
        self._reports = (
            reports if isinstance(reports := getattr(shared.store, "reports", None), Reports) else None
        )
        self._after = self._reported = b""
        self._following: asyncio.AbstractEventLoop | None = None
        self.faults = arrivals.faults

    def reset(self) -> None:
        self._following = None

    def _begin_again(self) -> None:
        self._after = b""
        self.arrivals.clear()

    def listen(self, function: str = "") -> bool:
        begun = super().listen(function)
        loop = self._following
        if loop is None or not loop.is_running():  # it has ended, or is not running now
            self._following = asyncio.get_running_loop()
            self.arrivals.background.spawn_always(self._follow, "feed")
        return begun

    async def start(self) -> None:
        """Take in what is there, for as long as a start may wait; the rest follows later."""
        await self.faults.attempt("feed", self._catch_up(), PATIENCE)
        self.listen()

    async def wrote(self, made: Sequence[Indexed], others: Sequence[Plain]) -> None:
        """Announce the indexed ones to the other processes."""
        items = [item for one in made if (item := self.arrivals.findable(*one)) is not None]
        if items and self._shared.breaker.state == "closed":
            await self.faults.attempt("feed", self._feed.publish(items), PATIENCE)

    async def _follow(self) -> None:
        here = self._following
        try:
            while self._following is here:
                await self.faults.attempt("feed", self._catch_up(), None)
                await asyncio.sleep(PERIOD)
        finally:
            if self._following is here:
                self._following = None

    async def _catch_up(self) -> None:
        if self.arrivals.similar.state is not State.READY:
            return
        await self._heed_reports()
        whole = False
        while not whole:
            before = self._after
            items, after, whole = await self._feed.published(before, BATCH)
            for item in items:
                if not self.arrivals.known(item):
                    await self._fetch(item)
            if self._after == before:  # else it was told to begin again
                self._after = after

    async def _heed_reports(self) -> None:
        """Take in what was reported anywhere first, so that no reported pair is served from a new entry."""
        whole = self._reports is None
        while not whole and self._reports is not None:
            pairs, self._reported, whole = await self._reports.reported(self._reported, BATCH)
            for pair in pairs:
                self.arrivals.similar.apart.add(pair)

    async def keep_apart(self, pair: bytes) -> None:
        if self._reports is not None:
            await self.faults.attempt("report", self._reports.report([pair]), PATIENCE)

    async def forgotten(self, declared: Invalidation, *, physically: bool) -> int:
        """Digests of reported pairs go, too."""
        if physically and self._reports is not None:
            owners = owners_of(declared)
            await self.faults.attempt("erase", self._reports.unreport(owners), None)
        return 0

    async def _fetch(self, item: Findable) -> None:
        """Fetch the answer itself as a lookup would: invalidated, expired or damaged ones are not returned."""
        epoch = self.arrivals.keeper.epoch
        found = await self.faults.attempt("store", self._shared.store.get(item.key, item.canonical), PATIENCE)
        if isinstance(found, Record):
            await self.arrivals.take(Arrival(item, found, epoch))

    def stats(self) -> dict[str, Any]:
        return {"following": self._following is not None, **self.arrivals.stats()}
