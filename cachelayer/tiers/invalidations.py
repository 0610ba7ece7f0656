"""Invalidations between processes: this one's are written to the shared store, and those of others are read from it.

What could not be written is owed, and written as soon as possible. Until then nothing is read from the store, because
an answer that was invalidated here could come back from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ..errors import StoreFault
from ..flow.attempt import Faults
from ..flow.attendance import Attendance
from ..flow.background import Background
from ..flow.breaker import Breaker
from ..flow.loops import needed_loop
from ..keep.call import Call
from ..keep.invalidation import Invalidation
from ..keep.keeper import Keeper
from ..keep.parts import BUILT, built_on
from ..policy import NOT_TIGHTENED
from ..protocols import Clock, Store
from ..types import Reason
from .implied import implied_by, scope_of

TELL_BUDGET = 5.0
"""Seconds that one write to the store may take."""
RETRY = 1.0
"""Seconds between two attempts to write what is owed."""
MOST = 8192
"""Tags and keys that may be owed; beyond that, everything is invalidated."""


class Invalidations:
    """The invalidations of one store, written and heard."""

    def __init__(
        self, store: Store, breaker: Breaker, *, clock: Clock, keeper: Keeper, faults: Faults, background: Background
    ) -> None:  # fmt: skip
        self._store, self._breaker, self._clock = store, breaker, clock
        self._keeper, self._faults, self._background = keeper, faults, background
        self._checks: bool = getattr(store, "checks", False)
        self.listening = Attendance(self._unheard)
        self.lost: Callable[[], None] = lambda: None
        """Called when memory was emptied because news may have been missed."""
        self.outdated: Callable[[bytes], None] = lambda key: None
        """Called with a key under which something was deleted or replaced."""
        self.forgotten: Callable[[Invalidation], Awaitable[None]] | None = None
        """Called with whose answers were declared invalid by others: they may have been erased."""
        self.replaced: dict[int, int] = {}
        """Digests under which the store may hold what was replaced here, since it was not told yet; by which call."""
        self._owed: dict[str | bytes, int] = {}
        """Tags and keys that the store does not know of yet, each with the `_turn` in which it was last declared."""
        self._turn = 0
        self._next = 0.0

    # telling -----------------------------------------------------------------------------------------------------

    async def invalidate(self, tags: Sequence[str]) -> None:
        """Declare invalid for all processes."""
        if not await self._tell_store(tags):
            self._owe(tags, ())

    async def forget(self, digest: int) -> bool:
        """Delete one entry for all processes, and what was built on it; returns whether there was one."""
        keys, built = [digest.to_bytes(16, "big")], built_on(digest)
        deleted = await self._faults.attempt("invalidate", self._store.delete(keys), TELL_BUDGET)
        self._keeper.drop_digest(digest)  # what was read from the store before it was told
        if isinstance(deleted, Reason):
            self._owe((), keys)
        self.replaced.pop(digest, None)
        await self.invalidate(sorted(built))
        await self._keeper.forget(tags=built)
        return deleted == 1

    def replace(self, call: Call) -> None:
        """A newer answer than the store may hold was asked for, and made: read none of it until `superseded`."""
        if call.tightening is not NOT_TIGHTENED:
            self.replaced[call.digest] = id(call)

    def unwritten(self, call: Call) -> None:
        """The newer answer will not be written: delete the older one."""
        if self.replaced.get(call.digest) == id(call):
            self._background.spawn(partial(self.superseded, (call,), set()), owed=True)

    async def superseded(self, calls: Iterable[Call], stored: set[bytes]) -> None:
        """The store has the answers of these calls under the keys in `stored`; what it holds under the others goes."""
        done = [call for call in calls if self.replaced.get(call.digest) == id(call)]
        keys = [key for key in (call.digest.to_bytes(16, "big") for call in done) if key not in stored]
        if not await self._tell_store((), keys):
            self._owe((), keys)
        for call in done:
            if self.replaced.get(call.digest) == id(call):
                del self.replaced[call.digest]

    async def erase(self, tags: Sequence[str]) -> None:
        """Declare invalid, then remove physically, in steps. Raises StoreFault if that failed."""
        await self.invalidate(tags)
        erase = getattr(self._store, "erase", None)
        if erase is not None and isinstance(
            await self._faults.attempt("erase", erase(tags=tags), None), Reason
        ):
            raise self.not_erased()

    def not_erased(self) -> StoreFault:
        remedy = "all of it left memory; see the log, and call erase again once the store answers"
        return StoreFault(f"not erased from the store {self._store.name}: {remedy}")

    async def _tell_store(self, tags: Sequence[str], keys: Sequence[bytes] = ()) -> bool:
        """What was built on it last: others might build that anew, from what they hold until they hear of the rest."""
        first = [tag for tag in tags if not tag.startswith(BUILT)]
        done = not keys or await self._took(self._store.delete(keys))
        done = (not first or await self._took(self._store.invalidate(tags=first))) and done
        built = [tag for tag in tags if tag.startswith(BUILT)] if done else []
        return done and (not built or await self._took(self._store.invalidate(tags=built)))

    async def _took(self, telling: Awaitable[object]) -> bool:
        return not isinstance(await self._faults.attempt("invalidate", telling, TELL_BUDGET), Reason)

    def _owe(self, tags: Sequence[str], keys: Sequence[bytes]) -> None:
        self._turn += 1
        self._owed.update(dict.fromkeys((*tags, *keys), self._turn))
        if self.owed > MOST:
            self._owed = dict.fromkeys(implied_by({}), self._turn)
        self._breaker.hold()
        self._background.spawn_always(self._settle_all, "owed")

    async def _settle_all(self) -> None:
        """Try again and again, since those who only invalidate look nothing up."""
        while self.owed:
            await asyncio.sleep(RETRY)
            self.settle()

    @property
    def owed(self) -> int:
        """How many declarations the store does not know yet."""
        return len(self._owed)

    @property
    def vouched(self) -> bool:
        """Whether what the store holds may be kept: what is declared invalid is known there, and heard here."""
        return not self._owed and bool(self.listening)

    def settle(self, *, now: bool = False) -> None:
        """Write what is owed, on the running loop, if it is time to try again."""
        if self.owed and (now or self._clock.monotonic() >= self._next):
            self._next = self._clock.monotonic() + RETRY
            self._background.spawn(self._pay, owed=True)

    async def _pay(self) -> None:
        paid = dict(self._owed)
        keys = [one for one in paid if isinstance(one, bytes)]
        tags = {one for one in paid if isinstance(one, str)}
        for key in keys:  # what was built meanwhile on what others still held
            tags |= built_on(int.from_bytes(key, "big"))
        if await self._tell_store([*tags], keys):
            self._owed = {one: turn for one, turn in self._owed.items() if paid.get(one) != turn}
            if not self.owed:
                self._breaker.release()

    # hearing -----------------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Hear, on the running loop, what other processes invalidate, unless some loop already does."""
        if not self.listening:
            needed_loop()
            self._background.spawn_always(partial(self._hear, self.listening.begin()), "changes")

    def _unheard(self) -> None:
        """Nobody listens any more: hits ask no store, so memory could serve what is invalidated elsewhere. Empty it."""
        self._keeper.forget_all(unheard=self._checks)
        self.lost()

    async def _hear(self, attendance: object) -> None:
        try:
            await self._faults.attempt("changes", self._apply_all(attendance), None)
        finally:
            self.listening.end(attendance)

    async def _apply_all(self, attendance: object) -> None:
        async with self._store.changes() as changes:
            async for change in changes:
                if not self.listening.is_current(attendance):  # another loop took over
                    return
                await self._apply(change)

    async def _apply(self, change: Any) -> None:
        if change.everything:
            await self._keeper.forget(everything=True, unheard=self._checks)
            self.lost()
            if getattr(self._store, "coherent", False):  # the connection that broke is back
                self._breaker.hurry()
                self.settle(now=True)
        for key in getattr(change, "replaced", ()):
            self._keeper.let_go(int.from_bytes(key, "big"))
            self.outdated(key)
        await self._forget(change.tags, change.keys, change.scopes)

    async def _forget(self, tags: Sequence[str], keys: Sequence[bytes], scopes: Sequence[bytes] = ()) -> None:
        for key in keys:
            self._keeper.drop_digest(int.from_bytes(key, "big"))
            self.outdated(key)
        if tags or scopes:
            own = frozenset(tag for tag in tags if not tag.startswith("\0"))
            wanted = [scope for tag in tags if (scope := scope_of(tag)) is not None]
            what: Any = {"tags": own, "scopes": scopes, "wanted": wanted}
            await self._keeper.forget(**what)
            if wanted and self.forgotten is not None:
                await self.forgotten(self._keeper.declared(**what))
