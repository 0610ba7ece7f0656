"""Callers who wait for another's call: what becomes of them, and of that call, where it ends badly."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from turns import turns
from upstream import Upstream

from cachelayer import CacheLayer

EVENTS = (b"content-type", b"text/event-stream")


@pytest.mark.parametrize("stream", [True, False])
async def test_who_was_told_of_anothers_stream_is_told_of_no_other_answer(
    layer: CacheLayer, stream: bool
) -> None:
    """An app that returns early breaks a stream off for all who read it; who read nothing yet asks for himself."""
    asked, gate = [], asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(json.loads((await receive())["body"]))
        broken, events = len(asked) == 1, Upstream().events(asked[-1], {"say": "a b c"}, True)
        if not asked[-1].get("stream"):
            whole = json.dumps(Upstream().whole(asked[-1], {"say": "a b c"}, True)).encode()
            await Upstream._reply(send, 200, whole, [(b"content-type", b"application/json")])
            return
        await send({"type": "http.response.start", "status": 200, "headers": [EVENTS]})
        await send({"type": "http.response.body", "body": events[0], "more_body": True})
        if broken:
            await gate.wait()
            return
        await send({"type": "http.response.body", "body": b"".join(events[1:])})

    c = Client(CacheLayerMiddleware(app, layer=layer))
    first = c.chatting("hello", stream=True)
    await first.parts(1)
    starts: list[Any] = []
    late = c.chatting("hello", stream=stream)
    late.note = lambda message: message["type"] == "http.response.start" and starts.append(message)
    if stream:
        await late.parts(1)
    gate.set()
    answer = await late.wait()
    assert len(starts) == 1
    assert (answer.complete, len(asked)) == ((False, 1) if stream else (True, 2))
    assert not (await first.wait()).complete


@pytest.mark.parametrize("status", [200, 503])
async def test_what_is_the_callers_alone_is_not_held_once_that_caller_left(
    layer: CacheLayer, status: int
) -> None:
    """Somebody else waits for the call, so it goes on; then nobody may have the answer, and the app is told so."""
    begun, gate, told = asyncio.Event(), asyncio.Event(), asyncio.Event()
    asked = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append((await receive())["body"])
        first = len(asked) == 1
        begun.set()
        await gate.wait()
        headers = [EVENTS, (b"set-cookie", b"a=b")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        try:
            for _ in range(9):
                await send({"type": "http.response.body", "body": b"piece", "more_body": True})
        except OSError:
            if first:
                told.set()
            return
        await send({"type": "http.response.body"})

    c = Client(CacheLayerMiddleware(app, layer=layer))
    first = c.chatting("hello", stream=True)
    await begun.wait()
    late = c.chatting("hello", stream=True)
    await turns(20)
    assert len(asked) == 1
    first.leave()
    await first.wait()
    gate.set()
    answer = await late.wait()
    assert (answer.status, answer.body, len(asked)) == (status, 9 * b"piece", 2)
    await asyncio.wait_for(told.wait(), 5)


async def test_who_wants_a_stream_of_what_is_no_json_asks_for_one(layer: CacheLayer) -> None:
    """The answer under way is told to its own caller as it is; no other form can be made of it."""
    asked, gate = [], asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(json.loads((await receive())["body"]))
        if asked[-1].get("stream"):
            events = b"".join(Upstream().events(asked[-1], {"say": "a b c"}, True))
            await Upstream._reply(send, 200, events, [EVENTS])
            return
        await gate.wait()
        await Upstream._reply(send, 200, b"loading", [(b"content-type", b"application/json")])

    c = Client(CacheLayerMiddleware(app, layer=layer))
    whole, stream = c.chatting("hello"), c.chatting("hello", stream=True)
    await turns(20)
    assert len(asked) == 1
    gate.set()
    assert (await whole.wait()).body == b"loading"
    assert (await stream.wait()).text() == "a b c" and len(asked) == 2


ERROR = b'data: {"error": {"message": "overloaded"}}\n\n'
BROKE = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}\n\n'


@pytest.mark.parametrize("end", [ERROR, b"", BROKE], ids=["an error", "no end", "broken off"])
async def test_no_whole_answer_is_made_of_a_stream_that_ended_ill(layer: CacheLayer, end: bytes) -> None:
    """Who wants it whole would take what came of it for all, since it says 200."""
    asked, gate = [], asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(json.loads((await receive())["body"]))
        if not asked[-1].get("stream"):
            whole = json.dumps(Upstream().whole(asked[-1], {"say": "a b c"}, True)).encode()
            await Upstream._reply(send, 200, whole, [(b"content-type", b"application/json")])
            return
        events = Upstream().events(asked[-1], {"say": "a b c"}, True)
        await send({"type": "http.response.start", "status": 200, "headers": [EVENTS]})
        await send({"type": "http.response.body", "body": events[0], "more_body": True})
        await gate.wait()
        await send({"type": "http.response.body", "body": events[1] + end + events[-1]})

    c = Client(CacheLayerMiddleware(app, layer=layer))
    first = c.chatting("hello", stream=True)
    await first.parts(1)
    whole = c.chatting("hello")
    await turns(20)
    assert len(asked) == 1
    gate.set()
    (choice,) = (await whole.wait()).json()["choices"]
    assert (choice["message"]["content"], choice["finish_reason"], len(asked)) == ("a b c", "stop", 2)
    assert end in (await first.wait()).body
