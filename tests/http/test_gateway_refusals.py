"""Upstreams that are at their limit are passed over and left alone, and keys come in the headers of all three APIs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest
from asgi_client import Client
from upstream import Server, Upstream

Serving = Callable[..., Server]
KEY = {"tenant": "acme", "sha256": hashlib.sha256(b"ours").hexdigest(), "trusted": True}


class Busy(Upstream):
    """Refuses every request in words of its own; keeps the heads."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__()
        self.status, self.heads = status, list[dict[bytes, bytes]]()
        self.told = [(n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await super().__call__(scope, receive, send)
        self.heads.append(dict(scope["headers"]))
        await receive()
        await self._reply(send, self.status, b'{"error":"mine"}', self.told)
        return None


@pytest.fixture
def gateway(gateway: Callable[..., Client], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Client]:
    monkeypatch.setenv("OURS", "sk-ours")

    def make(*urls: str, own: bool = False, **given: Any) -> Client:
        return gateway(*({"url": url, **({"key_env": "OURS"} if own else {})} for url in urls), **given)

    return make


def _later() -> str:
    return formatdate(time.time() + 60, usegmt=True)


@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize("wait", ["60", "later"])
async def test_an_upstream_that_is_at_its_limit_is_left_alone_for_as_long_as_it_asks(
    gateway: Any, serving: Serving, upstream: Upstream, status: int, wait: str
) -> None:
    busy = Busy(status, retry_after=_later() if wait == "later" else wait)
    c = gateway(serving(busy).url, serving(upstream).url, own=True, **{"retry.cooldown": 0})
    for i in range(3):
        assert (await c.chat(f"question {i}")).status == 200
    assert len(busy.heads) == 1 and len(upstream.requests) == 3


async def test_a_limit_of_one_callers_key_moves_nobody_else(
    gateway: Any, serving: Serving, upstream: Upstream
) -> None:
    busy = Busy(429, retry_after="60")
    c = gateway(serving(busy).url, serving(upstream).url)
    for i in range(3):
        assert (await c.chat(f"question {i}")).status == 200
    assert len(busy.heads) == 3


async def test_where_all_are_at_their_limit_the_last_ones_own_words_are_told(
    gateway: Any, serving: Serving
) -> None:
    servers = [Busy(429, retry_after="7", x_request_id=f"r{i}") for i in range(2)]
    answer = await gateway(*[serving(one).url for one in servers]).chat("hello")
    assert (answer.status, answer.body, answer.header("x-request-id")) == (429, b'{"error":"mine"}', "r1")
    assert answer.header("retry-after") == "7"


@pytest.mark.parametrize(("wait", "told"), [("7", "7"), ("soon", ""), ("\u00b2", ""), ("9" * 400, "3600")])
async def test_a_limit_is_told_where_the_others_cannot_be_reached(
    gateway: Any, serving: Serving, free_port: Callable[[], int], wait: str, told: str
) -> None:
    answer = await gateway(serving(Busy(429, retry_after=wait)).url, f"http://127.0.0.1:{free_port()}").chat(
        "hello"
    )
    assert (answer.status, answer.header("retry-after")) == (429, told)
    assert answer.json()["error"]["code"] == "upstream_error"


@pytest.mark.parametrize("header", ["x-api-key", "api-key"])
async def test_a_key_may_come_in_the_headers_of_anthropic_and_azure_and_goes_no_further(
    gateway: Any, serving: Serving, header: str
) -> None:
    upstream = Busy(400)
    url = serving(upstream).url
    c = gateway(url, own=True, bearer=None, key=[KEY])
    assert (await c.chat("x", headers={header: "ours"})).status == 400
    assert (await c.chat("x", headers={header: "theirs"})).status == 401
    assert (await c.chat("x", headers={"authorization": "Digest ours"})).status == 401
    assert (await c.chat("x", headers={"authorization": "Bearer theirs", header: "ours"})).status == 401
    assert (await c.chat("x", headers={"authorization": "Bearer ours", header: "theirs"})).status == 400
    for seen in upstream.heads:
        assert header.encode() not in seen and seen[b"authorization"] == b"Bearer sk-ours"


@pytest.mark.parametrize("own", [True, False])
async def test_where_the_gateway_has_a_key_for_the_upstream_clients_keep_theirs(
    gateway: Any, serving: Serving, own: bool
) -> None:
    upstream = Busy(400)
    await gateway(serving(upstream).url, own=own, bearer=None).chat("x", headers={"x-api-key": "sk-mine"})
    (seen,) = upstream.heads
    assert seen.get(b"x-api-key") == (None if own else b"sk-mine")


@pytest.mark.parametrize("method", ["TRACE", "CONNECT"])
async def test_a_request_for_an_echo_or_a_tunnel_goes_no_further(
    gateway: Any, serving: Serving, method: str
) -> None:
    """The echo would tell its reader the gateway's key."""
    upstream = Busy(200)
    answer = await gateway(serving(upstream).url, own=True).post("/v1/models", b"", method=method)
    assert (answer.status, upstream.heads) == (405, [])
