"""Work that hands out items while it runs, at the pace of whoever takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from .eager import Starter, heard
from .loops import wake

AHEAD = 2
"""Items that the work may be ahead of the taker: an answer's start and its only part cost no switch of tasks."""


class Ended(Exception):
    """The work is over and had nothing more to give."""


class Channel:
    """One task that `put`s, one reader that `take`s. Whoever stops reading calls `close`, and `put` raises OSError."""

    _taker: asyncio.Future[None] | None = None
    _room: asyncio.Future[None] | None = None
    _gone: asyncio.Future[None] | None = None
    _error: BaseException | None = None
    _over = _closed = _given_up = False
    task: asyncio.Task[Any] | None = None
    """Of the work, where it did not end at once."""
    sink: Callable[[Any], bool] | None = None
    """Is offered each item that arrives while the reader waits; where it returns True, the reader does not get it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: list[Any] = []

    async def put(self, item: Any) -> None:
        """Hand out an item; waits while the reader is behind. Raises OSError if nobody reads any more."""
        while len(self._items) >= AHEAD and not self._closed:
            self._room = self._loop.create_future()
            await self._room
        if self._closed:
            raise OSError("the client is gone")
        taker = self._taker
        if taker is not None and not taker.done():
            if self.sink is not None and not self._items and self.sink(item):
                return
            taker.set_result(None)
        self._items.append(item)

    async def take(self) -> Any:
        """The next item. Raises what the work raised, or Ended, after the last."""
        while not self._items:
            if self._over:
                raise self._error or Ended
            self._taker = self._loop.create_future()
            await self._taker
        return self.next()

    def next(self) -> Any:
        """The next item where it is there already, else None."""
        if not self._items:
            return None
        item = self._items.pop(0)
        wake(self._room)
        return item

    @property
    def ended(self) -> bool:
        """Whether the work is over, and ended well."""
        return self._over and self._error is None

    def close(self) -> None:
        """The reader leaves; the work may go on."""
        self._closed, self.sink = True, None
        self._items.clear()
        wake(self._gone)
        wake(self._room)

    def drop(self) -> None:
        """The reader leaves before the end. Work that was given up is cancelled."""
        self.close()
        if self._given_up:
            self._cancel()

    def give_up(self) -> None:
        """The caller that the work is done for was cancelled: cancel it too, now or once nobody else reads."""
        self._given_up = True
        if self._closed:
            self._cancel()

    def _cancel(self) -> None:
        if self.task is not None and not self._over:
            self.task.cancel()

    async def gone(self) -> None:
        """Return once nobody reads any more."""
        if not self._closed:
            self._gone = self._gone or self._loop.create_future()
            await asyncio.shield(self._gone)  # who gives up waiting does not close the channel

    async def finished(self) -> None:
        """Wait until the work is over. Raises what it raised."""
        while not self._over:
            self._taker = self._loop.create_future()
            await self._taker
        if self._error is not None:
            raise self._error

    def over(self, error: BaseException | None) -> None:
        """The work ended."""
        self._over, self._error = True, error
        wake(self._taker)


class Channels:
    """Runs works and holds on to them until they are done, readers or not."""

    def __init__(self) -> None:
        self._starter = Starter()
        self._tasks: set[asyncio.Task[Any]] = set()

    def open(self, channel: Channel, work: Callable[[Channel], Awaitable[None]]) -> None:
        """Start `work(channel)` as a task of its own; its first step runs at once."""
        begun, _ = self._starter.start(channel._loop, _run(channel, work))
        if begun is not None:
            channel.task = begun
            self._tasks.add(begun)
            begun.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        heard(task)


async def _run(channel: Channel, work: Callable[[Channel], Awaitable[None]]) -> None:
    try:
        await work(channel)
    except BaseException as error:
        channel.over(error)
        if isinstance(error, Exception):
            return  # `take` raises it, in its place
        raise
    channel.over(None)
