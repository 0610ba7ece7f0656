"""One connection to Redis: what is asked in one tick of the loop leaves together; replies resolve in order.

Where nothing is under way, a read leaves at once: the server looks for it while its caller's turn is still running,
and the loop stays awake for the reply for a moment.

A caller that is cancelled leaves its place in the order behind, so that later replies still find their callers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import ConfigurationError, MissingExtra, StoreFault, broken
from ...flow.busy_poll import BusyPoll
from ...flow.loops import wake
from ...types import Reason
from .waiters import Many, OutOfStep, Reads, Waiter

PENDING = 20_000
"""Commands, or names of an MGET, that may wait for their replies on one connection."""
BATCH = 32
"""Names in one MGET; as many leave before their tick is over, so that the server looks for them meanwhile."""
GET = b"*2\r\n$3\r\nGET\r\n"
"""What the word of a name makes a command of."""


def driver() -> Any:
    """The parser's package. Raises MissingExtra, and ConfigurationError for one that is too old."""
    try:
        import hiredis
    except ImportError as fault:
        raise MissingExtra("the Redis store", "hiredis", "redis", broken("hiredis", fault)) from fault
    if not hasattr(hiredis, "PushNotification"):
        remedy = "too old to tell what Redis pushes from what it replies: pip install 'hiredis>=3.2'"
        raise ConfigurationError("hiredis", hiredis.__version__, remedy)
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
    """`pushed(message)` gets what the server sends unasked; `lost` resolves with the fault that ended it.

    `batch`: the most names in one MGET; 1 for a node of a cluster.
    """

    __slots__ = (
        "_batch", "_busy", "_congested", "_futures", "_gets", "_items", "_kind", "_loop", "_names", "_poll",
        "_nonsense", "_out", "_push", "_pushed", "_reader", "_room", "_unread", "_waiting", "bytes_in", "ended",
        "lost", "made", "transport",
    )  # fmt: skip

    def __init__(
        self, loop: asyncio.AbstractEventLoop, pushed: Callable[[list[Any]], None], batch: int = BATCH
    ) -> None:
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
        self._items: list[Any] = []
        self._kind: Reads | None = None  # of those in `_futures`
        self._batch = batch
        self._busy = 0
        self._poll = BusyPoll(loop)
        self._congested: asyncio.Future[None] | None = None
        self.lost: asyncio.Future[StoreFault] = loop.create_future()
        self.transport: asyncio.Transport
        self.made = 0.0
        """The loop's time when the connection stood."""
        self.bytes_in = 0
        self.ended: Callable[[], None] | None = None
        """Called at once when the connection is lost, before anyone is told that waits for a reply."""
        self._room = PENDING

    # the connection's side ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.made = transport, self._loop.time()  # type: ignore[assignment]

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
            self.abort(StoreFault(f"Redis sent something that is not a reply: {type(fault).__name__}"))

    def pause_writing(self) -> None:
        if self._congested is None:
            self._congested = self._loop.create_future()

    def resume_writing(self) -> None:
        congested, self._congested = self._congested, None
        wake(congested)

    def connection_lost(self, exc: Exception | None) -> None:
        why = f"{type(exc).__name__}: {exc}" if exc else "closed"
        self.fail(StoreFault(f"the connection to Redis was lost: {why}"))

    # the callers' side -----------------------------------------------------------------------------------------

    def get(self, name: bytes, kind: Reads | None = None, item: Any = None) -> asyncio.Future[Any]:
        """The future value of `name`, written as `word` does: bytes, None, an error object that Redis answered; or what
        `kind` makes of it and of `item`.

        What is asked for in one tick, of one kind, travels as MGETs, which cost both sides less than as many GETs.
        Raises StoreFault.
        """
        if len(self._waiting) + self._busy >= self._room:
            raise self._full()
        names = self._names
        if not names and not self._out and not self._waiting:
            return self._alone(name, kind, item)
        if not names:
            if not self._out:
                self._loop.call_soon(self._flush)
            self._kind = kind
        elif kind is not self._kind:
            self._bundle()
            self._kind, names = kind, self._names
        names.append(name)
        self._items.append(item)
        future = self._loop.create_future()
        self._futures.append(future)
        if len(names) >= BATCH:
            self._flush()
        return future

    def _alone(self, name: bytes, kind: Reads | None, item: Any) -> asyncio.Future[Any]:
        """Ask at once for the value of `name`."""
        future: asyncio.Future[Any] = self._loop.create_future()
        many = Many([future], [item], kind, self._got)
        self._busy += 1
        self._waiting.append(many)
        if kind is not None:
            kind.sent(many)
        self.transport.write(GET + name)
        self._poll.begin(many)
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
        if self._names:
            self._bundle()
        out = self._out
        if not out:
            return
        if self.lost.done():
            self._refuse(self.lost.result())
        elif len(out) == 1:
            self.transport.write(out[0])
        else:
            self.transport.writelines(out)
        out.clear()

    def _bundle(self) -> None:
        """Put what was asked for by name among what leaves next."""
        names, futures, items, kind = self._names, self._futures, self._items, self._kind
        self._names, self._futures, self._items = [], [], []
        out, most = self._out, self._batch
        for at in range(0, len(names), most):
            part = names[at : at + most]
            out.append(b"*%d\r\n$4\r\nMGET\r\n" % (len(part) + 1) if len(part) > 1 else GET)
            out += part
            self._busy += len(part)
            many = Many(futures[at : at + most], items[at : at + most], kind, self._got)
            self._waiting.append(many)
            if kind is not None:
                kind.sent(many)

    def _got(self, count: int) -> None:
        self._busy -= count

    def abort(self, fault: StoreFault) -> None:
        """End the connection at once; all who wait get `fault`. With a loop that was closed it ended already."""
        if self._loop.is_closed():
            return
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
