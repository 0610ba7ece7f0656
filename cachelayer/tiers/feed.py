"""New findable entries and reports of wrong answers, to and from other processes, through the shared store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..exact.wire.writer import encodes
from ..keep.invalidation import Invalidation
from ..protocols import Feed, Reports
from ..semantic.types import Entry, State
from ..types import Findable, Reason, Record
from .arrivals import Arrivals, Incoming, marks_of, owners_of
from .elsewhere import Indexed, Plain
from .outbox import Outbox
from .shared import SharedTier

PERIOD = 0.2
"""Seconds between two looks at the feed."""
PATIENCE = 5.0
"""Seconds for which a start waits for the feed, and which one write or read may take."""
BATCH = 256
TRIES = 25
"""Looks after which an entry that the store fails to give keeps the others waiting no longer."""
TRANSIENT = (Reason.BUDGET, Reason.FAULT, Reason.OVERLOAD)


class _Place:
    """How far the feed and the reports were read."""

    __slots__ = ("after", "reported", "tries")

    def __init__(self) -> None:
        self.after = self.reported = b""
        self.tries = 0


class FeedFollower(Incoming):
    """Follows the shared store's feed, and publishes to it what was made here."""

    def __init__(self, arrivals: Arrivals, shared: SharedTier, feed: Feed) -> None:
        super().__init__(arrivals)
        self._shared, self._feed = shared, feed
        told = shared.invalidations
        told.lost, told.outdated, told.forgotten = self._begin_again, arrivals.outdated, arrivals.forget
        arrivals.similar.outdated = self.let_go
        self._reports = (
            reports if isinstance(reports := getattr(shared.store, "reports", None), Reports) else None
        )
        self._place = _Place()
        self._following: asyncio.AbstractEventLoop | None = None
        self.faults = arrivals.faults
        self._findable = Outbox("feed", feed.publish, self.faults, PATIENCE)
        self._pairs = (
            None if self._reports is None else Outbox("report", self._reports.report, self.faults, PATIENCE)
        )

    def reset(self) -> None:
        self._following = None

    def _begin_again(self) -> None:
        self._place = _Place()
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

    async def wrote(self, made: Sequence[Indexed], others: Sequence[Plain], asked: float) -> None:
        """Announce the indexed ones to the other processes."""
        items = [item for one in made if (item := self.arrivals.findable(*one)) is not None]
        self._findable.add({item.key: item for item in items})
        await self._publish()

    def let_go(self, left: Sequence[tuple[Entry, str]]) -> None:
        """The decider serves these no more, since answers changed, or too many were wrong."""
        self.arrivals.background.spawn(partial(self._announce_plain, left), owed=True)

    async def _announce_plain(self, left: Sequence[tuple[Entry, str]]) -> None:
        """Announce them as found word for word alone, so that nobody takes them in from now on."""
        for number, (entry, _) in enumerate(left, 1):
            slot = entry.value
            call = self.arrivals.call_of(entry.function, slot)
            if slot.resident and encodes(call.tenant or ""):
                item = self.arrivals.plain(call, slot)
                self._findable.add({item.key: item})
            if number % BATCH == 0:
                await self._publish()
        await self._publish()

    async def _publish(self) -> None:
        if self._shared.breaker.state == "closed":
            await self._findable.tell()

    async def _follow(self) -> None:
        here = self._following
        try:
            while self._following is here:
                self._shared.listen()
                await self._publish()
                if self._pairs is not None:
                    await self._pairs.tell()
                await self.faults.attempt("feed", self._catch_up(), None)
                await asyncio.sleep(PERIOD)
        finally:
            if self._following is here:
                self._following = None

    def _ready(self) -> bool:
        return self.arrivals.similar.state is State.READY and self._shared.invalidations.vouched

    async def _catch_up(self) -> None:
        if self.arrivals.similar.state is State.READY:
            await self._heed_reports()
        whole = False
        while self._ready() and not whole:
            place = self._place
            items, after, whole = await self._feed.published(place.after, BATCH)
            for item in items:
                if not self._ready():
                    return
                wanted = item.partition and not self.arrivals.known(item)  # without one it was let go of
                if wanted and not await self._fetch(item) and place.tries < TRIES:
                    place.tries += 1
                    return
            place.after, place.tries = after, 0

    async def _heed_reports(self) -> None:
        """Take in what was reported anywhere first, so that no reported pair is served from a new entry."""
        place, whole = self._place, self._reports is None
        while not whole and self._reports is not None:
            pairs, place.reported, whole = await self._reports.reported(place.reported, BATCH)
            for pair in pairs:
                self.arrivals.similar.reported.add(pair)

    async def keep_apart(self, pair: bytes) -> None:
        if self._pairs is not None:
            self._pairs.add({pair: pair})
            await self._pairs.tell()

    async def forgotten(self, declared: Invalidation, *, physically: bool) -> int:
        """If `physically`: what waits here and digests of reported pairs go, too. Raises StoreFault if these do not."""
        if not physically:
            return 0
        await self.arrivals.forget(declared)
        self._findable.drop(lambda key, item: declared.covers((), *marks_of(item)))
        if self._reports is not None and self._pairs is not None:
            owners = owners_of(declared)
            self._pairs.drop(lambda pair, _: owners is None or pair.startswith(tuple(owners)))
            gone = await self.faults.attempt("erase", self._reports.unreport(owners), None)
            if isinstance(gone, Reason):
                raise self._shared.invalidations.not_erased()
        return 0

    async def _fetch(self, item: Findable) -> bool:
        """Fetch the answer itself as a lookup would: invalidated, expired or damaged ones are not returned.

        False after a fault that may be over soon.
        """
        epoch = self.arrivals.keeper.epoch
        found = await self.faults.attempt("store", self._shared.store.get(item.key, item.canonical), PATIENCE)
        if isinstance(found, Record):
            await self.arrivals.take(self.arrivals.read(item, found, epoch))
        return found not in TRANSIENT

    def stats(self) -> dict[str, Any]:
        stats = {"following": self._following is not None, "untold": 0, **self.arrivals.stats()}
        for outbox in (self._findable, self._pairs):
            if outbox is not None:
                stats["untold"] += len(outbox)
                stats["dropped"] += outbox.dropped
        return stats
