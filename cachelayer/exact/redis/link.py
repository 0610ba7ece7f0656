"""A connection that is kept open: dialled, greeted, watched, and dialled again after growing pauses until closed."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import StoreFault
from ...flow.background import Background
from ...flow.hosts import Hosts
from ...flow.loops import left_behind, wake
from ...flow.waiting import settled, within
from .pipe import BATCH, Pipe, pack
from .url import Address, Target
from .waiters import NONSENSE, mistaken

FIRST, LAST = 0.02, 1.0
"""Seconds between two attempts."""
TLS = "does that port take TLS, or none, as the URL says?"
CUT_OFF = "Connection reset by peer", "lost: closed"
"""How the word of a connection ends that the server closed, as it does with one that does not speak as it does."""
NOTHING_OWED = ((-1, -1), 0.0)
"""What a watch saw of a connection that owed nothing: the time counts from the first one that sees a debt, for
the loop itself may have stood still since the last one."""


class Dialer:
    """Opens connections to the servers of one target; counts them against a bound. Raises StoreFault if the target's
    certificates cannot be read."""

    def __init__(self, target: Target, *, limit: int) -> None:
        self.target, self._limit, self._hosts = target, limit, Hosts()
        self._context: ssl.SSLContext | None = None
        self._trusted: object = None
        """Which file the context was made of."""
        if target.tls is not None:
            self._current()
        self._open: Counter[asyncio.AbstractEventLoop] = Counter()

    @property
    def open(self) -> int:
        """Connections over all loops; those of a loop that was closed go with it."""
        return sum(count for loop, count in tuple(self._open.items()) if not loop.is_closed())

    async def dial(self, address: Address | None, pushed: Callable[[list[Any]], None]) -> Pipe:
        """A connected pipe to `address`, or to the unix socket. Raises OSError, StoreFault."""
        loop = asyncio.get_running_loop()
        left_behind(self._open)
        if self.open >= self._limit:
            raise StoreFault(f"max_connections={self._limit} are open")
        self._open[loop] += 1
        batch = 1 if self.target.cluster else BATCH
        try:
            pipe = await self._connect(loop, address, lambda: Pipe(loop, pushed, batch))
        except BaseException:
            self._closed(loop)
            raise
        pipe.lost.add_done_callback(lambda lost: self._closed(loop))
        return pipe

    async def _connect(
        self, loop: asyncio.AbstractEventLoop, address: Address | None, make: Callable[[], Pipe]
    ) -> Pipe:
        if address is None:
            return (await loop.create_unix_connection(make, self.target.path))[1]
        tls = {} if self.target.tls is None else {"ssl": self._current(), "server_hostname": address[0]}
        return (await self._hosts.connect(make, address, **tls))[1]  # type: ignore[no-any-return]

    def _current(self) -> ssl.SSLContext:
        """The files as they stand now: those who live briefly exchange their certificates, and who vouches for them."""
        trusted = self.target.trusted()
        if self._context is None or trusted != self._trusted:
            self._context, self._trusted = self.target.context(), trusted
        self.target.present(self._context)
        return self._context

    def looking_up(self, address: Address | None) -> bool:
        """Whether nobody has told yet where that host is."""
        return address is not None and self._hosts.looking_up(address)

    def _closed(self, loop: asyncio.AbstractEventLoop) -> None:
        self._open[loop] -= 1
        if not self._open[loop]:
            del self._open[loop]

    def greeting(self) -> list[bytes]:
        """RESP3, who we are, and the database."""
        target, words = self.target, [b"HELLO", b"3"]
        if target.username or target.password:
            words += [b"AUTH", (target.username or "default").encode(), target.password.encode()]
        hello = pack(*words, b"SETNAME", b"cachelayer")
        return [hello, pack(b"SELECT", target.db)] if target.db else [hello]


class Link:
    """One connection to one address. `up(pipe, replies)` runs when it stands, with the replies to `greeting`;
    `down()` when it broke; `pushed` gets what the server sends unasked."""

    def __init__(
        self,
        dialer: Dialer,
        address: Address | None,
        tasks: Background,
        *,
        greeting: Sequence[bytes] = (),
        up: Callable[[Pipe, list[Any]], None] | None = None,
        down: Callable[[], None] | None = None,
        pushed: Callable[[list[Any]], None] | None = None,
    ) -> None:
        self._dialer, self.address, self._tasks, self._greeting = dialer, address, tasks, greeting
        self._up, self._down, self._pushed = up, down, pushed or _ignore
        self.pipe: Pipe | None = None
        self.failures = 0  # attempts in a row
        self.fault: StoreFault | None = None
        self._patience = dialer.target.patience
        self._open = self._closed = False
        self._news: list[asyncio.Future[None]] = []
        self._seen = NOTHING_OWED
        self._rest: asyncio.Future[None] | None = None
        self._hurried = False

    def open(self) -> None:
        """Begin to connect; does not wait."""
        if not self._open and not self._closed:
            self._open = True
            self._tasks.spawn(self._keep)

    async def ready(self, *, patient: bool = False) -> Pipe:
        """The connected pipe, waited for while the first attempt is under way; `patient`: or the next one.

        Raises StoreFault.
        """
        if self.pipe is None and (patient or not self.failures) and not self._closed:
            self.open()
            news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._news.append(news)
            await news
        return self.need()

    def need(self) -> Pipe:
        """The connected pipe, now. Raises StoreFault if there is none."""
        if self.pipe is None:
            raise StoreFault(str(self.fault or "not connected to Redis"))
        return self.pipe

    def hurry(self) -> None:
        """Try again now: there is word that the server is back. Whoever asks for the pipe waits for that attempt."""
        self._hurried, self.failures = True, 0
        wake(self._rest)

    def close(self) -> None:
        """Close the connection and try no more."""
        self._closed = True
        if self.pipe is not None:
            self.pipe.abort(StoreFault("the store was closed"))
        self._tell()

    def watch(self, now: float) -> None:
        """Cut the connection where it owes replies and neither said nor took anything for `Target.patience` seconds.

        Call now and then.
        """
        pipe = self.pipe
        if pipe is None:
            return
        stalled, since = self._seen
        moved = pipe.bytes_in, pipe.transport.get_write_buffer_size()  # large answers leave slowly
        if not pipe.pending:
            self._seen = NOTHING_OWED
        elif moved != stalled:
            self._seen = moved, now
        elif now - since > self._patience:
            pipe.abort(StoreFault("Redis owes replies and sends nothing"))

    async def _keep(self) -> None:
        while not self._closed:
            self._hurried = False
            try:
                pipe, replies = await within(self._patience, self._dial())
                self._stand(pipe, replies)
            except (OSError, StoreFault, UnicodeError) as fault:  # the last of a host that is no name
                if self._hurried:
                    continue  # that attempt began before the word came
                self.failures += 1
                self.fault = StoreFault(f"cannot connect to Redis at {self._where}: {self._why(fault)}")
                self._tell()
                pause = min(LAST, FIRST * 2 ** min(self.failures, 10)) * (0.5 + random.random() / 2)
                self._rest = asyncio.get_running_loop().create_future()
                await settled(self._rest, pause)
                continue
            try:
                await asyncio.shield(pipe.lost)
            finally:
                pipe.abort(StoreFault("the connection was given up"))

    def _stand(self, pipe: Pipe, replies: list[Any]) -> None:
        """Raises StoreFault if it broke at once, or where what `up` needs was refused."""
        if not pipe.lost.done():
            self.pipe, self.fault, pipe.ended = pipe, None, self._ended
            self._seen = NOTHING_OWED
            if self._up is not None:
                try:
                    self._up(pipe, replies)
                except NONSENSE as wrong:
                    pipe.abort(mistaken(wrong))
        if pipe.lost.done():
            raise pipe.lost.result()
        self.failures = 0
        self._tell()

    def _ended(self) -> None:
        if self.pipe is not None:
            self.fault, self.pipe = self.pipe.lost.result(), None
        if self._down is not None:
            self._down()

    async def _dial(self) -> tuple[Pipe, list[Any]]:
        pipe = await self._dialer.dial(self.address, self._pushed)
        try:
            hello = self._dialer.greeting()
            replies = [pipe.send(command) for command in (*hello, *self._greeting)]
            for reply in replies[: len(hello)]:  # whoever is turned away is told why and cut off
                if isinstance(refusal := await reply, Exception):
                    why = str(refusal).partition(", with args")[0]  # the password is among them
                    raise StoreFault(f"Redis >= 6 refused the greeting: {why.partition('. ')[0]}")
            return pipe, [await reply for reply in replies[len(hello) :]]
        except BaseException:
            pipe.abort(StoreFault("the greeting failed"))
            raise

    @property
    def _where(self) -> str:
        return self._dialer.target.path if self.address is None else "{}:{}".format(*self.address)

    def _why(self, fault: Exception) -> str:
        """What a person needs to know to put it right."""
        if isinstance(fault, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {fault.verify_message}"
        if isinstance(fault, TimeoutError) and self._dialer.looking_up(self.address):
            return f"its name was not resolved within {self._patience:g} s"
        if isinstance(fault, TimeoutError):
            return f"no greeting within {self._patience:g} s; is it there, and {TLS}"
        text = str(fault) if isinstance(fault, StoreFault) else f"{type(fault).__name__}: {fault}"
        return f"{text}; {TLS}" if text.endswith(CUT_OFF) else text

    def _tell(self) -> None:
        news, self._news = self._news, []
        for waiter in news:
            wake(waiter)


def _ignore(message: list[Any]) -> None:
    """A message nobody asked for."""
