"""Checks of similar hits over HTTP: what an app refuses, or says that is no answer, tells nothing of the hit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from verifiers import SameWords

from cachelayer import CacheLayer, Policy
from cachelayer.testing import WordEmbedder

FIRST, AGAIN = "where is my red parcel today", "today where is my parcel red"
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "By post."}, "finish_reason": "stop"}]}
JSON, EVENTS = "application/json", "text/event-stream"
BEGUN = b'data: {"choices":[{"delta":{"content":"By"},"finish_reason":null}]}\n\n'


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (503, JSON, b"{}"),
        (200, JSON, b'{"error": {"message": "busy"}}'),
        (200, JSON, b"busy"),
        (200, EVENTS, BEGUN),
    ],
)
async def test_what_is_no_answer_is_no_verdict_and_no_fault(status: int, kind: str, body: bytes) -> None:
    """The first was a fault of the cache, the others a wrong hit each."""
    said = [(200, JSON, json.dumps(ANSWER).encode()), (status, kind, body)]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        code, media, content = said.pop(0)
        headers = [(b"content-type", media.encode())]
        await send({"type": "http.response.start", "status": code, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    policy = Policy(shadow=1.0, max_error_rate=0.5)
    async with CacheLayer(embedder=WordEmbedder(), verifier=SameWords(), policy=policy) as layer:
        client = Client(CacheLayerMiddleware(app, layer=layer))
        await client.chat(FIRST)
        await layer.flush()
        assert "similar" in (await client.chat(AGAIN)).header("cache-status")
        await layer.flush()
        stats = layer.stats()
        budget = stats["similar"]["decider"]["asgi:/v1/chat/completions"]["0.5"]
    assert not said and not stats["faults"] and (budget["hits"], budget["checks"]) == (1, 0)
