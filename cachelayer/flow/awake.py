"""Keeps a loop awake until a reply comes, where that is faster than falling asleep and being woken.

Of the 65 us of a GET over loopback, falling asleep and waking up take 25.

Spinning for as long as sleeping costs, and then sleeping, never costs more than twice the optimum; if replies keep
taking longer than that, the loop does not spin. Source: Karlin, Li, Manasse, Owicki, "Empirical studies of competitive
spinning for a shared-memory multiprocessor", SOSP 1991.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import Final, Protocol

MOST: Final = 100e-6
"""Seconds that a loop without work stays awake for a reply."""
RARELY: Final = 256
"""Most replies that are slept through before spinning is tried again."""


class Coming(Protocol):
    """What is waited for."""

    def done(self) -> bool: ...


class Awake:
    """For one connection: the loop keeps turning, and does its other work, while it looks out for a reply.

    `now`: seconds, finer than MOST.
    """

    __slots__ = ("_coming", "_loop", "_looking", "_now", "_sleeps", "_slept", "_until")

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], float] = perf_counter) -> None:
        self._loop, self._now = loop, now
        self._coming: Coming | None = None
        self._looking, self._until = False, 0.0
        self._sleeps = self._slept = 0

    def look_out(self, coming: Coming) -> None:
        """Keep the loop looking for `coming` until it is done; at least once, since even one look may find it."""
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
