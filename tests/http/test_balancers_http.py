"""What balancers set to steer connections belongs to no answer, and makes nobody another caller."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import openai
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Server, Upstream

from cachelayer import CacheLayer


async def test_what_keeps_balancers_going_keeps_no_answer_away_and_is_not_replayed(
    c: Client, upstream: Upstream
) -> None:
    script = {"say": "a", "headers": {"set-cookie": "__cf_bm=abc.1-2; path=/; HttpOnly; Secure"}}
    first, again = [await c.chat(script) for _ in range(2)]
    assert first.header("set-cookie") and again.hit and not again.header("set-cookie")
    script = {"say": "b", "headers": {"set-cookie": "x__cf_bm=1"}}
    assert not [await c.chat(script) for _ in range(2)][1].hit and len(upstream.requests) == 3


async def test_a_caller_whose_balancer_tells_him_something_new_each_time_is_the_same_one(
    c: Client, upstream: Upstream
) -> None:
    told = ["AWSALB=1", "AWSALB=2; AWSALBCORS=2", "__cf_bm=3;_cfuvid=4", "ARRAffinity=5;"]
    answers = [await c.chat("x", headers={"cookie": cookie}) for cookie in told]
    assert [answer.hit for answer in [*answers, await c.chat("x")]] == [False, *[True] * 4]
    for session in ("s=1", "s=2", "AWSALB2=1", "s=1; t=AWSALB=1"):
        first, again = [await c.chat("y", headers={"cookie": f"AWSALB={i}; {session}"}) for i in range(2)]
        assert (first.hit, again.hit) == (False, True)
        assert (await c.chat("y", headers={"cookie": session})).hit


async def test_who_has_nothing_but_what_a_balancer_told_him_is_nobody(
    upstream: Upstream, layer: CacheLayer
) -> None:
    alone = Client(CacheLayerMiddleware(upstream, layer=layer), key=None, cookie="AWSALB=1")
    assert "no-principal" in (await alone.chat("x")).header("cache-status")
    app = CacheLayerMiddleware(upstream, layer=layer, public=True, trust=True, name="public")
    callers = [Client(app, key=None, cookie=f"AWSALB={i}") for i in range(2)]
    assert [(await caller.chat("x")).hit for caller in callers] == [False, True]


def test_a_client_that_keeps_cookies_is_served_again(
    upstream: Upstream,
    layer: CacheLayer,
    serving: Callable[..., Server],
    sync_client: Callable[..., openai.OpenAI],
) -> None:
    inner, count = CacheLayerMiddleware(upstream, layer=layer), itertools.count()

    async def balanced(scope: Any, receive: Any, send: Any) -> None:
        async def steered(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    (b"set-cookie", b"AWSALB=%d; Path=/" % next(count)),
                ]
            await send(message)

        await inner(scope, receive, steered)

    client = sync_client(serving(balanced).url)
    for _ in range(3):
        client.completions.create(model="m", prompt="go")
    assert next(count) == 3 and len(upstream.requests) == 1
