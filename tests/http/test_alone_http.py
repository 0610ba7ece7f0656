"""A response that is one caller's alone is his as it would be without the middleware."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from turns import turns
from upstream import Upstream

from cachelayer import CacheLayer

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(
    "headers",
    [[], [(b"set-cookie", b"a=b")], [(b"content-encoding", b"br")]],
    ids=["kept", "cookie", "encoded"],
)
@pytest.mark.parametrize("path", [CHAT, "/v1/embeddings"])
async def test_work_after_the_response_is_waited_for(layer: CacheLayer, path: str, headers: Any) -> None:
    """An app may wait for its client's leaving until its response is complete, kept or not, as under any server."""
    done = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if path == CHAT:
            body = Upstream().whole(ask("x"), {"say": "x"}, True)
        else:
            body = {"object": "list", "data": [{"index": 0, "embedding": [0.5]}], "model": "m"}
        raw = json.dumps(body).encode()
        await Upstream._reply(send, 200, raw, [(b"content-type", b"application/json"), *headers])
        assert (await receive())["type"] == "http.disconnect"
        await turns(20)
        done.append(1)

    asked = ask("x") if path == CHAT else {"model": "m", "input": ["x"]}
    answer = await asyncio.wait_for(Client(CacheLayerMiddleware(app, layer=layer)).post(path, asked), 5)
    assert answer.complete and done == [1]


async def test_work_after_the_response_to_one_who_takes_nothing_kept_is_waited_for(
    upstream: Upstream, layer: CacheLayer
) -> None:
    done = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal done
        await upstream(scope, receive, send)
        await turns(20)
        done += 1

    client = Client(CacheLayerMiddleware(app, layer=layer))
    await client.chat("x")
    await client.chat("x", headers={"cache-control": "min-fresh=9999999"})
    assert done == 2


async def test_a_response_that_is_not_kept_is_told_of_by_cache_status_and_not_in_the_log(
    upstream: Upstream, layer: CacheLayer, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await Client(CacheLayerMiddleware(upstream, layer=layer)).chat('{"status": 400}')
    assert "kept:status 400" in answer.header("cache-status")
    assert not caplog.records
