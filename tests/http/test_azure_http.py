"""Azure's deployments: the official `AzureOpenAI` client, a key that holds the deployment, streams that begin oddly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import openai
import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CHAT, CacheLayerMiddleware, JsonRoute, Route
from upstream import Server, Upstream

from cachelayer import CacheLayer, ConfigurationError
from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway

Serving = Callable[..., Server]
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
PLACE = "/openai/deployments/{}/chat/completions"


class Azure(Upstream):
    """Has deployments, wants `api-key`, and begins a stream with what its filter found."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def filtered(message: Any) -> None:
            if message["type"] == "http.response.start" and b"event-stream" in message["headers"][0][1]:
                await send(message)
                found = {"prompt_filter_results": [{"prompt_index": 0}], "choices": [], "id": "", "model": ""}
                event = b"data: " + json.dumps({**found, "created": 0, "object": ""}).encode() + b"\n\n"
                message = {"type": "http.response.body", "body": event, "more_body": True}
            await send(message)

        if scope["type"] == "http":
            known = dict(scope["headers"]).get(b"api-key") == b"azure"
            if not known or b"api-version=" not in scope["query_string"]:
                return await self._reply(send, 401, b"{}", [(b"content-type", b"application/json")])
        return await super().__call__(scope, receive, filtered)


@pytest.fixture
def upstream() -> Azure:
    return Azure()


@pytest.fixture
def azure() -> Iterator[Callable[..., openai.AzureOpenAI]]:
    with ExitStack() as stack:

        def make(url: str, key: str = "azure", version: str = "2024-10-21") -> openai.AzureOpenAI:
            made = openai.AzureOpenAI(azure_endpoint=url, api_key=key, api_version=version, max_retries=0)
            return stack.enter_context(made)

        yield make


def test_the_official_client_is_served_by_deployment_and_version(
    azure: Any, serving: Serving, upstream: Azure, layer: CacheLayer
) -> None:
    url = serving(CacheLayerMiddleware(upstream, layer=layer)).url
    clients = [azure(url), azure(url, version="2025-01-01")]
    for _ in range(2):
        for client in clients:
            for model in ("one", "other"):
                client.chat.completions.create(model=model, messages=HELLO)
                client.completions.create(model=model, prompt="go")
                client.embeddings.create(model=model, input=["a", "bb"], encoding_format="float")
    assert len(upstream.requests) == 12 and len(set(upstream.paths)) == 6


@pytest.mark.parametrize("first", [True, False])
def test_whole_and_streamed_answers_are_made_of_each_other(
    azure: Any, serving: Serving, upstream: Azure, layer: CacheLayer, first: bool
) -> None:
    client = azure(serving(CacheLayerMiddleware(upstream, layer=layer)).url)
    names, texts = set(), set()
    for stream in (first, True, not first):
        told = client.chat.completions.create(model="one", messages=HELLO, stream=stream)
        if stream:
            chunks = [chunk for chunk in told if chunk.choices]
            names |= {chunk.id for chunk in chunks}
            texts.add("".join(chunk.choices[0].delta.content or "" for chunk in chunks))
            assert {(chunk.model, chunk.object) for chunk in chunks} == {("one", "chat.completion.chunk")}
        else:
            names.add(told.id)
            texts.add(told.choices[0].message.content)
            assert (told.model, told.object) == ("one", "chat.completion") and told.created > 0
    assert len(names) == 3 and all(names) and texts == {"You said: hello"} and len(upstream.requests) == 1


async def test_the_deployment_is_part_of_the_key_wherever_the_app_stands(layer: CacheLayer) -> None:
    upstream = Upstream()
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    places = [PLACE.format("one"), PLACE.format("other"), "/v1/chat/completions"]
    for path in [*places, *places]:
        await c.post(path, ask("x"))
    assert len(upstream.requests) == 3
    odd = [PLACE.format(name) for name in ("a/b", "", "\ufffd", "a b", "a\0")]
    for path in odd:
        assert not (await c.post(path, ask("x"))).header("cache-status")


async def test_any_route_may_have_a_template(layer: CacheLayer) -> None:
    upstream = Upstream()
    routes = [CHAT, JsonRoute("/models/{name}:{verb}", text="prompt")]
    c = Client(CacheLayerMiddleware(upstream, layer=layer, routes=routes))
    for path in ("/models/a:ask", "/models/a:tell", "/models/b:ask", "/models/a:ask"):
        await c.post(path, {"prompt": "x"})
    assert len(upstream.requests) == 3
    wrong: list[Any] = ["rerank", "/models/{name:path}", "/models/{}", "/rerank?fast=1", "", 5, None]
    for path in wrong:
        with pytest.raises(ConfigurationError, match="give a path"):
            Route(path)


async def test_the_gateway_sends_its_key_as_azure_wants_it_and_asks_who_has_the_deployment(
    serving: Serving, upstream: Azure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_KEY", "azure")
    other = Upstream()
    mine = {"url": serving(upstream).url, "models": ["one"], "key_env": "AZURE_KEY", "key_header": "api-key"}
    given = [{"url": serving(other).url, "models": ["m"]}, mine]
    gateway = Gateway(load(None, {}, {"upstream": given, "server.log": "off", "cache.semantic": "off"}))
    c = Client(gateway, key=None, api_key="client's own")
    answers = [await c.post(PLACE.format("one"), ask("x"), query=b"api-version=1") for _ in range(2)]
    assert [answer.hit for answer in answers] == [False, True] and not other.requests
    assert (await c.post(PLACE.format("none"), ask("x"))).status == 404
    await gateway.behind.aclose()
    await gateway.layer.aclose()
