"""One connection to Redis: what is asked in one tick of the loop leaves in one write; replies resolve in order.

A caller that is cancelled leaves its place in the order behind, so that later replies still find their callers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...errors import MissingExtra, StoreFault
from ...types import Reason

PENDING = 20_000
"""Commands that may wait for their replies on one connection."""


class Waiter(Protocol):
    """Whoever waits for a reply: a future, or something that acts at once, before later pushes are seen."""

    def done(self) -> bool: ...
    def set_result(self, reply: Any, /) -> None: ...
    def set_exception(self, fault: Any, /) -> None: ...


class Act:
    """A waiter that calls `act(reply)` in the order of the connection, then resolves `future`.

    What `act` raises becomes the future's.
    """

    __slots__ = ("_act", "future")

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Callable[[Any], None]) -> None:
        self._act = act
        self.future: asyncio.Future[Any] = loop.create_future()

    def done(self) -> bool:
        return False

    def set_result(self, reply: Any, /) -> None:
        try:
            self._act(reply)
        except StoreFault as fault:
            self.set_exception(fault)
        else:
            if not self.future.done():
                self.future.set_result(reply)

    def set_exception(self, fault: Any, /) -> None:
        if not self.future.done():
            self.future.set_exception(fault)
            self.future.exception()  # whoever no longer waits for it needs no warning


def pack(*words: bytes | int) -> bytes:
    """A command as it travels (RESP)."""
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        text = b"%d" % word if isinstance(word, int) else word
        out.append(b"$%d\r\n%b\r\n" % (len(text), text))
    return b"".join(out)


class Pipe(asyncio.Protocol):
    """`pushed(message)` gets what the server sends unasked; `lost` resolves with the fault that ended it."""

    __slots__ = ("_congested", "_gets", "_loop", "_out", "_push", "_pushed", "_reader", "_unread", "_waiting",
                 "bytes_in", "lost", "transport")  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop, pushed: Callable[[list[Any]], None]) -> None:
        try:
            from hiredis import PushNotification, Reader
        except ImportError as fault:
            raise MissingExtra("the Redis store", "hiredis", "redis") from fault
        self._unread = object()
        self._reader = Reader(notEnoughData=self._unread)
        self._gets, self._push, self._pushed, self._loop = self._reader.gets, PushNotification, pushed, loop
        self._waiting: deque[Waiter] = deque()
        self._out: list[bytes] = []
        self._congested: asyncio.Future[None] | None = None
        self.lost: asyncio.Future[StoreFault] = loop.create_future()
        self.transport: asyncio.Transport
        self.bytes_in = 0

    # the connection's side -------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.bytes_in += len(data)
        gets, unread, waiting, push = self._gets, self._unread, self._waiting, self._push
        try:
            self._reader.feed(data)
            while (reply := gets()) is not unread:
                if type(reply) is push:
                    self._pushed(reply)
                    continue
                waiter = waiting.popleft()
                if not waiter.done():
                    waiter.set_result(reply)
        except (IndexError, ValueError, RuntimeError) as fault:  # hiredis.ProtocolError among them
            self.abort(StoreFault(f"Redis answered what is no reply to anything: {type(fault).__name__}"))
        except Exception as fault:
            self.abort(StoreFault(f"Redis answered garbage: {type(fault).__name__}"))
            if type(fault).__module__ != "hiredis":
                raise

    def pause_writing(self) -> None:
        if self._congested is None:
            self._congested = self._loop.create_future()

    def resume_writing(self) -> None:
        congested, self._congested = self._congested, None
        if congested is not None and not congested.done():
            congested.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(StoreFault(f"the connection to Redis was lost: {type(exc).__name__ if exc else 'closed'}"))

    # the callers' side -----------------------------------------------------------------------------------------------

    def send(self, command: bytes) -> asyncio.Future[Any]:
        """The future reply: bytes, int, list, None, or an error object that Redis answered. Raises StoreFault."""
        waiter = self._loop.create_future()
        self.post(command, waiter)
        return waiter

    def post(self, command: bytes, waiter: Waiter) -> None:
        """Send `command`; its reply goes to `waiter`."""
        waiting = self._waiting
        if len(waiting) >= PENDING:
            raise StoreFault("too many commands wait for Redis", Reason.OVERLOAD)
        if self.lost.done():
            raise self.lost.result()
        out = self._out
        if not out:
            self._loop.call_soon(self._flush)
        out.append(command)
        waiting.append(waiter)

    async def ask(self, commands: Sequence[bytes]) -> list[Any]:
        """The replies to `commands`, which travel together."""
        waiters = [self.send(command) for command in commands]
        await self.drained()
        return [await waiter for waiter in waiters]

    async def drained(self) -> None:
        """Wait while the connection takes no more."""
        if self._congested is not None:
            await asyncio.shield(self._congested)

    @property
    def pending(self) -> int:
        """Commands without a reply yet."""
        return len(self._waiting)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if not self.lost.done():
            self.transport.writelines(out)

    def abort(self, fault: StoreFault) -> None:
        """End the connection at once; all who wait get `fault`."""
        self.fail(fault)
        self.transport.abort()

    def fail(self, fault: StoreFault) -> None:
        """All who wait get `fault`."""
        if self.lost.done():
            return
        self.lost.set_result(fault)
        self.resume_writing()
        waiting, self._waiting = self._waiting, deque()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(fault)
                if isinstance(waiter, asyncio.Future):
                    waiter.exception()  # whoever no longer waits for it needs no warning
