"""Real Redis servers on loopback: one alone, or six as a cluster. They die with the tests."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

hiredis = pytest.importorskip("hiredis")
BINARY, CLI = shutil.which("redis-server"), shutil.which("redis-cli")
PATIENCE = 60.0


def need_redis() -> None:
    if BINARY is None:
        pytest.skip("needs redis-server on PATH")


def free_port() -> int:
    """A port whose cluster bus port (10000 above) is free too."""
    while True:
        port = random.randrange(21000, 31000)
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as two:
            one.bind(("127.0.0.1", port))
            two.bind(("127.0.0.1", port + 10000))
            return port


class Plain:
    """A blocking client with nothing of the library under test in it."""

    def __init__(self, port: int, password: str = "") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 5)
        self._reader = hiredis.Reader()
        if password:
            self("AUTH", password)

    def __call__(self, *words: Any) -> Any:
        packed = hiredis.pack_command(tuple(word if isinstance(word, bytes) else str(word) for word in words))
        self._socket.sendall(packed)
        while (reply := self._reader.gets()) is False:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("closed")
            self._reader.feed(data)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def close(self) -> None:
        self._socket.close()


class Server:
    """One redis-server process. `kill` is SIGKILL; `start` again uses the same port and directory."""

    def __init__(self, folder: Path, *options: str, port: int | None = None) -> None:
        need_redis()
        self.port = port or free_port()
        self.folder, self.options = folder, options
        folder.mkdir(parents=True, exist_ok=True)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For a store that does not mind machines which stall."""
        return f"{self.strict_url}?lag=5s"

    @property
    def strict_url(self) -> str:
        """For a store that takes the server for silent as soon as users' stores do."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> Server:
        command = [
            str(BINARY), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
            "--save", "", "--appendonly", "no", "--loglevel", "warning", *self.options,
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError, hiredis.ReplyError):
                client = Plain(self.port, self._password)
                try:
                    if client("PING") == b"PONG" and b"loading:0" in client("INFO", "persistence"):
                        return self
                finally:
                    client.close()
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "redis-server does not start"
            time.sleep(0.005)

    @property
    def _password(self) -> str:
        return (
            self.options[self.options.index("--requirepass") + 1] if "--requirepass" in self.options else ""
        )

    @contextlib.contextmanager
    def client(self) -> Iterator[Plain]:
        client = Plain(self.port, self._password)
        try:
            yield client
        finally:
            client.close()

    def do(self, *words: Any) -> Any:
        """One command over a connection of its own."""
        with self.client() as client:
            return client(*words)

    def kill(self) -> None:
        """As kill -9 does it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """The process stops where it is; its connections stay open and silent."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


class Cluster:
    """Three primaries with a replica each."""

    def __init__(self, folder: Path, *, node_timeout_ms: int = 2000) -> None:
        timeout = str(node_timeout_ms)
        options = (
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            timeout,
            "--repl-diskless-sync-delay",
            "0",
        )
        self.servers = [Server(folder / str(n), *options) for n in range(6)]

    @property
    def url(self) -> str:
        """See `Server.url`."""
        seeds = ",".join(f"127.0.0.1:{server.port}" for server in self.servers[:2])
        return f"redis+cluster://{seeds}?lag=5s"

    def start(self) -> Cluster:
        for server in self.servers:
            server.start()
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        create = [str(CLI), "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"]
        done = subprocess.run(create, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        self.settle()
        return self

    def settle(self) -> None:
        """Wait until every node says that all is well."""
        end = time.monotonic() + PATIENCE
        while not all(self._well(server) for server in self.servers if server.process is not None):
            assert time.monotonic() < end, "the cluster does not come up"
            time.sleep(0.02)

    @staticmethod
    def _well(server: Server) -> bool:
        info = server.do("CLUSTER", "INFO")
        nodes = server.do("CLUSTER", "NODES")
        known = b"cluster_state:ok" in info and b"cluster_slots_ok:16384" in info
        return known and b"handshake" not in nodes and nodes.count(b"slave") == 3

    def owner(self, slot: int) -> Server:
        """The primary that serves `slot`."""
        for server in self.servers:
            if server.process is None:
                continue
            for line in server.do("CLUSTER", "NODES").decode().splitlines():
                fields = line.split()
                spans = [word.split("-") for word in fields[8:] if not word.startswith("[")]
                mine = "myself" in fields[2] and "master" in fields[2]
                if mine and any(int(span[0]) <= slot <= int(span[-1]) for span in spans):
                    return server
        raise LookupError(slot)

    def primaries(self) -> list[Server]:
        alive = [server for server in self.servers if server.process is not None]
        return [server for server in alive if server.do("ROLE")[0] == b"master"]

    def kill(self) -> None:
        for server in self.servers:
            server.kill()
