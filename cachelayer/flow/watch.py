"""A block that ends when a sign is given: the caller left, so the work for him is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self


class Watch:
    """`async with Watch(sign) as watch:` cancels its body once `sign()` returns, and swallows that cancellation.

    `watch.rang` tells it happened. A cancellation from elsewhere passes. What `sign` raises counts as the sign.
    The watch begins after `grace` seconds: work that is done by then pays for a timer only.
    """

    __slots__ = ("_cancelling", "_grace", "_over", "_sign", "_task", "_timer", "_watcher", "rang")

    def __init__(self, sign: Callable[[], Coroutine[Any, Any, None]], grace: float = 0.0) -> None:
        self._sign, self._grace = sign, grace
        self._watcher: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.rang = self._over = False

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        if self._grace:
            self._timer = asyncio.get_running_loop().call_later(self._grace, self._begin)
        else:
            self._begin()
        return self

    def _begin(self) -> None:
        self._watcher = asyncio.get_running_loop().create_task(self._sign())
        self._watcher.add_done_callback(self._ring)

    def _ring(self, watcher: asyncio.Task[None]) -> None:
        if not watcher.cancelled():
            watcher.exception()
            if not self._over:  # a sign that is told of after the block ended is none
                self.rang = True
                self._task.cancel()

    def end(self) -> None:
        """From now on the sign means nothing; where it was given before, that stands."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.end()
        if not self.rang:
            return False
        self._task.uncancel()
        if kind is None:
            return False
        return kind is asyncio.CancelledError and self._task.cancelling() <= self._cancelling
