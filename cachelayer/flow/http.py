"""HTTP/1.1 to the servers behind us, on aiohttp: persistent connections, answers in the pieces in which they come."""

from __future__ import annotations

import asyncio
import importlib
import re
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from weakref import WeakSet

from ..errors import ConfigurationError, MissingExtra, broken
from .certificates import Trust
from .connections import connector

KEEPALIVE = 4.0
"""Seconds an idle connection is kept. uvicorn closes at 5 s, and a POST on a closing connection is lost."""
MAX_HEADER = 65536
LONGEST_WAIT = 3600.0
"""Seconds for which a server that asks to be left alone is asked last, at most."""
_SAFE = "/:@!$&'()*+,;=~%"
_BARE = re.compile("%(?![0-9A-Fa-f]{2})")
"""A percent sign that escapes nothing."""

Headers = Iterable[tuple[bytes, bytes]]


class HttpFault(Exception):
    """The server cannot be reached, broke off, or speaks something else; `kind` is the name of the fault behind."""

    asked = True
    """Whether the server may have got the request, and acted upon it."""

    def __init__(self, kind: str, said: str = "") -> None:
        super().__init__(f"{kind}: {said}" if said else kind)
        self.kind = kind


class TookTooLong(HttpFault):
    """No connection, or no byte, within the time that was given."""


class Stale(HttpFault):
    """A kept connection ended before its answer began: the server may have closed it meanwhile."""


class Answer:
    """A response whose head is here. Closed before its end it closes its connection, which tells the server."""

    def __init__(self, http: Http, response: Any) -> None:
        self._http, self._response = http, response
        http.answers.add(self)
        self.status: int = response.status
        self.headers: Headers = response.raw_headers
        bodiless = response.method == "HEAD" or self.status in (204, 304)
        framed = "content-length" in response.headers or "transfer-encoding" in response.headers
        self._until_end = not (bodiless or framed)
        """Whether the end of the connection is that of the body."""

    def header(self, name: str) -> str:
        """The value of a header, '' if there is none."""
        value: str = self._response.headers.get(name, "")
        return value

    def wait(self) -> float | None:
        """Seconds for which the server asks to be left alone, if it does (RFC 9110, section 10.2.3)."""
        header = self.header("retry-after").strip()
        asked = float(header) if header.isdecimal() else seconds_until(header, self.header("date"))
        return None if asked is None else min(max(asked, 0.0), LONGEST_WAIT)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in its own encoding, in the pieces in which it comes. Raises HttpFault."""
        content = self._response.content
        while True:
            try:
                piece, ends = await content.readchunk()
            except self._http.faults as fault:
                if rest := self._rest():
                    yield rest
                raise self._http.as_http_fault(fault) from fault
            if piece:
                yield piece
            elif not ends or content.at_eof():  # what has no body ends a chunk again and again
                self._check_end()
                return

    def _check_end(self) -> None:
        """Raises HttpFault for a body that only a lost connection ended, which aiohttp takes for whole."""
        lost = self._response._protocol.exception() if self._until_end else None
        if isinstance(lost, OSError):
            torn = self._http.torn(str(lost))
            raise self._http.as_http_fault(torn) from torn

    def _rest(self) -> bytes:
        """What came before a connection broke and was not read yet: aiohttp itself gives no more of it out."""
        rest = b""
        with suppress(AttributeError, TimeoutError):
            rest = self._response.content._read_nowait(-1)
        return rest

    async def read(self) -> bytes:
        """The whole body. Raises HttpFault."""
        return b"".join([piece async for piece in self.pieces()])

    async def let_end(self, within: float) -> None:
        """Nothing more is awaited: let the body end, so that its connection can serve again. Never raises HttpFault."""
        with suppress(HttpFault, TimeoutError):
            async with asyncio.timeout(within):
                async for _ in self.pieces():
                    pass

    def close(self) -> None:
        self._response.close()

    def cut(self) -> None:
        """The client is closed: fail the reader, which aiohttp itself would leave waiting for ever."""
        self._response.content.set_exception(self._http.closed())
        self.close()


class Http:
    """One server. `connect` and `read` are seconds: until there is a connection, and between two pieces.

    Of more requests at once than `connections` the others wait for one, `connect` at most; 0 for as many as there are.
    `keep=False`: each request has a connection of its own, which the server has had no time to close.
    `trust`: a file of certificates that vouch for it, beside those that the system trusts; read anew once it changed.

    Sends the headers that it is given and those that HTTP itself needs, no cookies; follows no redirects; asks no
    environment variable. A user and password in `url` are sent in place of any `authorization` given. Raises
    MissingExtra, and ConfigurationError for a URL that is none.
    """

    def __init__(
        self,
        url: str,
        *,
        connect: float,
        read: float | None = None,
        connections: int = 1024,
        keep: bool = True,
        trust: str = "",
        needed_by: str,
        extra: str,
    ) -> None:
        try:
            self._aiohttp: Any = importlib.import_module("aiohttp")
            self._url_of: Any = importlib.import_module("yarl").URL
        except ImportError as fault:
            raise MissingExtra(needed_by, "aiohttp", extra, broken("aiohttp", fault)) from fault
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError("url", url, "give http://HOST:PORT or https://HOST")
        self.path = parts.path.rstrip("/")
        self.base = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{self.path}"
        """The URL without user and password."""
        self._basic = b""
        if parts.username is not None:
            credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._basic = b"Basic " + b64encode(credentials)
        self._connect, self._read = connect, read
        kept = {"keepalive_timeout": KEEPALIVE} if keep else {"force_close": True}
        self._connections: dict[str, Any] = {"limit": connections, **kept}
        self.faults = (self._aiohttp.ClientError, TimeoutError, OSError, ValueError)
        self._trust = Trust(trust) if parts.scheme == "https" else None
        self.closed: Any = partial(self._aiohttp.ClientConnectionError, "the client was closed")
        self.torn: Any = self._aiohttp.ClientPayloadError
        self.answers: WeakSet[Answer] = WeakSet()
        """Those that may still be read."""
        self._session: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def as_http_fault(self, fault: BaseException) -> HttpFault:
        """A fault of the library's as one of ours."""
        lib, kind = self._aiohttp, HttpFault
        if isinstance(fault, TimeoutError):
            kind = TookTooLong
        elif isinstance(fault, lib.ServerDisconnectedError | lib.ClientOSError | ConnectionError):
            fresh = getattr(fault, "fresh", isinstance(fault, lib.ClientConnectorError))
            kind = HttpFault if fresh else Stale
        ours = kind(type(fault).__name__, str(fault))
        ours.asked = not isinstance(fault, lib.ClientConnectorError | lib.ConnectionTimeoutError)
        return ours

    def _opened(self) -> Any:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            lib, self._loop = self._aiohttp, loop
            made = connector(lib)(self._trust, **self._connections)
            timeout = lib.ClientTimeout(total=None, connect=self._connect, sock_read=self._read)
            self._session = lib.ClientSession(
                connector=made, timeout=timeout, cookie_jar=lib.DummyCookieJar(), auto_decompress=False,
                skip_auto_headers=("user-agent", "accept", "accept-encoding", "content-type"),
                max_line_size=MAX_HEADER, max_field_size=MAX_HEADER,
            )  # fmt: skip
            # whoever sends a request decides whether it is sent again
            self._session._retry_connection = False
        return self._session

    async def send(
        self, method: str, path: str, *, query: bytes = b"", headers: Headers = (), body: bytes = b""
    ) -> Answer:
        """Ask, until the answer's head is here; what is escaped in `path` and `query` stays so. Raises HttpFault."""
        if self._basic:
            headers = [one for one in headers if one[0].lower() != b"authorization"]
            headers.append((b"authorization", self._basic))
        path = quote(_BARE.sub("%25", path.removeprefix("/")), safe=_SAFE)
        target = f"{self.base}/{path}"  # whatever `path` is: never a part of the host's name
        if query:
            target += f"?{query.decode('latin-1')}"
        if self._loop is not None and self._loop.is_closed():
            await self.aclose()
        session = self._opened()
        try:
            response = await session.request(
                method, self._url_of(target, encoded=True), data=body or None, allow_redirects=False,
                headers=[(name.decode("latin-1"), _text(value)) for name, value in headers],
            )  # fmt: skip
        except self.faults as fault:
            raise self.as_http_fault(self.closed() if session.closed else fault) from fault
        if not 200 <= response.status < 600:  # 101, say: nobody asked for another protocol
            response.close()
            raise HttpFault(f"status {response.status}")
        return Answer(self, response)

    async def whole(
        self, method: str, path: str, *, within: float | None = None, headers: Headers = (), body: bytes = b""
    ) -> tuple[int, bytes]:
        """(status, whole body), within so many seconds. Raises HttpFault."""
        try:
            async with asyncio.timeout(within):
                answer = await self.send(method, path, headers=headers, body=body)
                try:
                    return answer.status, await answer.read()
                finally:
                    answer.close()
        except TimeoutError as late:
            raise TookTooLong(type(late).__name__) from late

    async def aclose(self) -> None:
        """Whoever waits for an answer, or for more of one, is told by an HttpFault."""
        session, self._session, loop, self._loop = self._session, None, self._loop, None
        if session is not None:
            for answer in [] if loop is None or loop.is_closed() else list(self.answers):
                answer.cut()
            await session.close()


def seconds_until(date: str, now: str = "") -> float | None:
    """Negative for a date that has passed; None for what is no date of HTTP (RFC 9110, section 5.6.7).

    `now`: what the clock of whoever said so tells; ours where it is no date.
    """
    then, here = _moment(date), _moment(now)
    return None if then is None else then - (time.time() if here is None else here)


def _moment(date: str) -> float | None:
    try:
        read = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    # one that names no zone, as asctime() writes it, is of UTC
    return (read if read.tzinfo is not None else read.replace(tzinfo=UTC)).timestamp()


def _text(value: bytes) -> str:
    """What is written as the same bytes again; what is no UTF-8 is read as Latin-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
