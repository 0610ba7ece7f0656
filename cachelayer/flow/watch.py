"""A block of code that is cancelled when its caller disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self


class Watch:
    """`with Watch(sign) as watch:` cancels its body once `sign()` returns, and swallows that cancellation.

    `watch.rang` says whether it did. A cancellation from elsewhere passes through. An exception from `sign` counts as
    its return. With `rounds` the watch starts a moment later, so that work which is done by then costs next to nothing.
    """

    __slots__ = ("_cancelling", "_over", "_round", "_rounds", "_sign", "_task", "_watcher", "rang")

    def __init__(self, sign: Callable[[], Coroutine[Any, Any, None]], rounds: Rounds | None = None) -> None:
        self._sign, self._rounds = sign, rounds
        self._watcher: asyncio.Task[None] | None = None
        self._round: _Round | None = None
        self.rang = self._over = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        if self._rounds is None:
            self._begin()
        else:
            self._round = self._rounds.join(self, task.get_loop())
        return self

    def _begin(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._sign())
        self._watcher.add_done_callback(self._ring)

    def _ring(self, watcher: asyncio.Task[None]) -> None:
        if not watcher.cancelled():
            watcher.exception()
            if not self._over:  # once the block has ended it is too late to cancel
                self.rang = True
                self._task.cancel()

    def end(self) -> None:
        """Stop watching. If the body was cancelled already, that stands."""
        self._over = True
        if self._round is not None:
            self._round.leave(self)
            self._round = None
        if self._watcher is not None:
            self._watcher.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.end()
        if not self.rang:
            return False
        self._task.uncancel()
        if kind is None:
            return False
        return kind is asyncio.CancelledError and self._task.cancelling() <= self._cancelling


class Rounds:
    """Starts the watches that joined, each within `grace` seconds, with one timer for many."""

    def __init__(self, grace: float) -> None:
        self._step = grace / 2
        self._round: _Round | None = None

    def join(self, watch: Watch, loop: asyncio.AbstractEventLoop) -> _Round:
        """Add a watch; returns the round that it can leave."""
        made = self._round
        if made is None or made.loop is not loop:
            made = self._round = _Round(loop, self._step)
        made.early.add(watch)
        if not made.armed:
            made.armed = True
            loop.call_later(self._step, made.come_by)
        return made


class _Round:
    """The watches of one event loop that have not started yet."""

    __slots__ = ("_late", "_step", "armed", "early", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, step: float) -> None:
        self.loop, self._step = loop, step
        self.early: set[Watch] = set()
        """Watches that joined since the last tick."""
        self._late: set[Watch] = set()
        self.armed = False

    def leave(self, watch: Watch) -> None:
        self.early.discard(watch)
        self._late.discard(watch)

    def come_by(self) -> None:
        due, self._late, self.early = self._late, self.early, set()
        for watch in due:
            watch._begin()
        self.armed = bool(self._late)
        if self.armed:
            self.loop.call_later(self._step, self.come_by)
