"""Keeps a loop awake until a reply comes, where that is faster than falling asleep and being woken.

Of a GET over loopback that takes 65 us, falling asleep and waking up take 25.

Who spins as long as sleeping costs, then sleeps, never pays more than twice the least; where replies take longer than
that again and again, nobody spins. Source: Karlin, Li, Manasse, Owicki, "Empirical studies of competitive spinning
for a shared-memory multiprocessor", SOSP 1991.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Final, Protocol

MOST: Final = 100e-6
"""Seconds that a loop without work stays awake for a reply."""
RARELY: Final = 256
"""Replies at most that are slept through before the next one is tried."""


class Coming(Protocol):
    """What is waited for."""

    def done(self) -> bool: ...


class Awake:
    """One connection's; the loop turns on, and does what else there is to do, while a reply is looked out for.

    `now`: seconds, finer than MOST.
    """

    __slots__ = ("_coming", "_loop", "_looking", "_now", "_sleeps", "_slept", "_until")

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], float] = perf_counter) -> None:
        self._loop, self._now = loop, now
        self._coming: Coming | None = None
        self._looking, self._until = False, 0.0
        self._sleeps = self._slept = 0

    def look_out(self, coming: Coming) -> None:
        """Let the loop look for `coming` until it is done; once at least, as even that may be in time."""
        self._coming = coming
        if self._slept < self._sleeps:
            self._slept += 1
            self._until = 0.0
        else:
            self._until = self._now() + MOST
        if not self._looking:
            self._looking = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        coming = self._coming
        if coming is not None and not coming.done():
            if self._now() < self._until:
                self._loop.call_soon(self._look)
                return
            if self._until:
                self._slept, self._sleeps = 0, min(2 * self._sleeps or 1, RARELY)
        elif self._until:
            self._sleeps = 0
        self._coming, self._looking = None, False
