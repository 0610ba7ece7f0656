"""A request that may act is sent to no other upstream, once one may have got it; any other is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgi_client import Client
from upstream import Server, Upstream

Serving = Callable[..., Server]
ACTS = "/v1/responses"
HANGS_UP, SILENT = b"", None
STATUS = b"HTTP/1.1 %d No\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
NOT_HTTP, HALF = (
    b"SMTP\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n",
)


class Acting:
    """Counts what it was asked, says `said` and hangs up; None says nothing."""

    def __init__(self, said: bytes | None) -> None:
        self.said, self.asked = said, 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        if self.said is None:
            await reader.read()
        else:
            writer.write(self.said)
        writer.close()


@pytest.fixture
async def acting() -> AsyncIterator[Callable[[bytes | None], Awaitable[tuple[Acting, str]]]]:
    made: list[asyncio.Server] = []

    async def start(said: bytes | None) -> tuple[Acting, str]:
        one = Acting(said)
        made.append(await asyncio.start_server(one, "127.0.0.1", 0))
        return one, f"http://127.0.0.1:{made[-1].sockets[0].getsockname()[1]}"

    yield start
    for server in made:
        server.close()


@pytest.fixture
def gateway(gateway: Callable[..., Client]) -> Callable[..., Client]:
    return lambda *urls: gateway(*({"url": url, "read_timeout": 0.3} for url in urls))


@pytest.mark.parametrize(("said", "status"), [
    (SILENT, 504), (HANGS_UP, 502), (NOT_HTTP, 502), (HALF, 502), (STATUS % 502, 502), (STATUS % 504, 504),
])  # fmt: skip
async def test_what_may_have_acted_is_not_asked_again(
    gateway: Any, acting: Any, serving: Serving, upstream: Upstream, said: bytes | None, status: int
) -> None:
    one, url = await acting(said)
    other = serving(upstream).url
    answer = await gateway(url, other).post(ACTS, {"model": "m", "prompt": "x"})
    assert (answer.status, one.asked, upstream.paths) == (status, 1, [])
    again = await gateway(url, other).post(ACTS, {"model": "m", "prompt": "x"}, method="PUT")
    assert again.status == 200 and upstream.paths == [ACTS]


@pytest.mark.parametrize("status", [429, 503, 529, None])
async def test_what_was_turned_away_is_asked_of_another(
    gateway: Any, acting: Any, serving: Serving, upstream: Upstream, status: int | None
) -> None:
    with socket.socket() as nobody:  # bound, and never listening
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        if status is not None:
            _, url = await acting(STATUS % status)
        answer = await gateway(url, serving(upstream).url).post(ACTS, {"model": "m", "prompt": "x"})
    assert answer.status == 200 and upstream.paths == [ACTS]


async def test_the_caller_is_told_of_the_one_that_may_have_acted(gateway: Any, acting: Any) -> None:
    urls = [(await acting(said))[1] for said in (STATUS % 503, SILENT)]
    assert (await gateway(*urls).post(ACTS, {"model": "m"})).status == 504


async def test_who_meets_closing_connections_is_answered_on_a_new_one(gateway: Any) -> None:
    """A server that restarts closes all that it kept: who met two of them in a row got 502."""
    both = asyncio.Barrier(2)

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if b"first" in await reader.readuntil(b"}]}"):
            await both.wait()
        writer.write(STATUS % 200)
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(once, "127.0.0.1", 0) as server:
        c = gateway(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        kept = await asyncio.gather(c.chat("the first"), c.chat("the first, too"))
        assert [one.status for one in (*kept, await c.chat("another"))] == [200] * 3
