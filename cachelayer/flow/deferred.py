"""Work put off until its caller has gone on: it runs a moment later, or as soon as somebody needs its result.

Law 1 holds for all of it: no fault here reaches anybody.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable
from typing import Any

from .attempt import Faults

REST = 0.001
"""Seconds until the work is done: a caller that asks again at once is served, and its reply sent, before it."""
MOST = 128
"""Most pieces of work put off at a time: a caller that never waits gives the loop no chance to do them."""


class Deferred:
    """Work by key, done in order. A caller whose key is in `due` must `settle` first."""

    __slots__ = ("_faults", "_loop", "due")

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.due: dict[int, tuple[Callable[..., object], tuple[Any, ...]]] = {}
        """Checked on every lookup, so it is not hidden behind a method."""
        self._loop: AbstractEventLoop | None = None

    def reset(self) -> None:
        """Forget all work: after a fork it is the parent's."""
        self.due.clear()
        self._loop = None

    def put_off(self, key: int, work: Callable[..., object], *args: Any) -> None:
        """Do `work(*args)` soon after REST seconds, or when somebody settles."""
        due, loop = self.due, get_running_loop()
        if key in due:
            self.settle()
        elif len(due) >= MOST:
            self._settle_one()
        due[key] = work, args
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(REST, self._rested)

    def _rested(self) -> None:
        """Do one piece of work per turn of the loop, so that a caller that comes meanwhile waits for at most one."""
        self._settle_one()
        if self.due:
            get_running_loop().call_soon(self._rested)
        else:
            self._loop = None

    def settle(self) -> None:
        """Do everything that was put off, now. Safe in every thread."""
        while self.due:
            self._settle_one()

    def _settle_one(self) -> None:
        try:
            work, args = self.due.pop(next(iter(self.due)))
        except (KeyError, StopIteration, RuntimeError):  # another thread settles as well
            return
        self._faults.attempt_now("keep", work, *args)
