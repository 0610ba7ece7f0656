"""Who sends more than the owner takes is told so: a client reads an answer once it has written its request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Server, Upstream

from cachelayer import CacheLayer
from cachelayer.cli.serve import upstream as behind
from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway

CHAT = "/v1/chat/completions"
KEY = {"authorization": "Bearer k"}
LARGE = b'{"model":"m","messages":[{"role":"user","content":"%b"}]}' % (b"x" * 8_000_000)
SMALL = LARGE.replace(b"xxxxxxxx", b"")
assert len(SMALL) < 100


@pytest.fixture
async def ask(
    serving: Callable[..., Server], upstream: Upstream, layer: CacheLayer
) -> AsyncIterator[httpx.AsyncClient]:
    server = serving(CacheLayerMiddleware(upstream, layer=layer, too_large="refuse"))
    async with httpx.AsyncClient(base_url=server.url, headers=KEY, verify=False, timeout=20) as client:
        yield client


async def _pieces() -> AsyncIterator[bytes]:
    for at in range(0, len(LARGE), 2**20):
        yield LARGE[at : at + 2**20]


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("chunked", [False, True])
async def test_who_sends_too_much_reads_why(ask: httpx.AsyncClient, known: bool, chunked: bool) -> None:
    """A connection that was closed meanwhile is all that it would see else; the official clients send it anew then."""
    if known:
        assert (await ask.post(CHAT, content=SMALL)).status_code == 200
    refused = await ask.post(CHAT, content=_pieces() if chunked else LARGE)
    assert refused.status_code == 413 and refused.json()["error"]["code"] == "request_too_large"


async def test_who_waits_for_leave_to_send_is_refused_at_once(ask: httpx.AsyncClient) -> None:
    reader, writer = await asyncio.open_connection(ask.base_url.host, ask.base_url.port)
    length = b"content-length: 8000000\r\nexpect: 100-continue\r\n\r\n"
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n" + length)
    assert (await asyncio.wait_for(reader.readline(), 20)).startswith(b"HTTP/1.1 413 ")
    writer.close()


async def test_who_sends_without_end_is_refused_in_the_end(upstream: Upstream, layer: CacheLayer) -> None:
    call = Client(CacheLayerMiddleware(upstream, layer=layer, too_large="refuse")).start(CHAT, b"")
    call._messages[:] = [{"type": "http.request", "body": b" " * 2**20, "more_body": True}] * 100
    assert (await call.wait()).status == 413


async def test_what_the_gateway_forwards_has_a_limit_of_which_it_tells(
    serving: Callable[..., Server], upstream: Upstream
) -> None:
    given: dict[str, Any] = {"upstream": [{"url": serving(upstream).url}], "server.log": "off"}
    gateway = Gateway(load(None, {}, {**given, "cache.semantic": "off"}))
    call = Client(gateway).start("/v1/files", b"")
    piece = {"type": "http.request", "body": b" " * 2**20, "more_body": True}
    sent = behind.MAX_BODY // 2**20 + 9
    call._messages[:] = [piece] * sent + [{**piece, "more_body": False}]
    assert (await call.wait()).status == 413 and not call._messages
    await gateway.behind.aclose()
