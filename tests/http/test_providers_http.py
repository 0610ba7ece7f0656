"""What API servers say of every answer, as recorded of them, keeps none away that may be kept; what does is named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import VARY, CacheLayerMiddleware, JsonRoute, Route
from cachelayer.adapters.openai_wire import body_of
from upstream import Upstream

from cachelayer import CacheLayer

CORS = "origin, access-control-request-method, access-control-request-headers"
GOOGLE = "Origin, X-Origin, Referer"
NEVER = "private, max-age=0, no-store, no-cache, must-revalidate"


class Kept(JsonRoute):
    """Whose streams say how they end, as its author knows."""

    def view_stream(self, stream: bytes) -> Any:
        return stream.decode()


@pytest.mark.parametrize(("stream", "headers", "why"), [
    (False, {"vary": CORS}, ""), (True, {"vary": CORS, "cache-control": "no-cache"}, ""),  # DeepSeek, Bedrock, TGI
    (True, {"vary": "Origin", "cache-control": "no-cache"}, ""),  # Groq, OpenRouter, Anthropic
    (True, {"cache-control": "no-cache, no-transform"}, ""),  # Hugging Face
    (False, {"vary": "Accept-Encoding, "}, ""), (False, {"vary": "Accept, Content-Type"}, ""),
    (False, {"cache-control": NEVER}, "kept:cache-control"),
    (True, {"cache-control": "no-store"}, "kept:cache-control"),
    (False, {"vary": GOOGLE}, "kept:vary referer x-origin"), (True, {"vary": "*"}, "kept:vary *"),
    (False, {"vary": "a b, X-One\", x-two"}, "kept:vary x-two"),
])  # fmt: skip
async def test_what_is_said_of_every_answer_keeps_none_away(
    c: Client, stream: bool, headers: dict[str, str], why: str
) -> None:
    script = {"say": "a b", "headers": headers}
    first, again = [await c.chat(script, stream=stream) for _ in range(2)]
    assert again.hit == (not why)
    if why:
        assert first.header("cache-status").endswith(f' {why}"')


async def test_a_whole_answer_that_is_to_be_asked_for_anew_is(c: Client, upstream: Upstream) -> None:
    script = {"say": "a b", "headers": {"cache-control": "no-cache"}}
    assert not [await c.chat(script) for _ in range(2)][1].hit and len(upstream.requests) == 2


async def test_an_api_of_ones_own_may_have_several_media_types(layer: CacheLayer) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        media = dict(scope["headers"])[b"accept"]
        await Upstream._reply(send, 200, b'{"a":1}', [(b"content-type", media), (b"vary", b"Accept")])

    kinds = [f"application/vnd.{version}+json" for version in ("v1", "v2", "v1")]
    for vary, hits in ((VARY, [False] * 3), ([*VARY, "accept"], [False, False, True])):
        routes = [JsonRoute("/rate")]
        c = Client(CacheLayerMiddleware(app, layer=layer, routes=routes, vary=vary, name=f"{len(vary)}"))
        answers = [await c.post("/rate", {"q": 1}, accept=kind) for kind in kinds]
        assert [a.header("content-type") for a in answers] == kinds and [a.hit for a in answers] == hits
        assert ("kept:vary accept" in answers[0].header("cache-status")) is (vary is VARY)


@pytest.mark.parametrize("route", [JsonRoute("/say"), Kept("/say")])
async def test_of_a_route_whose_streams_are_never_kept_each_is_told_so(
    layer: CacheLayer, route: Route
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await Upstream._reply(send, 200, b"data: 1\n\n", [(b"content-type", b"text/event-stream")])

    c = Client(CacheLayerMiddleware(app, layer=layer, routes=[route]))
    first, again = [await c.post("/say", {"q": 1, "stream": True}) for _ in range(2)]
    assert again.hit is (type(route) is Kept)
    assert first.header("cache-status").endswith(' kept:not_keepable"') is not again.hit


async def test_a_header_that_is_named_as_what_answers_differ_by_can_be_made_part_of_the_key(
    upstream: Upstream, layer: CacheLayer
) -> None:
    app = CacheLayerMiddleware(upstream, layer=layer, vary=[*VARY, "referer", "x-origin"])
    pages = [Client(app, referer=f"https://{page}.example") for page in "abab"]
    hits = [(await page.chat({"say": "x", "headers": {"vary": GOOGLE}})).hit for page in pages]
    assert hits == [False, False, True, True]


def test_what_pads_chunks_is_no_part_of_the_whole_that_they_make() -> None:
    delta = {"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}
    made = body_of([{"id": "1", "choices": [delta], "obfuscation": "C63r", "provider": "p"}])
    assert "obfuscation" not in made and made["provider"] == "p"


def test_the_guide_names_the_headers_that_are_part_of_every_key() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "headers.md").read_text()
    listed = guide.split("By default these are ")[1].split(". A list of your own")[0]
    assert sorted(re.findall("`([^`]+)`", listed)) == sorted(name.decode() for name in VARY)
