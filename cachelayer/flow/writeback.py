"""Write-back: answers are stored in the background, bounded, and drained on close."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Generic, TypeVar
from weakref import WeakSet

from .loops import called_off, wake
from .waiting import settled

T = TypeVar("T")


class WriteBack(Generic[T]):
    """A bounded queue with one worker at a time, on the loop of whoever offers.

    `handle(batch)` must not raise. `offer` never waits: a full queue drops the newest and counts it. What is not
    urgent waits up to `linger` seconds for more to come: a batch costs little more than one item.
    """

    def __init__(
        self,
        handle: Callable[[Sequence[T]], Awaitable[None]],
        *,
        capacity: int = 10_000,
        batch: int = 64,
        linger: float = 0.0,
    ) -> None:
        self._handle, self.capacity, self._batch, self._linger = handle, capacity, batch, linger
        self.dropped = 0
        self.handled = 0
        self.reset()

    def reset(self) -> None:
        """Forget what is queued: after a fork it is the parent's to write."""
        self._queue: deque[T] = deque()
        self._lock = threading.RLock()  # a dropped worker that the collector ends meanwhile comes here, too
        self._worker: asyncio.Task[None] | None = None
        self._workers: WeakSet[asyncio.Task[None]] = WeakSet()
        """Includes those whose loops are not running at the moment."""
        self._pause: asyncio.Future[None] | None = None
        self._urgent = False
        self._held = 0  # of the batch under way
        self._passed: Future[None] | None = None
        """What those wait for, on whatever loop, who wait for the next batch."""

    def __len__(self) -> int:
        return len(self._queue)

    def offer(self, item: T, loop: asyncio.AbstractEventLoop, urgent: bool = False) -> bool:
        """Queue `item`, to be handled on `loop`; False if the queue is full. Call from `loop`'s thread."""
        if len(self._queue) >= self.capacity:
            self.dropped += 1
            return False
        with self._lock:  # a worker of another thread may be about to end
            self._queue.append(item)
            self._urgent = self._urgent or urgent or len(self._queue) >= self._batch
            begin = not self._alive(loop)
            if begin and not called_off():  # a loop that ends begins nothing: another's goes on
                self._begin(loop)
        if self._urgent and not begin:
            self._go_on()
        return True

    def resume(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on, on `loop`, with what a loop that has ended left. Call from its thread."""
        if self._queue:
            with self._lock:
                if not self._alive(loop) and not called_off():
                    self._begin(loop)

    def _alive(self, here: asyncio.AbstractEventLoop) -> bool:
        """Whether a worker is at work, on a loop that has not ended and is running."""
        worker = self._worker
        return (
            worker is not None
            and not worker.done()
            and (worker.get_loop() is here or worker.get_loop().is_running())
        )

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        here = (worker for worker in self._workers if worker.get_loop() is loop and not worker.done())
        self._held, self._worker = 0, next(here, None)  # the loop stood still, and goes on with it
        if self._worker is None:
            self._worker = loop.create_task(self._work(loop))
            self._worker._log_destroy_pending = False  # type: ignore[attr-defined]  # what waits is another's then
            self._workers.add(self._worker)

    def _ended(self) -> bool:
        with self._lock:
            if not self._queue:
                self._worker = None
            return not self._queue

    async def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while not self._ended():
                if self._linger and not self._urgent:
                    self._pause = loop.create_future()
                    loop.call_later(self._linger, wake, self._pause)
                    await self._pause
                await self._step()
                self._tell()
        finally:
            self._tell()

    def _tell(self) -> None:
        with self._lock:
            passed, self._passed = self._passed, None
        if passed is not None:
            passed.set_result(None)

    def _go_on(self) -> None:
        pause = self._pause
        if pause is not None:
            with suppress(RuntimeError):  # closed
                pause.get_loop().call_soon_threadsafe(wake, pause)

    async def _step(self) -> None:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(self._batch, len(self._queue)))]
            self._urgent = len(self._queue) >= self._batch
            self._held = len(batch)
        try:
            if batch:
                await self._handle(batch)
        except asyncio.CancelledError:  # its loop ends: another's goes on
            self._queue.extendleft(reversed(batch))
            raise
        finally:
            self._held = 0
        self.handled += len(batch)

    async def drain(self, timeout: float | None = None) -> bool:
        """Wait until what is queued now is handled; False if `timeout` seconds were not enough.

        The worker does all of it: batches never overtake each other, so no older answer is written over a newer one.
        """
        with self._lock:
            goal = self.handled + self._held + len(self._queue)  # what comes meanwhile is others' to wait for
        try:
            async with asyncio.timeout(timeout):
                while self.handled < goal and (passed := self._at_work()) is not None:
                    self._go_on()
                    await settled(asyncio.wrap_future(passed), 0.1)  # a loop that stands still tells nobody
        except TimeoutError:
            return False
        return True

    def _at_work(self) -> Future[None] | None:
        """What resolves with the next batch, of a worker wherever it is, or one begun here; None if all is done."""
        here = asyncio.get_running_loop()
        with self._lock:
            alive = self._alive(here)
            if self._queue and not alive:
                self._begin(here)
            elif not alive:
                return None
            self._urgent = self._urgent or bool(self._queue)
            passed = self._passed = self._passed or Future()
            return passed

    async def cancel(self) -> None:
        """Give up what is queued, and what the worker on this loop has begun; both count as dropped."""
        loop = asyncio.get_running_loop()
        mine = [worker for worker in self._workers if worker.get_loop() is loop and not worker.done()]
        for worker in mine:
            worker.cancel()
        if mine:
            await asyncio.wait(mine)
        with self._lock:
            self.dropped += len(self._queue)
            self._queue.clear()
