"""Work put off until its caller has gone on: it runs a turn of the loop later, or before whoever asks for what it does.

Law 1 holds for all of it: no fault here reaches anybody.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable
from typing import Any

from .attempt import Faults

REST = 0.001
"""Seconds for which work may rest: who asks again as soon as he has his answer is served before it."""
MOST = 128
"""Works put off at a time: a caller that never waits gives the loop no turn."""


class Behind:
    """Works by key, done in their order. `key in behind` costs a look; whoever finds his own settles all."""

    __slots__ = ("_due", "_guard", "_loop", "_resting")

    def __init__(self, faults: Faults) -> None:
        self._guard = faults.guard("keep")
        self.reset()

    def reset(self) -> None:
        """Forget all: after a fork they are the parent's."""
        self._due: dict[int, tuple[Callable[..., object], tuple[Any, ...]]] = {}
        self._loop: AbstractEventLoop | None = None
        self._resting: AbstractEventLoop | None = None

    def __contains__(self, key: int) -> bool:
        return key in self._due

    def __len__(self) -> int:
        return len(self._due)

    def put_off(self, key: int, work: Callable[..., object], *args: Any) -> None:
        """Do `work(*args)` when the running loop has had its next turn, or somebody settles."""
        loop = get_running_loop()
        self._add(key, work, args)
        if self._loop is not loop:
            self._loop = loop
            loop.call_soon(loop.call_soon, self._turn)  # whose turn it is next may be the caller's

    def let_rest(self, key: int, work: Callable[..., object], *args: Any) -> None:
        """Do `work(*args)` within `REST` seconds, or when somebody settles: several together cost less, too."""
        loop = get_running_loop()
        self._add(key, work, args)
        if self._resting is not loop:
            self._resting = loop
            loop.call_later(REST, self._rested)

    def _add(self, key: int, work: Callable[..., object], args: tuple[Any, ...]) -> None:
        if key in self._due or len(self._due) >= MOST:
            self.settle()
        self._due[key] = work, args

    def _turn(self) -> None:
        self._loop = None
        self.settle()

    def _rested(self) -> None:
        self._resting = None
        self.settle()

    def settle(self) -> None:
        """Do all that was put off, now. Safe in every thread."""
        due = self._due
        while due:
            try:
                work, args = due.pop(next(iter(due)))
            except (KeyError, StopIteration, RuntimeError):  # another thread settles too
                continue
            with self._guard:
                work(*args)
