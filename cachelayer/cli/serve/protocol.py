"""uvicorn's HTTP/1.1 protocol, mended in seven places: trailers, `Upgrade`, clients of HTTP/1.0, those that send slowly
or endlessly, those that do not part, those that leave with several requests unanswered, and those that are just sending
when it ends.

httptools reports a trailer as if it were a header, after the headers have been read; here it is not one. It also drops
the body of a request with `Upgrade`, by which Java's HttpClient and `curl --http2` offer HTTP/2; a server that does not
accept the offer answers as if there were none (RFC 9110, section 7.8). uvicorn answers HTTP/1.0 in chunks, which nobody
there can read (RFC 9112, section 6.1). And neither httptools nor uvicorn limits what a client may send, or for how long
it may send nothing, before it is known who it is.
"""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

MAX_HEAD = 65536
"""Bytes of a request's head, or of what stands between two pieces of its body, that may come without its end."""
PATIENCE = 60.0
"""Seconds for which a head may be incomplete, and nothing come of a body, before the connection is closed."""
PARTING = 5.0
"""Seconds that a TLS client has for its goodbye when the process ends. Those that pool connections answer ours when
they next use one; asyncio waits 30 seconds for that."""
LINGERING = 0.5
"""Seconds for which a connection without a request stays open when the process ends: closed at once, one in a
thousand requests of busy clients met a connection that was just being closed."""
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_OFFER = re.compile(rb"\r\nupgrade:[^\r\n]*(?=\r\n)", re.IGNORECASE)
_PART = re.compile(rb"\r(\n(u|up|upg|upgr|upgra|upgrad|upgrade|upgrade:[^\r\n]*\r?)?)?\Z", re.IGNORECASE)
"""What may become such a line, at the end of what has come of a head."""


class Careful:
    """A mixin that goes before uvicorn's protocol class; one object per connection."""

    cycle: Any
    parser: Any
    transport: Any
    flow: Any
    config: Any
    loop: asyncio.AbstractEventLoop
    timeout_keep_alive_task: asyncio.TimerHandle | None
    """uvicorn's own look at a connection that is idle, until something comes."""
    headers: list[tuple[bytes, bytes]]
    scheme: str
    scope: dict[str, Any]
    patience, parting, lingering = PATIENCE, PARTING, LINGERING
    _unread = _heard = _begun = 0
    """Bytes since a head or a piece of a body was complete; pieces received; requests begun."""
    _earlier: Sequence[Any] = ()
    """Requests before the last one, if they were not answered when it came; uvicorn tells only the last that the
    client has left."""
    _in_body = False
    _held = b""
    """The end of what came of a head, if it may be the begin of an offer."""
    _mark: tuple[int, int] | None = (0, 0)
    """How far the client was at the last look; None if it was not waited for."""
    _look: asyncio.TimerHandle
    _ends = False
    """Whether the process does."""
    _part: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start watching the connection."""
        super().connection_made(transport)  # type: ignore[misc]
        self._look = self.loop.call_later(self.patience, self._looked)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching it."""
        self._look.cancel()
        if self._part is not None:
            self._part.cancel()
        for cycle in self._earlier:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)  # type: ignore[misc]

    def shutdown(self) -> None:
        """Close the connection soon: the process ends. What its client is just sending is answered before."""
        self._ends = True
        if self.cycle is None or self.cycle.response_complete:
            self._linger()
        elif not self.cycle.response_started:
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """The connection may be closed now, at once if the answer's head said so."""
        super().on_response_complete()  # type: ignore[misc]
        if self._ends and not self.transport.is_closing():
            self._linger()
        self._part_soon()

    def _linger(self) -> None:
        drain = self.config.timeout_graceful_shutdown
        self.loop.call_later(self.lingering if drain is None else min(self.lingering, drain / 2), self._leave)

    def _leave(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
            self._part_soon()

    def _part_soon(self) -> None:
        """Wait for a goodbye no longer than is due."""
        if self._ends and self.scheme == "https" and self.transport.is_closing() and self._part is None:
            self._part = self.loop.call_later(self.parting, self.transport.abort)

    def _looked(self) -> None:
        """Close the connection if the client is waited for and has sent nothing since the last look."""
        cycle, mark = self.cycle, None
        if cycle is None or (cycle.response_complete and self.timeout_keep_alive_task is None):
            mark = self._begun, 0
        elif cycle.more_body and not self.flow.read_paused:
            mark = self._begun, self._heard
        if mark is not None and mark == self._mark:
            self.transport.close()
        else:
            self._mark = mark
            self._look = self.loop.call_later(self.patience, self._looked)

    def on_headers_complete(self) -> None:
        """Headers that come from now on are trailers, which nobody reads."""
        self._unread = 0
        self._begun += 1
        self._in_body = True
        if self.cycle is not None and not self.cycle.response_complete:
            unanswered = [one for one in self._earlier if not one.response_complete]
            self._earlier = [*unanswered, self.cycle]
        super().on_headers_complete()  # type: ignore[misc]
        self.headers = []
        if self.scope["http_version"] == "1.0":
            self.cycle.send = _Unchunked(self.cycle).send
        if self._ends:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """A piece of the body is complete."""
        self._unread = 0
        super().on_body(body)  # type: ignore[misc]

    def on_message_complete(self) -> None:
        """What comes from now on is another request."""
        self._in_body = False
        super().on_message_complete()  # type: ignore[misc]

    def _without_offer(self, data: bytes) -> bytes:
        """A piece of a head that may end in it, without the `Upgrade` header."""
        head, end, rest = data.partition(b"\r\n\r\n")
        if not end and (part := _PART.search(head)):
            head, self._held = head[: part.start()], part[0]
        if b"upgrade:" in head.lower():
            head = _OFFER.sub(b"", head + b"\r\n")[:-2]
        return head + end + rest

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, without the `Upgrade` header of a request that begins or goes on here."""
        before = self._unread
        self._unread += len(data)
        self._heard += 1
        if not self._in_body:
            before -= len(self._held)
            data, self._held = self._held + data, b""
            if self._unread > MAX_HEAD and before + len(data.partition(b"\r\n\r\n")[0]) > MAX_HEAD:
                self._refuse()
                return
            data = self._without_offer(data)
        super().data_received(data)  # type: ignore[misc]
        if self._unread > MAX_HEAD:
            self._refuse()

    def _refuse(self) -> None:
        """Too large, whether its end has come or not."""
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(_TOO_LARGE)
            self.transport.close()


class _Unchunked:
    """Sends an answer to a client that reads no chunks: its end is that of the connection, if it does not say how long
    it is. Such a client knows no `100 Continue` either (RFC 9110, section 10.1.1)."""

    _sized = False

    def __init__(self, cycle: Any) -> None:
        cycle.waiting_for_100_continue = False
        self._cycle, self._send = cycle, cycle.send

    async def send(self, message: Any) -> None:
        cycle = self._cycle
        if message["type"] == "http.response.start":
            self._sized = any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
            if not self._sized:
                cycle.chunked_encoding = False
        elif not self._sized:
            cycle.expected_content_length = len(message.get("body", b""))
        await self._send(message)


@cache
def protocol() -> Any:
    """The protocol class for uvicorn, or "auto" without httptools."""
    try:
        own = importlib.import_module("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol
    except ImportError:  # no httptools: uvicorn has another, which keeps bodies
        return "auto"
    return type("Protocol", (Careful, own), {"__module__": __name__})


def __getattr__(name: str) -> Any:
    """`Protocol`, for worker processes, which find it by its name."""
    if name == "Protocol":
        return protocol()
    raise AttributeError(name)
