"""Work put off until its caller has gone on: it runs a moment later, or before whoever asks for what it does.

Law 1 holds for all of it: no fault here reaches anybody.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable
from typing import Any

from .attempt import Faults

REST = 0.001
"""Seconds for which work rests: who asks again as soon as he has his answer is served, and has his reply, before it."""
MOST = 128
"""Works put off at a time: a caller that never waits gives the loop no turn."""


class Behind:
    """Works by key, done in their order. Whoever finds his own among those `due` settles all."""

    __slots__ = ("_guard", "_loop", "due")

    def __init__(self, faults: Faults) -> None:
        self._guard = faults.guard("keep")
        self.due: dict[int, tuple[Callable[..., object], tuple[Any, ...]]] = {}
        """Looked into on every lookup, hence no method."""
        self._loop: AbstractEventLoop | None = None

    def reset(self) -> None:
        """Forget all: after a fork they are the parent's."""
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
        """One work a turn of the loop: whoever comes meanwhile waits for one at most."""
        self._settle_one()
        if self.due:
            get_running_loop().call_soon(self._rested)
        else:
            self._loop = None

    def settle(self) -> None:
        """Do all that was put off, now. Safe in every thread."""
        while self.due:
            self._settle_one()

    def _settle_one(self) -> None:
        try:
            work, args = self.due.pop(next(iter(self.due)))
        except (KeyError, StopIteration, RuntimeError):  # another thread settles too
            return
        with self._guard:
            work(*args)
