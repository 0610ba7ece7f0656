"""Answers over HTTP are parts like any other: of what asks for them in process, and built on what the app uses."""

from __future__ import annotations

from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer, Policy, Source
from cachelayer.testing import ManualClock

CHAT, EMBEDDINGS = "/v1/chat/completions", "/v1/embeddings"
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def behind(layer: CacheLayer, app: Any) -> Client:
    """Asks an app of which everything is one tenant's."""
    whose: Any = {"principal": lambda scope: "ann", "trust": True, "authorize": lambda scope: True}
    return Client(CacheLayerMiddleware(app, layer=layer, **whose))


def pricing(layer: CacheLayer) -> tuple[Any, Any]:
    """A cached function, and an app that uses it once for each request."""

    @layer.cached(name="price")
    async def price(of: str) -> int:
        return len(of)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await price("tea")
        await Upstream()(scope, receive, send)

    return price, app


@STREAMED
@pytest.mark.parametrize("before", [0, 1, 2], ids=["made for it", "kept", "known by its bytes"])
async def test_what_was_made_of_an_answer_over_http_goes_and_ends_with_it(before: int, stream: bool) -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock, policy=Policy(ttl=10, ttl_jitter=0)) as layer:
        client = behind(layer, Upstream())

        @layer.cached(ttl="1d")
        async def letter(of: str) -> bytes:
            return (await client.chat(of, stream=stream)).body

        for _ in range(before):
            await client.chat("tea", stream=stream)
        for drop in ({"scope": {"function": f"asgi:{CHAT}"}}, {"scope": {"tenant": "named:ann"}}, None):
            await letter("tea")
            assert (await letter.outcome("tea")).source is Source.MEMORY
            if drop is None:
                clock.advance(11)
            else:
                await layer.invalidate(**drop)  # type: ignore[arg-type]
            assert (await letter.outcome("tea")).source is Source.BACKEND


@STREAMED
async def test_an_answer_over_http_goes_with_what_the_app_made_it_of(layer: CacheLayer, stream: bool) -> None:
    price, app = pricing(layer)
    client = behind(layer, app)
    async with layer:
        for _ in range(2):
            assert not (await client.chat("tea", stream=stream)).hit
            assert (await client.chat("tea", stream=stream)).hit
            with layer.scope(tenant="named:ann"):
                assert await price.invalidate("tea") == 2


async def test_each_item_of_a_batch_goes_with_what_the_batch_was_made_of(layer: CacheLayer) -> None:
    price, app = pricing(layer)
    client = behind(layer, app)
    async with layer:
        await client.post(EMBEDDINGS, {"model": "e", "input": ["a", "b", "c"]})
        with layer.scope(tenant="named:ann"):
            assert await price.invalidate("tea") == 4
