"""A stream recorded while it passes: riders get the recorded part, then the live tail.

One pump task owns the source; it reads a little ahead of the fastest reader and no further (backpressure). A source
that is given its items may bring one in its own step while the pump waits for it, and whoever has the stream passed on
is handed it in the same step: neither has a turn of the loop for it. What is recorded is bounded: past the limit
nothing is kept, newcomers are refused, and only the part between the slowest and the fastest reader stays in memory;
where that part passes the limit again, the source waits for the slowest reader, up to `PATIENCE` seconds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any

from .eager import Starter, heard
from .loops import called_off, wake
from .readers import Chunk, Reader, StreamOverrun, close, nothing, read_off, said_all
from .reentrancy import Alone
from .relay import Hand, Relay

READ_AHEAD = 16  # chunks that the pump may be ahead of the fastest reader
PATIENCE = 30.0  # seconds


class Recording:
    """A live stream of one event loop. `finish(chunks)` runs when the source ended well, before readers see the end.

    `freeze` makes a chunk of what the source gave; `oversize` runs once when `limit` bytes were passed. A source with a
    method `feed` is given `fed`, to be offered what comes while it is waited for; a method `said_all` is shown its last
    chunks where all readers left.
    """

    def __init__(
        self,
        source: AsyncIterator[Any],
        *,
        freeze: Callable[[Any], Chunk],
        limit: int,
        finish: Callable[[list[Chunk]], None],
        oversize: Callable[[], None],
        closed: Callable[[], None],
    ) -> None:
        self._source, self._freeze, self._limit = source, freeze, limit
        self._finish, self._oversize, self._closed = finish, oversize, closed
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[Chunk] = deque()
        self._first = 0  # position of _chunks[0] in the stream
        self._bytes = self._next_reader = 0
        self._positions: dict[int, int] = {}
        self._dropped: set[int] = set()
        self._sleepers: dict[asyncio.Future[None], int] = {}  # and which readers wait there
        self._relays: dict[int, Relay] = {}
        self._demand: asyncio.Future[None] | None = None
        self.complete = True  # whether everything from the start is still there
        self.ended = self._deserted = False
        self.went_on = False  # whether chunks came after a reader had left
        self.error: BaseException | None = None
        self._trace: TracebackType | None = None  # of the source: no reader sees where the others were
        self._task: asyncio.Task[Any] | None = None

    def start(self, starter: Starter) -> None:
        """Begin to pump; what the source has ready is recorded at once, so that its first reader need not wait."""
        with suppress(Exception, asyncio.CancelledError):  # the source's own, kept for the readers
            self._task, _ = starter.start(self._loop, self._pump())
        if self._task is not None:
            self._task.add_done_callback(heard)

    def first(self) -> Chunk | None:
        """The stream's first chunk, where it came and is still there."""
        return self._chunks[0] if self._chunks and not self._first else None

    @property
    def readers(self) -> int:
        """How many readers there have been so far."""
        return self._next_reader

    def reader(self) -> Reader:
        """A new reader, from the start. Raises Alone where the start is gone."""
        if self._first:
            raise Alone
        self._next_reader += 1
        self._positions[self._next_reader] = 0
        return Reader(self, self._next_reader)

    def read_off(self) -> Callable[[], Coroutine[Any, Any, None]]:
        """The work of reading on for nobody, to the end or as far as is kept, since a source waits for its readers."""
        return partial(read_off, self, self.reader())

    async def failed_at_once(self) -> bool:
        """Whether the source failed before its first chunk; waits for either. Cancelling this leaves the stream."""
        self._positions[0] = 0  # and no further: its readers have yet to come
        try:
            while not self._chunks and not self.ended:
                await self._news(0)
        except asyncio.CancelledError:
            self.leave(0)
            raise
        self._positions.pop(0, None)
        return self.error is not None and not self._chunks

    async def _pump(self) -> None:
        feed = getattr(self._source, "feed", None)
        try:
            if feed is not None:
                feed(self.fed)
            async for item in self._source:
                self._append(self._freeze(item))
                while self._ahead() >= READ_AHEAD or (not self.complete and self._lagging()):
                    await self._demanded()
            if self.complete and not called_off():
                self._finish(list(self._chunks))
            self._end(None)
        except BaseException as error:
            self._end(error)
            raise
        finally:  # nobody waits for this, nor is told of its faults
            await close(self._source)
            del self, feed  # which lead to an error that holds this frame; so below

    def fed(self, item: Any) -> bool:
        """Record an item while the pump waits for it; False if it has to come through the pump."""
        full = not self._relays and self._ahead() >= READ_AHEAD - 1
        if full or not self.complete or self._demand is not None:
            return False
        self._append(self._freeze(item))
        return True

    async def _demanded(self) -> None:
        self._demand = self._loop.create_future()
        patience = self._loop.call_later(PATIENCE, self._drop_slowest) if self._lagging() else None
        try:
            await self._demand
        finally:
            self._demand = None
            if patience is not None:
                patience.cancel()

    def _lagging(self) -> bool:
        return self._bytes > 2 * self._limit

    def _drop_slowest(self) -> None:
        if not self._ahead():  # else nobody waits for the slowest, who may be the only one
            slowest = min(self._positions, key=lambda reader: self._positions[reader])
            del self._positions[slowest]
            self._dropped.add(slowest)
            self._trim()
        wake(self._demand)

    def _append(self, chunk: Chunk) -> None:
        self.went_on = self._deserted
        self._chunks.append(chunk)
        self._bytes += chunk.nbytes
        if self.complete and self._bytes > self._limit:
            self.complete = False
            self._oversize()
        if self._relays:
            self._give(chunk)
        if not self.complete:
            self._trim()
        if self._sleepers:
            self._wake()

    def _give(self, chunk: Chunk) -> None:
        for reader, relay in tuple(self._relays.items()):
            if relay.idle:
                self._positions[reader] += 1
                relay.give(chunk.answer())
            if not relay.idle:
                self._relays.pop(reader, None)

    def _ahead(self) -> int:
        return self._first + len(self._chunks) - max(self._positions.values(), default=0)

    def _trim(self) -> None:
        slowest = min(self._positions.values(), default=self._first)
        while self._first < slowest:
            self._bytes -= self._chunks.popleft().nbytes
            self._first += 1

    def _wake(self) -> None:
        sleepers, self._sleepers = self._sleepers, {}
        for sleeper in sleepers:
            wake(sleeper)

    def _end(self, error: BaseException | None) -> None:
        """The source ended, with that error if any: tell the readers, whatever happens when the source is closed."""
        if self.ended or self._loop.is_closed():
            return
        self.ended, self.error = True, error
        self._trace = None if error is None else error.__traceback__
        self._wake()
        for relay in self._relays.values():
            relay.wake()
        if self._task is not None:
            self._over()
        else:  # not before the landing that carries this recording was handed out
            self._loop.call_soon(self._over)

    def _over(self) -> None:
        self._closed()
        # what is called holds what holds this recording: no cycle is left to the collector
        self._freeze = self._finish = self._oversize = self._closed = nothing

    def _next(self, reader: int) -> Chunk | None:
        """The reader's next chunk where it is there; StopAsyncIteration or the source's error after the last."""
        position = self._positions.get(reader)
        if position is None:
            if reader in self._dropped:
                raise StreamOverrun("this reader fell too far behind the others of a shared stream")
            raise StopAsyncIteration  # it left while it waited
        at = position - self._first
        if at < len(self._chunks):
            chunk = self._chunks[at]
            self._positions[reader] = position + 1
            if not self.complete:
                self._trim()
            if self._demand is not None:
                wake(self._demand)
            return chunk
        if not self.ended:
            return None
        try:
            raise StopAsyncIteration if self.error is None else self.error.with_traceback(self._trace)
        finally:
            del self

    async def take(self, reader: int) -> Any:
        """The reader's next chunk; StopAsyncIteration or the source's error after the last."""
        try:
            while (chunk := self._next(reader)) is None:
                await self._news(reader)
            return chunk.answer()
        finally:
            del self

    async def _news(self, reader: int) -> None:
        """Wait on a reader's behalf until a chunk comes, or the end."""
        sleeper: asyncio.Future[None] = self._loop.create_future()
        self._sleepers[sleeper] = reader
        try:
            await sleeper
        finally:
            self._sleepers.pop(sleeper, None)

    async def pass_on(self, reader: int, hand: Hand) -> None:
        """`hand` over all that the reader has not had yet, one after the other. Raises the source's error, and what
        `hand` raises."""
        relay = Relay(hand)
        while True:
            try:
                chunk = self._next(reader)
            except StopAsyncIteration:
                return
            if chunk is not None:
                await hand(chunk.answer())
                continue
            self._relays[reader] = relay
            try:
                await relay.wait()
            finally:
                self._relays.pop(reader, None)

    def leave(self, reader: int) -> None:
        """A reader is gone; when the last one leaves, the source is stopped."""
        self._deserted = True
        self._positions.pop(reader, None)
        if reader in self._sleepers.values():  # another task closes what one waits for
            self._wake()
        if self._positions:
            if not self.complete:
                self._trim()
            wake(self._demand)
        elif self._task is not None and not self.ended:
            # riders who were told in the same turn have theirs first, and the task's first step is taken over by then
            self._loop.call_soon(self._abandon, self._task)

    def lost(self, reader: int) -> None:
        """A reader was garbage-collected without leaving, in whatever thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.leave, reader)

    def _abandon(self, task: asyncio.Task[Any]) -> None:
        if self._positions or self.ended:
            return
        try:
            if self.complete and said_all(self._source, self._chunks):
                self._finish(list(self._chunks))
                self._end(None)
            else:
                self.complete = False  # whoever comes later makes a call of its own
                self._closed()
        finally:
            task.cancel()
