"""A block that ends when a sign is given: the caller left, so the work for him is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self


class Watch:
    """`async with Watch(sign) as watch:` cancels its body once `sign()` returns, and swallows that cancellation.

    `watch.rang` tells it happened. A cancellation from elsewhere passes. What `sign` raises counts as the sign.
    """

    __slots__ = ("_cancelling", "_sign", "_task", "_watcher", "rang")

    def __init__(self, sign: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._sign = sign
        self.rang = False

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._watcher = asyncio.get_running_loop().create_task(self._sign())
        self._watcher.add_done_callback(self._ring)
        return self

    def _ring(self, watcher: asyncio.Task[None]) -> None:
        if not watcher.cancelled():
            watcher.exception()
            self.rang = True
            self._task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not self.rang:
            self._watcher.remove_done_callback(self._ring)
            self._watcher.cancel()
            return False
        self._task.uncancel()
        if kind is None:
            return False
        return kind is asyncio.CancelledError and self._task.cancelling() <= self._cancelling
