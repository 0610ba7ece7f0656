"""Several processes behind one Redis: what one answered the others replay; and nothing holds up the loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import openai
import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from redis_servers import Server as Redis
from upstream import Server, Upstream

from cachelayer import Budgets, CacheLayer, Policy

SECRET = "the same in every process"
PATIENT = Policy(budgets=Budgets(store="2s"))


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = Redis(tmp_path_factory.mktemp("redis") / "http").start()
    yield server.url
    server.kill()


@pytest.mark.parametrize("stream", [True, False])
async def test_what_one_process_answered_another_replays(
    redis_url: str, upstream: Upstream, stream: bool
) -> None:
    body = {"model": "e", "input": [f"a {stream}", "b"]}
    for turn in range(2):
        async with CacheLayer(semantic=False, policy=PATIENT, store=redis_url) as layer:
            c = Client(CacheLayerMiddleware(upstream, layer=layer, secret=SECRET, recheck="1h"))
            await c.chat("warm", headers={"cache_control": "no-store"})  # the app lets this key in
            answers = [await c.chat(f"hello {stream}", stream=kind) for kind in (stream, not stream)]
            embedded = await c.post("/v1/embeddings", body)
            await layer.flush()
            if turn:
                assert "detail=redis" in answers[0].header("cache-status") and answers[1].hit
                assert "items:" not in embedded.header("cache-status") or embedded.status == 200
            said = [
                a.text() if a.body.startswith(b"data") else a.json()["choices"][0]["message"]["content"]
                for a in answers
            ]
            assert said == [f"You said: hello {stream}"] * 2
    asked = [r for r in upstream.requests if "messages" in r and "hello" in r["messages"][0]["content"]]
    assert len(asked) == 1


async def test_a_caller_may_ask_for_more_freshness_than_the_store_has(
    redis_url: str, upstream: Upstream
) -> None:
    for fresh, asked in ((10, 1), (10, 1), (7200, 2)):
        async with CacheLayer(
            semantic=False, policy=Policy(ttl="1h", budgets=PATIENT.budgets), store=redis_url
        ) as layer:
            c = Client(CacheLayerMiddleware(upstream, layer=layer, secret=SECRET, recheck="1h"))
            await c.chat("warm", headers={"cache_control": "no-store"})  # the app lets this key in
            await c.chat("fresh?", headers={"cache_control": f"min-fresh={fresh}"})
            await layer.flush()
            assert sum("fresh?" in r["messages"][0]["content"] for r in upstream.requests) == asked, fresh


async def test_a_key_that_this_process_never_saw_goes_to_the_app_first(
    redis_url: str, upstream: Upstream
) -> None:
    for _ in range(2):
        async with CacheLayer(semantic=False, policy=PATIENT, store=redis_url) as layer:
            c = Client(CacheLayerMiddleware(upstream, layer=layer, secret=SECRET))
            assert not (await c.chat("first here")).hit
            assert (await c.chat("first here")).hit
            await layer.flush()
    assert len(upstream.requests) == 2


async def test_a_redis_that_is_gone_hurts_nobody(upstream: Upstream) -> None:
    layer = CacheLayer(semantic=False, store="redis://127.0.0.1:1/0")
    c = Client(CacheLayerMiddleware(upstream, layer=layer, secret=SECRET))
    for stream in (False, True):
        assert (await c.chat("hello", stream=stream)).status == 200
    await layer.aclose()


async def test_no_callback_of_a_busy_middleware_runs_long(
    stall: Any, upstream: Upstream, layer: CacheLayer
) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    calls = [
        c.chatting({"say": f"answer {i % 20} " * 20}, stream=i % 2 == 0, n=1 + i % 3) for i in range(200)
    ]
    await asyncio.gather(*(call.wait() for call in calls))
    assert stall.seconds < 0.25, stall.callback


def test_clients_that_send_nothing_or_too_much_hold_up_nobody(
    upstream: Upstream, layer: CacheLayer, serving: Callable[..., Server]
) -> None:
    """Slow loris: requests that never end their head or their body; and a header of a quarter of a megabyte."""
    server = serving(CacheLayerMiddleware(upstream, layer=layer), http="httptools")
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n"
    with ExitStack() as stack:
        for i in range(40):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 5))
            one.sendall(head if i % 2 else head + b"authorization: Bearer a\r\n\r\n{")
        client = stack.enter_context(
            openai.OpenAI(base_url=f"{server.url}/v1", api_key="sk-test", max_retries=0)
        )
        messages: list[Any] = [{"role": "user", "content": "hello"}]
        for huge in ({}, {}, {"x": "y" * 2**18}, {}):
            client.chat.completions.create(model="m", messages=messages, extra_headers=huge)
    assert len(upstream.requests) == 1
