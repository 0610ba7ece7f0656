"""A caller who wants nothing old asks the app once, however short the time that its answer took to be kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer
from cachelayer.testing import WordEmbedder

CHOICE = {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
CHAT = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}
DATA = {"object": "embedding", "index": 0, "embedding": [0.5]}
EMBEDDINGS = {
    "object": "list",
    "data": [DATA],
    "model": "m",
    "usage": {"prompt_tokens": 1, "total_tokens": 1},
}


@pytest.mark.parametrize("asked", ["max-age=0", "max-age=0, max-stale", "min-fresh=99999999"])
@pytest.mark.parametrize("semantic", [True, False])
async def test_the_app_is_asked_once_by_who_wants_nothing_old(asked: str, semantic: bool) -> None:
    calls = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        calls.append(json.loads((await receive())["body"]))
        body = EMBEDDINGS if scope["path"] == "/v1/embeddings" else CHAT
        await Upstream._reply(send, 200, json.dumps(body).encode(), [(b"content-type", b"application/json")])

    layer = CacheLayer(embedder=WordEmbedder()) if semantic else CacheLayer(semantic=False)
    client = Client(CacheLayerMiddleware(app, layer=layer))
    async with layer:
        await client.chat("is it so")
        await client.post("/v1/embeddings", {"model": "m", "input": "is it so"})
        await layer.flush()
        calls.clear()
        answer = await client.chat("is it so", headers={"cache_control": asked})
        assert "fwd" in answer.header("cache-status")
        assert len(calls) == 1
        await client.post("/v1/embeddings", {"model": "m", "input": "is it so"}, cache_control=asked)
        assert len(calls) == 2
