"""Callers who close the connection once they have what they came for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer

HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}


@pytest.mark.parametrize("cut", [None, 1, 5])
@pytest.mark.parametrize(
    ("end", "kept"), [(b"data: [DONE]\n\n", True), (b"data: [DONE]", True), (b"", False)]
)
async def test_who_leaves_at_the_end_of_a_stream_that_its_app_has_not_ended_yet_has_it_kept(
    layer: CacheLayer, cut: int | None, end: bytes, kept: bool
) -> None:
    """As OpenAI's client does at [DONE], while the app writes down what it cost."""
    told, left = Upstream(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        events = told.events(json.loads((await receive())["body"]), {"say": "a b"}, True)
        said = b"".join(events[:-1]) + end
        await send(HEAD)
        for at in range(0, len(said), cut or len(said)):
            piece = said[at : at + (cut or len(said))]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await receive()
        left.set()

    c = Client(CacheLayerMiddleware(app, layer=layer))
    call = c.chatting("hello", stream=True)
    while not call.answer.body.endswith(end or b"}\n\n"):
        await call.parts(len(call.answer.parts) + 1)
    call.leave()
    await call.wait()
    await left.wait()
    again = await c.chat("hello", headers={"cache-control": "only-if-cached"})
    assert again.hit is kept and (not kept or again.json()["choices"][0]["message"]["content"] == "a b")
