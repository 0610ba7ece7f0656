"""What is cancelled around the cache, as by a limit of time, is cancelled behind it, unless others wait for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from cachelayer.adapters.asgi.exchange import Exchange
from upstream import Upstream

from cachelayer import CacheLayer


class Slow(Upstream):
    """Works at each request until its gate opens; tells how that ended."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.over = asyncio.Event(), asyncio.Event()
        self.ended: list[str] = []
        self.when = "before"

    async def _work(self) -> None:
        self.begun.set()
        try:
            await self.gate("work").wait()
            self.ended.append("done")
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        finally:
            self.over.set()

    async def _complete(self, scope: Any, receive: Any, send: Any, asked: Any) -> None:
        if self.when == "before":
            await self._work()
        if self.when == "within":
            told = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": told})
            await self._work()
            await send({"type": "http.response.body", "body": b'{"choices": [{}]}'})
            return
        if self.when == "between":
            head = {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
            await send(head)
            await send({"type": "http.response.body", "body": b"data: {}\n\n", "more_body": True})
            await self._work()
        await super()._complete(scope, receive, send, asked)
        if self.when == "after":
            await self._work()

    async def _embed(self, send: Any, asked: Any) -> None:
        await self._work()
        await super()._embed(send, asked)


@pytest.fixture
def app() -> Slow:
    return Slow()


@pytest.fixture
def c(app: Slow, layer: CacheLayer) -> Client:
    return Client(CacheLayerMiddleware(app, layer=layer))


async def cancelled(call: Any) -> None:
    call.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.task


@pytest.mark.parametrize("when", ["before", "between", "after"])
async def test_the_app_is_cancelled_with_its_caller(app: Slow, c: Client, when: str) -> None:
    app.when = when
    call = c.chatting("hello", stream=when == "between")
    await app.begun.wait()
    await cancelled(call)
    await app.over.wait()
    assert app.ended == ["cancelled"]


async def test_so_are_a_batch_of_embeddings_and_a_request_whose_answer_is_not_kept(
    app: Slow, c: Client
) -> None:
    starts: list[Callable[[], Any]] = [
        lambda: c.start("/v1/embeddings", {"model": "m", "input": ["a", "b"]}),
        lambda: c.start("/v1/chat/completions", ask("x"), cache_control="no-store"),
        lambda: c.start("/v1/chat/completions", ask("x"), range="bytes=0-"),
    ]
    for start in starts:
        app.begun.clear()
        app.over.clear()
        call = start()
        await app.begun.wait()
        await cancelled(call)
        await app.over.wait()
    assert app.ended == ["cancelled"] * 3


async def test_others_who_wait_for_the_same_have_their_answer(app: Slow, c: Client) -> None:
    call, other = [c.chatting("hello") for _ in range(2)]
    await app.begun.wait()
    await cancelled(call)
    app.gate("work").set()
    assert (await other.wait()).json()["choices"]
    assert app.ended == ["done"] and len(app.requests) == 1


async def test_an_app_whose_client_leaves_is_told_and_not_cancelled(app: Slow, c: Client) -> None:
    call = c.chatting("hello")
    await app.begun.wait()
    call.leave()
    await call.wait()
    app.gate("work").set()
    await app.over.wait()
    assert app.ended == ["done"]


async def test_a_recording_that_is_to_be_finished_is_not_cancelled(app: Slow, layer: CacheLayer) -> None:
    call = Client(CacheLayerMiddleware(app, layer=layer, on_leave="finish")).chatting("hello")
    await app.begun.wait()
    await cancelled(call)
    app.gate("work").set()
    await app.over.wait()
    assert app.ended == ["done"]


@pytest.mark.parametrize("when", ["before", "within"])
async def test_a_call_that_a_lookup_overtook_is_made_anew_with_its_own_status_and_body(
    app: Slow, layer: CacheLayer, when: str
) -> None:
    """What the lookup had found came to nothing, and its caller got a response of status 0 or without a body."""
    app.when = when
    served = CacheLayerMiddleware(app, layer=layer)._served["/v1/chat/completions"]
    request = json.dumps(ask("hello")).encode()
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}
    exchange = Exchange(served, scope, request, heard=lambda status, headers: None)
    overtaken = asyncio.create_task(exchange.ask())
    await app.begun.wait()
    overtaken.cancel()
    with pytest.raises(asyncio.CancelledError):
        await overtaken
    app.gate("work").set()
    answer = await exchange.ask()
    assert exchange.status == 200 and exchange.body == answer[3] and json.loads(exchange.body)["choices"]
