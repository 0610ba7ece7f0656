"""Whom the app refuses, and who decides in its place: a refusal holds, whatever was asked and however it is said."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from turns import turns
from upstream import Upstream

from cachelayer import CacheLayer

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(("status", "let_in"), [
    (200, True), (204, True), (299, True), (199, False), (300, False), (302, False), (401, False), (500, False),
])  # fmt: skip
async def test_an_app_that_authorizes_lets_in_by_success_alone(
    upstream: Upstream, layer: CacheLayer, status: int, let_in: bool
) -> None:
    async def authorizes(scope: Any, receive: Any, send: Any) -> None:
        await Upstream._reply(send, status, b"", [])

    client = Client(CacheLayerMiddleware(upstream, layer=layer, authorize=authorizes))
    assert [(await client.chat("x")).hit for _ in range(3)] == [False, let_in, let_in]
    assert len(upstream.requests) == (1 if let_in else 3)


@pytest.mark.parametrize(("body", "headers"), [
    (ask("new"), {}), (ask("new", stream=True), {}), (b"no JSON", {}), (b" " * 5_000, {}),
    (ask("x"), {"range": "bytes=0-9"}), (ask("x"), {"content_encoding": "gzip"}),
])  # fmt: skip
async def test_a_key_is_shut_out_by_its_refusal_on_whatever_request(
    layer: CacheLayer, body: Any, headers: dict[str, str]
) -> None:
    upstream = Upstream(keys={"Bearer good"})
    client = Client(CacheLayerMiddleware(upstream, layer=layer, max_body=4_000), key="good")
    assert [(await client.chat("x")).hit for _ in range(4)] == [False, True, True, True]
    upstream.keys = set()
    assert (await client.post(CHAT, body, **headers)).status == 401
    assert (await client.chat("x")).status == 401


@pytest.mark.parametrize("stream", [False, True])
async def test_a_slow_answer_opens_no_door_that_was_shut_while_it_was_made(
    layer: CacheLayer, stream: bool
) -> None:
    """The app looked at its key before that was revoked."""
    upstream = Upstream(keys={"Bearer good"})
    client = Client(CacheLayerMiddleware(upstream, layer=layer), key="good")
    await client.chat("x")
    assert (await client.chat("x")).hit
    slow = client.chatting({"say": "y", "hold": "gate"}, stream=stream)
    await turns(20)
    upstream.keys = set()
    assert (await client.chat("new")).status == 401
    upstream.gate("gate").set()
    assert (await slow.wait()).status == 200
    assert (await client.chat("x")).status == 401


async def test_a_key_that_is_unknown_on_one_route_has_no_hits_on_another(layer: CacheLayer) -> None:
    upstream = Upstream(keys={"Bearer good"})
    client = Client(CacheLayerMiddleware(upstream, layer=layer), key="good")
    assert [(await client.chat("x")).hit for _ in range(3)] == [False, True, True]
    upstream.keys = set()
    assert (await client.post("/v1/embeddings", {"model": "e", "input": "a"})).status == 401
    assert (await client.chat("x")).status == 401


@pytest.mark.parametrize("hangs", ["principal", "authorize", "trust"])
async def test_a_function_of_the_owners_that_hangs_has_failed(
    upstream: Upstream, layer: CacheLayer, hangs: str
) -> None:
    """The app answers, as if it had raised: a hit without `trust`, else past the cache."""
    silent, hung = asyncio.Event(), []

    async def never(scope: Any) -> str:
        hung.append(scope)
        await silent.wait()
        return "acme"

    options: Any = {"principal": lambda scope: "acme", "authorize": lambda scope: True, hangs: never}
    app = CacheLayerMiddleware(upstream, layer=layer, **options)
    app._served[CHAT].settings.principals.patience = 0.01
    async with asyncio.timeout(20):
        told = [await Client(app).chat("x") for _ in range(2)]
    assert [one.status for one in told] == [200, 200] and len(hung) == 2
    assert len(upstream.requests) == (1 if hangs == "trust" else 2)
    assert layer.stats()["faults"] == {f"{hangs}:TimeoutError": 2}
