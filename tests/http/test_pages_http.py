"""Pages of other origins may read what is kept as they may read what the app says, wherever it speaks of CORS."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from starlette.middleware.cors import CORSMiddleware
from upstream import Upstream

from cachelayer import CacheLayer
from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway

PAGE, OTHER, STRANGER = "https://app.example", "https://admin.example", "https://evil.example"


@pytest.fixture
def wrapped(layer: CacheLayer, upstream: Upstream) -> Callable[..., Client]:
    def make(*, wildcard: bool = False, **options: Any) -> Client:
        named = ["*"] if wildcard else [PAGE, OTHER]
        app: Any = CORSMiddleware(
            upstream, allow_origins=named, allow_credentials=not wildcard, expose_headers=["x-a"]
        )
        return Client(CacheLayerMiddleware(app, layer=layer, **options))

    return make


def cors(answer: Any) -> dict[str, str]:
    return {n.decode(): v.decode() for n, v in answer.headers if n.startswith((b"access-", b"vary"))}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wildcard", [False, True])
async def test_a_page_may_read_a_kept_answer(
    wrapped: Any, upstream: Upstream, stream: bool, wildcard: bool
) -> None:
    c = wrapped(wildcard=wildcard)
    for _ in range(3):  # the caller is recognized, the page is not
        await c.chat("hello", stream=stream)
    told = [await c.chat("hello", stream=stream, headers={"origin": PAGE}) for _ in range(3)]
    assert [answer.hit for answer in told] == [False, True, True] and len(upstream.requests) == 2
    assert cors(told[0])["access-control-allow-origin"] == ("*" if wildcard else PAGE)
    assert cors(told[1]) == cors(told[2]) == cors(told[0])
    assert cors(await c.chat("hello", stream=stream)) == {}


async def test_each_page_is_told_what_the_app_tells_it(wrapped: Any, upstream: Upstream) -> None:
    c = wrapped()
    for _ in range(2):
        told = [await c.chat("hello", headers={"origin": one}) for one in (PAGE, OTHER, STRANGER)]
        allowed = [cors(answer).get("access-control-allow-origin") for answer in told]
        assert allowed == [PAGE, OTHER, None]
    assert all(answer.hit for answer in told) and len(upstream.requests) == 3


async def test_embeddings_and_refusals_are_read_by_pages_too(wrapped: Any, upstream: Upstream) -> None:
    c = wrapped(max_body=100, too_large="refuse")
    asked = {"model": "m", "input": ["a", "b"]}
    told = [await c.post("/v1/embeddings", asked, origin=PAGE) for _ in range(2)]
    told.append(await c.post("/v1/embeddings", {**asked, "input": ["a"] * 99}, origin=PAGE))
    told.append(
        await c.post("/v1/embeddings", {**asked, "x": 1}, origin=PAGE, cache_control="only-if-cached")
    )
    assert [answer.status for answer in told] == [200, 200, 413, 504] and len(upstream.requests) == 1
    assert [cors(answer)["access-control-allow-origin"] for answer in told] == [PAGE] * 4


async def test_a_page_is_no_stranger_because_its_first_request_failed(
    wrapped: Any, upstream: Upstream
) -> None:
    c = wrapped()
    await c.chat("hello")
    await c.chat({"status": 500}, headers={"origin": PAGE})
    assert not (await c.chat("hello", headers={"origin": PAGE})).hit
    assert (await c.chat("hello", headers={"origin": PAGE})).hit


async def test_how_many_pages_are_remembered_is_bounded(wrapped: Any) -> None:
    c = wrapped()
    pages = c.app._served["/v1/chat/completions"].settings.pages
    pages.capacity = 2
    for one in ("https://a", "https://b", "https://c"):
        await c.chat("hello", headers={"origin": one})
    assert [origin for _, origin in pages._headers] == [b"https://b", b"https://c"]


@pytest.mark.parametrize("origins", [[], ["https://mine.example"]])
async def test_the_gateway_tells_pages_what_the_upstream_says_or_its_owner(
    serving: Any, upstream: Upstream, origins: list[str]
) -> None:
    url = serving(CORSMiddleware(upstream, allow_origins=["*"])).url
    gateway = Gateway(load(None, {}, {"upstream": [{"url": url}], "server.origins": origins, "server.log": "off",
                                      "cache.semantic": "off"}))  # fmt: skip
    c = Client(gateway)
    told = [await c.chat("hello", headers={"origin": origins[0] if origins else PAGE}) for _ in range(2)]
    assert told[1].hit and json.dumps(cors(told[0])) == json.dumps(cors(told[1]))
    assert cors(told[0])["access-control-allow-origin"] == (origins[0] if origins else "*")
    await gateway.behind.aclose()
    await gateway.layer.aclose()
