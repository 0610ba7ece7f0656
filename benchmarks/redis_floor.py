"""A private redis-server, and the least that reads from it: one connection, hiredis, no header, no checks."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import hiredis


@contextlib.contextmanager
def redis_server(*options: str) -> Iterator[int]:
    """Its port on 127.0.0.1; no persistence."""
    with redis_process(*options) as (port, _):
        yield port


@contextlib.contextmanager
def redis_process(*options: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The same, with its process."""
    binary = shutil.which("redis-server")
    if binary is None:
        sys.exit("this benchmark starts a redis-server of its own: install redis-server")
    port = 60_000
    while port >= 55_000:  # a cluster's bus is 10,000 above
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        command = [
            binary,
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            folder,
            *options,
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            until(lambda: answers(port))
            yield port, process
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def redis_cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The URL of six nodes, three of them primaries with a replica each, and the processes of the primaries."""
    cli = shutil.which("redis-cli") or sys.exit("this benchmark creates a cluster: install redis-cli")
    options = (
        "--cluster-enabled",
        "yes",
        "--cluster-node-timeout",
        "2000",
        "--repl-diskless-sync-delay",
        "0",
    )
    with contextlib.ExitStack() as stack:
        nodes = [stack.enter_context(redis_process(*options)) for _ in range(6)]
        members = [f"127.0.0.1:{port}" for port, _ in nodes]
        create = [cli, "--cluster", "create", *members, "--cluster-replicas", "1", "--cluster-yes"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        until(lambda: all(well(cli, port) for port, _ in nodes))
        yield f"redis+cluster://{members[0]},{members[1]}", [process for _, process in nodes[:3]]


def well(cli: str, port: int) -> bool:
    """Whether a node says that the cluster stands and all replicas are known."""
    asked = [cli, "-p", str(port), "cluster"]
    info = subprocess.run([*asked, "info"], capture_output=True, text=True, check=False).stdout
    members = subprocess.run([*asked, "nodes"], capture_output=True, text=True, check=False).stdout
    return "cluster_state:ok" in info and members.count("slave") == 3 and "handshake" not in members


def answers(port: int) -> bool:
    """Whether a Redis answers there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as one:
        one.sendall(b"PING\r\n")
        return one.recv(16).startswith(b"+PONG")
    return False


def until(holds: Callable[[], bool], within: float = 30.0) -> None:
    """Wait for a condition."""
    end = time.monotonic() + within
    while not holds():
        if time.monotonic() > end:
            sys.exit("redis-server does not start")
        time.sleep(0.01)


class Bare(asyncio.Protocol):
    """Commands of one loop tick leave in one write; replies resolve in order. Nothing else."""

    def __init__(self) -> None:
        self.reader = hiredis.Reader()
        self.waiting: collections.deque[asyncio.Future[Any]] = collections.deque()
        self.out: list[bytes] = []
        self.loop = asyncio.get_running_loop()
        self.pushed: Callable[[Any], None] = lambda message: None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.reader.feed(data)
        while (reply := self.reader.gets()) is not False:
            if type(reply) is hiredis.PushNotification:
                self.pushed(reply)
            else:
                self.waiting.popleft().set_result(reply)

    def _flush(self) -> None:
        self.transport.write(b"".join(self.out))
        self.out.clear()

    def command(self, *words: bytes | str | int) -> asyncio.Future[Any]:
        """The future reply."""
        future = self.loop.create_future()
        self.waiting.append(future)
        if not self.out:
            self.loop.call_soon(self._flush)
        self.out.append(hiredis.pack_command(words))  # type: ignore[arg-type]  # its stub means one word
        return future


async def bare(port: int) -> Bare:
    """Connected, speaking RESP3."""
    _, protocol = await asyncio.get_running_loop().create_connection(Bare, "127.0.0.1", port)
    await protocol.command("HELLO", 3)
    return protocol
