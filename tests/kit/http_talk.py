"""A client towards servers that are sockets: each test says what the server does on a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

from cachelayer.flow.http import Answer, Http

OK = b"HTTP/1.1 200 OK\r\n"
Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Talk = Callable[[Reader, Writer], Awaitable[None]]


async def request_of(reader: Reader) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """The request line, the headers in lower case, the body."""
    head = await reader.readuntil(b"\r\n\r\n")
    line, *lines = head[:-4].split(b"\r\n")
    headers = {name.lower(): value for name, _, value in (one.partition(b": ") for one in lines)}
    return line, headers, await reader.readexactly(int(headers.get(b"content-length", b"0")))


@asynccontextmanager
async def talking(talk: Talk, **options: Any) -> AsyncIterator[Http]:
    """A client of a server that talks so on each connection."""

    async def connected(reader: Reader, writer: Writer) -> None:
        with closing(writer):
            await talk(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/base/"
    http = Http(url, **{"connect": 5.0, "needed_by": "a test", "extra": "serve", **options})
    try:
        yield http
    finally:
        await http.aclose()
        server.close()


async def asked(http: Http, **given: Any) -> tuple[Answer, bytes]:
    answer = await http.send("POST", "/v1/x", **given)
    with closing(answer):
        return answer, await answer.read()
