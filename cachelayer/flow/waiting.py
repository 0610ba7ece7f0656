"""Timers and bounded waits, for packages that may not create their own."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager
from typing import Any, Generic, TypeVar

from . import forks
from .loops import wake

T = TypeVar("T")


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """The result of `work`; TimeoutError after `seconds` (None: never), when `work` is cancelled."""
    async with asyncio.timeout(seconds):
        return await work


def limited(work: Callable[..., Awaitable[T]], seconds: float | None) -> Callable[..., Awaitable[T]]:
    """`work`, given up with a TimeoutError that says so where it takes longer than `seconds` (None: never)."""
    if seconds is None:
        return work

    async def in_time(*args: Any, **kwargs: Any) -> T:
        async with _given_up(seconds):
            return await work(*args, **kwargs)

    return in_time


def limited_start(
    make: Callable[..., AsyncGenerator[T, None]], seconds: float | None
) -> Callable[..., AsyncGenerator[T, None]]:
    """The same for an asynchronous generator, of its first item."""
    if seconds is None:
        return make

    async def in_time(*args: Any, **kwargs: Any) -> AsyncGenerator[T, None]:
        async with aclosing(make(*args, **kwargs)) as items:
            try:
                async with _given_up(seconds):
                    first = await anext(items)
            except StopAsyncIteration:
                return
            yield first
            async for item in items:
                yield item

    return in_time


@asynccontextmanager
async def _given_up(seconds: float) -> AsyncIterator[None]:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as fault:
        if not limit.expired():
            raise
        raise TimeoutError(f"no answer within budgets.backend={seconds:g} s") from fault


async def settled(future: asyncio.Future[Any], seconds: float) -> bool:
    """Whether `future` is done within `seconds`; it is not cancelled, and its result is not retrieved."""
    if not future.done() and seconds > 0:
        await asyncio.wait((future,), timeout=seconds)
    return future.done()


class Turns:
    """One caller at a time, across event loops. A holder whose loop has stopped is not waited for."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._latest: tuple[asyncio.AbstractEventLoop, int, Future[None]] | None = None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and hold it."""
        done: Future[None] = Future()
        while (before := self._before(done)) is not None:
            await settled(asyncio.wrap_future(before), 0.1)
        try:
            yield
        finally:
            done.set_result(None)

    def _before(self, mine: Future[None]) -> Future[None] | None:
        """The holder to wait for; None if it is our turn."""
        with self._lock:
            if self._latest is not None:
                loop, process, theirs = self._latest
                if process == os.getpid() and loop.is_running() and not theirs.done():
                    return theirs
            self._latest = asyncio.get_running_loop(), os.getpid(), mine
            return None


class Ticker:
    """Calls `tick` on the running loop every `interval` seconds until stopped. A late tick delays those after it."""

    __slots__ = ("_handle", "_interval", "_loop", "_tick")

    def __init__(self, interval: float, tick: Callable[[], None]) -> None:
        self._interval, self._tick = interval, tick
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = self._loop.call_later(interval, self._run)

    def _run(self) -> None:
        self._handle = self._loop.call_later(self._interval, self._run)
        self._tick()

    def stop(self) -> None:
        """Stop ticking."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Mailbox(Generic[T]):
    """A bounded queue of one loop with one reader. An overflow empties it and leaves `overflow` in its place."""

    def __init__(self, limit: int, overflow: T) -> None:
        self._limit, self._overflow = limit, overflow
        self._items: deque[T] = deque()
        self._reader: asyncio.Future[None] | None = None

    def put(self, item: T) -> None:
        """Add an item; never waits."""
        if len(self._items) >= self._limit:
            self._items.clear()
            item = self._overflow
        self._items.append(item)
        wake(self._reader)

    async def get(self) -> T:
        """The oldest item; waits for one."""
        while not self._items:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        return self._items.popleft()

    async def get_all(self) -> list[T]:
        """All items, oldest first; waits until there is one."""
        items = [await self.get(), *self._items]
        self._items.clear()
        return items
