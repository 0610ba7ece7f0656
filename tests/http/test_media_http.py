"""On routes of one's own the form that a request says its body has is part of what it asks."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from cachelayer.adapters.asgi import CacheLayerMiddleware, JsonRoute
from upstream import _json

from cachelayer import CacheLayer

SAID = [
    "text/plain", "application/vnd.v2+json", "application/json; charset=iso-8859-1", None, "application/json;v=2",
]  # fmt: skip


class Telling:
    """Answers with what it was told of the body's form."""

    asked = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        told = [value.decode() for name, value in scope["headers"] if name == b"content-type"]
        await _json(send, 200, {"form": told}, [(b"vary", b"content-type")])


def asking(app: Any) -> httpx.AsyncClient:
    headers = {"authorization": "Bearer mine"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x", headers=headers)


async def test_requests_in_another_form_have_another_answer(layer: CacheLayer) -> None:
    app = Telling()
    async with asking(CacheLayerMiddleware(app, layer=layer, routes=[JsonRoute("/rerank")])) as c:
        for _ in range(2):
            for said in ("application/json", *SAID):
                answer = await c.post(
                    "/rerank", content=b'{"q": 1}', headers={"content-type": said} if said else {}
                )
                assert answer.json()["form"] == ([said] if said else [])
    assert app.asked == 1 + len(SAID)


@pytest.mark.parametrize(
    "said", ["Application/JSON", "application/json; charset=utf-8", 'application/json;charset="UTF8"']
)
async def test_json_is_json_however_it_is_spelled(layer: CacheLayer, said: str) -> None:
    app = Telling()
    async with asking(CacheLayerMiddleware(app, layer=layer, routes=[JsonRoute("/rerank")])) as c:
        for form in ("application/json", said):
            await c.post("/rerank", content=b'{"q": 1}', headers={"content-type": form})
    assert app.asked == 1
