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
"""Commands, or names of an MGET, that may wait for their replies on one connection."""
BATCH = 256
"""Names in one MGET."""
_GET = b"*2\r\n$3\r\nGET\r\n"


class Waiter(Protocol):
    """Whoever waits for a reply: a future, or something that acts at once, before later pushes are seen."""

    def done(self) -> bool: ...
    def set_result(self, reply: Any, /) -> None: ...
    def set_exception(self, fault: Any, /) -> None: ...


class OutOfStep(StoreFault):
    """A reply that cannot be the one to what was asked: the connection is good for nothing more."""


class Act:
    """A waiter that calls `act(reply)` in the order of the connection, then resolves `future`.

    The StoreFault that `act` raises becomes the future's. Where it cannot make sense of the reply, raises OutOfStep.
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
        except (TypeError, ValueError, LookupError) as wrong:
            told = OutOfStep(f"Redis answered one question with the reply to another: {type(wrong).__name__}")
            self.set_exception(told)  # this one is no longer among those that wait
            raise told from wrong
        else:
            if not self.future.done():
                self.future.set_result(reply)

    def set_exception(self, fault: Any, /) -> None:
        if not self.future.done():
            self.future.set_exception(fault)
            self.future.exception()  # whoever no longer waits for it needs no warning


class Many:
    """Those who wait for the values of one MGET, in order. An error goes to all of them."""

    __slots__ = ("_done", "futures")

    def __init__(self, futures: list[asyncio.Future[Any]], done: Callable[[int], None]) -> None:
        self.futures, self._done = futures, done

    def done(self) -> bool:
        return False

    def set_result(self, reply: Any, /) -> None:
        futures = self.futures
        self._done(len(futures))
        values = reply if type(reply) is list and len(reply) == len(futures) else [reply] * len(futures)
        for future, value in zip(futures, values, strict=True):
            if not future.done():
                future.set_result(value)

    def set_exception(self, fault: Any, /) -> None:
        for future in self.futures:
            if not future.done():
                future.set_exception(fault)
                future.exception()  # whoever no longer waits for it needs no warning


def driver() -> Any:
    """The parser's package. Raises MissingExtra."""
    try:
        import hiredis
    except ImportError as fault:
        raise MissingExtra("the Redis store", "hiredis", "redis") from fault
    return hiredis


def word(text: bytes) -> bytes:
    """A word of a command as it travels."""
    return b"$%d\r\n%b\r\n" % (len(text), text)


def pack(*words: bytes | int) -> bytes:
    """A command as it travels (RESP)."""
    out = [b"*%d\r\n" % len(words)]
    out += [word(b"%d" % text if isinstance(text, int) else text) for text in words]
    return b"".join(out)


class Pipe(asyncio.Protocol):
    """`pushed(message)` gets what the server sends unasked; `lost` resolves with the fault that ended it."""

    __slots__ = (
        "_busy", "_congested", "_futures", "_gets", "_loop", "_names", "_nonsense", "_out", "_push", "_pushed",
        "_reader", "_room", "_unread", "_waiting", "bytes_in", "ended", "lost", "transport",
    )  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop, pushed: Callable[[list[Any]], None]) -> None:
        hiredis = driver()
        self._unread = object()
        self._reader = hiredis.Reader(notEnoughData=self._unread)
        self._nonsense = (hiredis.ProtocolError, IndexError)
        self._gets, self._push, self._pushed, self._loop = (
            self._reader.gets,
            hiredis.PushNotification,
            pushed,
            loop,
        )
        self._waiting: deque[Waiter] = deque()
        self._out: list[bytes] = []
        self._names: list[bytes] = []
        self._futures: list[asyncio.Future[Any]] = []
        self._busy = 0
        self._congested: asyncio.Future[None] | None = None
        self.lost: asyncio.Future[StoreFault] = loop.create_future()
        self.transport: asyncio.Transport
        self.bytes_in = 0
        self.ended: Callable[[], None] | None = None
        """Called at once when the connection is lost, before anyone is told that waits for a reply."""
        self._room = PENDING

    # the connection's side ----------------------------------------------------------------------------------

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
        except OutOfStep as fault:
            self.abort(fault)
        except self._nonsense as fault:
            self.abort(StoreFault(f"Redis answered what is no reply to anything: {type(fault).__name__}"))

    def pause_writing(self) -> None:
        if self._congested is None:
            self._congested = self._loop.create_future()

    def resume_writing(self) -> None:
        congested, self._congested = self._congested, None
        if congested is not None and not congested.done():
            congested.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(StoreFault(f"the connection to Redis was lost: {type(exc).__name__ if exc else 'closed'}"))

    # the callers' side -----------------------------------------------------------------------------------------

    def get(self, name: bytes) -> asyncio.Future[Any]:
        """The future value of `name`, written as `word` does: bytes, None, or an error object that Redis answered.

        What is asked for in one tick travels as one MGET, which costs both sides less than as many GETs. Raises
        StoreFault.
        """
        names = self._names
        if len(self._waiting) + self._busy >= self._room:
            raise self._full()
        if not names and not self._out:
            self._loop.call_soon(self._flush)
        names.append(name)
        future = self._loop.create_future()
        self._futures.append(future)
        return future

    def send(self, command: bytes) -> asyncio.Future[Any]:
        """The future reply: bytes, int, list, None, or an error object that Redis answered. Raises StoreFault."""
        future = self._loop.create_future()
        self.post((command,), (future,))
        return future

    def post(self, commands: Sequence[bytes], waiters: Sequence[Waiter]) -> None:
        """Send `commands` with none between them; the replies go to `waiters`. Raises StoreFault and sends none."""
        if len(self._waiting) + len(commands) > self._room:
            raise self._full()
        if not self._out and not self._names:
            self._loop.call_soon(self._flush)
        self._out.extend(commands)
        self._waiting.extend(waiters)

    async def ask(self, commands: Sequence[bytes]) -> list[Any]:
        """The replies to `commands`, which travel together."""
        waiters = [self._loop.create_future() for _ in commands]
        self.post(commands, waiters)
        await self.drained()
        return [await waiter for waiter in waiters]

    async def drained(self) -> None:
        """Wait while the connection takes no more."""
        if self._congested is not None:
            await asyncio.shield(self._congested)

    def _full(self) -> StoreFault:
        if self.lost.done():
            return _again(self.lost.result())
        return StoreFault("too many commands wait for Redis", Reason.OVERLOAD)

    @property
    def pending(self) -> int:
        """Commands without a reply yet."""
        return len(self._waiting)

    def _flush(self) -> None:
        out, names = self._out, self._names
        if names:
            futures = self._futures
            self._names, self._futures = [], []
            if len(names) == 1:
                out.append(_GET + names[0])
                self._waiting.append(futures[0])
            else:
                self._bundle(out, names, futures)
        if self.lost.done():
            self._refuse(self.lost.result())
        elif len(out) == 1:
            self.transport.write(out[0])
        else:
            self.transport.writelines(out)
        out.clear()

    def _bundle(self, out: list[bytes], names: list[bytes], futures: list[asyncio.Future[Any]]) -> None:
        for at in range(0, len(names), BATCH):
            part = names[at : at + BATCH]
            out.append(b"*%d\r\n$4\r\nMGET\r\n" % (len(part) + 1))
            out += part
            self._busy += len(part)
            self._waiting.append(Many(futures[at : at + BATCH], self._got))

    def _got(self, count: int) -> None:
        self._busy -= count

    def abort(self, fault: StoreFault) -> None:
        """End the connection at once; all who wait get `fault`."""
        self.fail(fault)
        self.transport.abort()

    def fail(self, fault: StoreFault) -> None:
        """All who wait get `fault`."""
        if not self.lost.done():
            self.lost.set_result(fault)
            self._room = 0
            if self.ended is not None:
                self.ended()
            self.resume_writing()
            self._refuse(fault)

    def _refuse(self, fault: StoreFault) -> None:
        waiting, self._waiting = self._waiting, deque()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_exception(_again(fault))
                if isinstance(waiter, asyncio.Future):
                    waiter.exception()  # whoever no longer waits for it needs no warning


def _again(fault: StoreFault) -> StoreFault:
    return StoreFault(str(fault), fault.reason)
