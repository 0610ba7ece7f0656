"""One line of JSON a request, never a word of a prompt or an answer, written by a thread of its own."""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
import time
from contextlib import suppress
from typing import Any, TextIO

import orjson

LIMIT = 10_000
"""Lines that may wait for a slow terminal; what comes beyond is counted instead."""
PATIENCE = 2.0
"""Seconds that the last lines have to be written."""
EVERY = 0.05
"""Seconds between two writes: a thread that woke for each line would cost more than the request."""


def say(what: str) -> None:
    """A line to standard error, if anybody reads it; in one piece, or those of several processes get mixed."""
    with suppress(OSError):
        sys.stderr.write(f"cachelayer: {what}\n")
        sys.stderr.flush()


class Log:
    """Writes events. `off` writes none, `errors` only those of status 500 and above and of the process itself."""

    def __init__(self, level: str, out: TextIO | None = None) -> None:
        self._level, self._out = level, out or sys.stdout
        self._lines: list[bytes] = []
        self._ready: queue.Queue[list[bytes] | None] = queue.Queue(8)
        self._thread: threading.Thread | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.dropped = 0

    def wants(self, status: int) -> bool:
        """Whether a request of this status is told."""
        return self._level == "all" or (self._level == "errors" and status >= 500)

    def tell(self, event: str, **fields: Any) -> None:
        """Never waits. For use on the event loop."""
        if self._level == "off":
            return
        if len(self._lines) >= LIMIT:
            self.dropped += 1
            return
        self._lines.append(orjson.dumps({"time": round(time.time(), 3), "event": event, **fields}))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._hand_over)

    def _hand_over(self) -> None:
        self._timer = None
        try:
            if self._thread is None:
                thread = threading.Thread(target=self._write, name="cachelayer-log", daemon=True)
                thread.start()
                self._thread = thread
            self._ready.put_nowait(self._lines)
        except (queue.Full, RuntimeError):  # the terminal is slow, or no thread starts: they wait
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._hand_over)
            return
        self._lines = []

    def _write(self) -> None:
        while (lines := self._ready.get()) is not None:
            try:
                self._out.write(b"\n".join([*lines, b""]).decode())
                self._out.flush()
            except BrokenPipeError:  # nobody reads any more: requests are served all the same
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
            except (OSError, ValueError):  # a full disk, say, or a terminal that cannot spell it
                self.dropped += len(lines)

    def close(self) -> None:
        """Write what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._hand_over()
        if self._thread is not None:
            with suppress(queue.Full):  # a reader that stands still keeps no process from ending
                self._ready.put(None, timeout=PATIENCE)
                self._thread.join(PATIENCE)
                self._thread = None


class Logged:
    """An app whose requests are told: method, path, status, what the cache did, milliseconds, bytes."""

    def __init__(self, app: Any, log: Log) -> None:
        self.app, self.log = app, log

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        started = time.perf_counter()
        status = size = 0
        cache = b""
        ended = False

        async def observed(message: Any) -> None:
            nonlocal status, size, cache, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                said = [v for n, v in message.get("headers", ()) if n == b"cache-status"]
                cache = said[-1] if said else b""  # other caches behind us spoke before
                cache = getattr(cache, "full", cache)  # with what its caller must not know
            else:
                size += len(message.get("body", b""))
                ended = not message.get("more_body", False)
            await send(message)

        try:
            await self.app(scope, receive, observed)
        finally:
            if self.log.wants(status if ended else 500):
                took = round((time.perf_counter() - started) * 1e3, 2)
                more = {} if ended else {"cut": True}
                self.log.tell(
                    "request", method=scope["method"], path=scope["path"], status=status,
                    cache=cache.decode("latin-1").removeprefix("cachelayer").lstrip("; "), ms=took, bytes=size, **more,
                )  # fmt: skip
