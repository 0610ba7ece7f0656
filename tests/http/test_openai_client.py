"""The official client against a real server: nothing it can do differs, but that the second time is a hit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openai
import pytest
from cachelayer.adapters.asgi import CacheLayerMiddleware
from pydantic import BaseModel
from upstream import Server, Upstream

from cachelayer import CacheLayer

Serving = Callable[..., Server]
Make = Callable[..., openai.OpenAI]
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALLS: list[Any] = [{"role": "user", "content": '{"calls": [{"name": "f", "arguments": "{\\"a\\": 1}"}]}'}]


@pytest.fixture
def url(upstream: Upstream, layer: CacheLayer, serving: Serving) -> str:
    return serving(CacheLayerMiddleware(upstream, layer=layer)).url


def test_a_whole_answer_is_asked_for_once_and_has_an_id_of_its_own_each_time(
    url: str, upstream: Upstream, sync_client: Make
) -> None:
    client = sync_client(url)
    raw = [client.chat.completions.with_raw_response.create(model="m", messages=HELLO) for _ in range(2)]
    first, again = [r.parse() for r in raw]
    assert first.choices == again.choices and first.usage == again.usage and first.id != again.id
    assert "hit" in raw[1].headers["cache-status"] and len(upstream.requests) == 1
    assert "x-request-id" in raw[0].headers and "x-request-id" not in raw[1].headers


def test_a_streamed_answer_is_asked_for_once(url: str, upstream: Upstream, sync_client: Make) -> None:
    client = sync_client(url)
    told = []
    for _ in range(2):
        stream = client.chat.completions.create(model="m", messages=HELLO, stream=True)
        told.append("".join(c.choices[0].delta.content or "" for c in stream))
    assert told == ["You said: hello"] * 2 and len(upstream.requests) == 1


async def test_the_asynchronous_client_streams_what_was_answered_whole(url: str, upstream: Upstream) -> None:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-test") as client:
        whole = await client.chat.completions.create(model="m", messages=HELLO)
        stream = await client.chat.completions.create(model="m", messages=HELLO, stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in stream])
    assert whole.choices[0].message.content == text and len(upstream.requests) == 1


@pytest.mark.parametrize("kinds", [(True, False), (False, True), (False, False), (True, True)])
def test_tool_calls_are_asked_for_once_streamed_or_whole(
    url: str, upstream: Upstream, sync_client: Make, kinds: tuple[bool, bool]
) -> None:
    client = sync_client(url)
    for stream in kinds:
        tools: Any = {"tools": [TOOL]}
        if stream:
            with client.chat.completions.stream(model="m", messages=CALLS, **tools) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(model="m", messages=CALLS, **tools).choices[0].message
        (call,) = message.tool_calls or ()
        assert (call.function.name, call.function.arguments) == ("f", '{"a": 1}') and call.id == "call_0"
    assert len(upstream.requests) == 1
    client.chat.completions.create(model="m", messages=CALLS, tools=[TOOL], tool_choice="none")
    assert len(upstream.requests) == 2


class City(BaseModel):
    name: str


def test_a_parsed_answer_is_asked_for_once(url: str, upstream: Upstream, sync_client: Make) -> None:
    client = sync_client(url)
    say: list[Any] = [{"role": "user", "content": '{"say": "{\\"name\\": \\"Ulm\\"}"}'}]
    for _ in range(2):
        parsed = client.chat.completions.parse(model="m", messages=say, response_format=City)
        assert parsed.choices[0].message.parsed == City(name="Ulm")
    assert len(upstream.requests) == 1


def test_embeddings_and_completions_are_asked_for_once(
    url: str, upstream: Upstream, sync_client: Make
) -> None:
    client = sync_client(url)
    for _ in range(2):
        found = client.embeddings.create(model="e", input=["a", "bb"], encoding_format="float")
        assert [d.embedding[0] for d in found.data] == [1.0, 2.0]
        assert client.completions.create(model="m", prompt="go").choices[0].text == "You said: go"
    assert len(upstream.requests) == 2


def test_a_stream_left_early_and_an_error_from_the_app(url: str, sync_client: Make) -> None:
    client = sync_client(url)
    with client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream:
        next(iter(stream))
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": '{"status": 429}'}])
    assert client.chat.completions.create(model="m", messages=HELLO).choices[0].finish_reason == "stop"


def test_a_revoked_key_gets_the_apps_own_401(layer: CacheLayer, serving: Serving, sync_client: Make) -> None:
    upstream = Upstream(keys={"Bearer good"})

    def let_in(scope: Any) -> bool:
        return dict(scope["headers"]).get(b"authorization", b"").decode() in (upstream.keys or ())

    url = serving(CacheLayerMiddleware(upstream, layer=layer, authorize=let_in)).url
    good = sync_client(url, "good")
    for _ in range(2):
        good.chat.completions.create(model="m", messages=HELLO)
    assert len(upstream.requests) == 1
    upstream.keys = set()
    for client in (good, sync_client(url, "wrong")):
        with pytest.raises(openai.AuthenticationError, match="no such key"):
            client.chat.completions.create(model="m", messages=HELLO)
