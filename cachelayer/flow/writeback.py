"""Write-back: what was answered is stored behind the caller's back, bounded, and drained on close."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class WriteBack(Generic[T]):
    """A bounded queue with one worker at a time, on the loop of whoever offers.

    `handle(batch)` must not raise. `offer` never waits: a full queue drops the newest and counts it.
    """

    def __init__(
        self, handle: Callable[[Sequence[T]], Awaitable[None]], *, capacity: int = 10_000, batch: int = 64
    ) -> None:
        self._handle, self.capacity, self._batch = handle, capacity, batch
        self.dropped = 0
        self.handled = 0
        self.reset()

    def reset(self) -> None:
        """Forget what is queued: after a fork it is the parent's to write."""
        self._queue: deque[T] = deque()
        self._lock = threading.Lock()
        self._worker: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._queue)

    def offer(self, item: T, loop: asyncio.AbstractEventLoop) -> bool:
        """Queue `item`, to be handled on `loop`; False where the queue is full. Call from `loop`'s thread."""
        if len(self._queue) >= self.capacity:
            self.dropped += 1
            return False
        self._queue.append(item)
        worker = self._worker
        if worker is None or worker.done() or worker.get_loop().is_closed():
            self._worker = loop.create_task(self._work())
        return True

    async def _work(self) -> None:
        while self._queue:
            await self._step()

    async def _step(self) -> None:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(self._batch, len(self._queue)))]
        if batch:
            await self._handle(batch)
            self.handled += len(batch)

    async def drain(self, timeout: float | None = None) -> bool:
        """Handle what is queued now; False where `timeout` seconds were not enough."""
        try:
            async with asyncio.timeout(timeout):
                await self._work()
                worker = self._worker
                if worker is not None and worker.get_loop() is asyncio.get_running_loop():
                    await asyncio.shield(worker)
        except TimeoutError:
            return False
        return True
