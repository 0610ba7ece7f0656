"""A TCP proxy that misbehaves on demand: late, silent, cut, short or garbled."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable


class FaultProxy:
    """Forwards to 127.0.0.1:`target`. Set the attributes at any time; they apply to what passes from then on."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.delay = 0.0  # seconds, for what the server says
        self.hang = False  # swallow what the server says
        self.refuse = False  # close new connections at once
        self.garble: Callable[[bytes], bytes] | None = None  # changes what the server says
        self.cut_after: int | None = None  # bytes of the server's, then the connection is cut
        self.hold: bytes | None = None  # what a client says with this in it waits for `go`
        self.hold_reply: bytes | None = None  # the same of what the server says
        self.held, self.go = asyncio.Event(), asyncio.Event()
        self.connections = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> FaultProxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        self.refuse = True
        for _ in range(3):  # connections that are being made right now
            self.cut()
            await asyncio.sleep(0.001)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def heal(self) -> None:
        self.delay, self.hang, self.refuse, self.garble, self.cut_after = 0.0, False, False, None, None

    def cut(self) -> None:
        """Cut every connection now."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.refuse:
            writer.transport.abort()
            return
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, up_writer}
        if self.refuse:
            self.cut()
        for task in (
            self._pump(reader, up_writer, from_server=False),
            self._pump(up_reader, writer, from_server=True),
        ):
            one = asyncio.get_running_loop().create_task(task)
            self._tasks.add(one)
            one.add_done_callback(self._tasks.discard)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, from_server: bool
    ) -> None:
        loop, due, late = asyncio.get_running_loop(), 0.0, deque[bytes]()
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                hold = self.hold_reply if from_server else self.hold
                if hold is not None and hold in data:
                    self.held.set()
                    await self.go.wait()
                if from_server:
                    data = self._spoil(data)
                    due = max(due, loop.time() + self.delay)
                if late or due > loop.time():  # latency: what is late keeps its order
                    late.append(data)
                    loop.call_at(due, lambda: writer.write(late.popleft()))
                else:
                    writer.write(data)
                    await writer.drain()
                if from_server and self.cut_after == 0:
                    self.cut_after = None
                    break
        writer.close()

    def _spoil(self, data: bytes) -> bytes:
        if self.hang:
            return b""
        if self.garble is not None:
            data = self.garble(data)
        if self.cut_after is not None:
            data = data[: self.cut_after]
            self.cut_after -= len(data)
        return data
