"""Which event loop does something on behalf of all others, and what to do once none does, however its loop ended."""

from __future__ import annotations

import asyncio
import sys
import threading
import weakref
from collections.abc import Callable

REST = 60.0
"""Seconds after which a loop's timer checks whether it is still needed."""


class Attendance:
    """`left()` is called whenever an attendance ends: from `end`; from `begin`, where another loop takes over; or in a
    thread of its own soon after the loop was closed, though none of its tasks was ended before."""

    def __init__(self, left: Callable[[], None]) -> None:
        self._left = left
        self.loop: asyncio.AbstractEventLoop | None = None
        self._current: object = None

    def __bool__(self) -> bool:
        """Whether a loop attends that has not ended and is running now (`run_until_complete` runs it only at times)."""
        return self.loop is not None and self.loop.is_running()

    def begin(self) -> object:
        """The running loop attends from now on; returns what to give `end`."""
        if self.loop is not None:
            self.reset()
        self.loop, self._current = asyncio.get_running_loop(), object()
        resting = _Resting(weakref.ref(self), self._current)
        weakref.finalize(resting, _closed, weakref.ref(self), self._current).atexit = False
        resting.tick()
        return self._current

    def end(self, attendance: object) -> None:
        """This attendance is over; does nothing if another one has begun since."""
        if self.is_current(attendance):
            self.reset()

    def reset(self) -> None:
        """Nobody attends."""
        self.loop = self._current = None
        self._left()

    def is_current(self, attendance: object) -> bool:
        return self._current is attendance


class _Resting:
    """Referenced only by a loop's timers, so that it is collected when they are."""

    def __init__(self, owner: weakref.ref[Attendance], attendance: object) -> None:
        self._owner, self._attendance = owner, attendance

    def tick(self) -> None:
        owner = self._owner()
        if owner is not None and owner.is_current(self._attendance):
            asyncio.get_running_loop().call_later(REST, self.tick)


def _closed(owner: weakref.ref[Attendance], attendance: object) -> None:
    """Runs in a thread, because the garbage collector may close a loop in the middle of anything."""
    there = owner()
    if there is not None and there.is_current(attendance) and not sys.is_finalizing():
        threading.Thread(target=there.end, args=(attendance,), name="cachelayer-end", daemon=True).start()
