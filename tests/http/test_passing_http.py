"""What is not cached passes untouched and unbuffered."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgi_client import Call, Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from hypothesis import given
from hypothesis import strategies as st
from upstream import Upstream

from cachelayer import CacheLayer, ConfigurationError

CHAT = "/v1/chat/completions"


bodies = st.one_of(
    st.binary(max_size=40),
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists, max_leaves=4).map(
        lambda v: json.dumps(v).encode()
    ),
    st.dictionaries(
        st.sampled_from(["model", "messages", "stream", "n", "stream_options", "x"]),
        st.none() | st.booleans() | st.text(max_size=3) | st.just([{"role": "user", "content": "hi"}]),
    ).map(lambda v: json.dumps(v).encode()),
)


class Echo:
    """Answers with what it got, in pieces, and says what it was asked as."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        start = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"text/plain"), (b"x", b"y")],
        }
        await send(start)
        for at in range(0, len(body), 7):
            await send({"type": "http.response.body", "body": body[at : at + 7], "more_body": True})
        await send({"type": "http.response.body", "body": scope["path"].encode() + scope["query_string"]})


@given(bodies, st.sampled_from([CHAT, "/v1/completions", "/v1/embeddings", "/v1/models", "/v1/responses"]),
       st.sampled_from(["POST", "GET", "HEAD", "PUT", "OPTIONS"]), st.integers(1, 4))  # fmt: skip
def test_with_and_without_the_middleware_an_app_answers_alike(
    body: bytes, path: str, method: str, pieces: int
) -> None:
    async def run() -> None:
        layer = CacheLayer(semantic=False)
        for app in (Echo(), Errors()):
            behind = await Client(CacheLayerMiddleware(app, layer=layer, name=type(app).__name__)).post(
                path, body, method=method, pieces=pieces
            )
            alone = await Client(app).post(path, body, method=method, pieces=pieces)
            assert behind.body == alone.body and behind.status == alone.status
            assert [h for h in behind.headers if h[0] != b"cache-status"] == alone.headers
            if path not in (CHAT, "/v1/completions", "/v1/embeddings") or method != "POST":
                assert behind.parts == alone.parts and behind.headers == alone.headers

    asyncio.run(run())


class Errors:
    """Refuses everything, with headers."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [(b"content-type", b"application/json"), (b"retry-after", b"3"), (b"set-cookie", b"a=b")]
        await Upstream._reply(send, 429, b'{"error":{}}', headers)


@pytest.mark.parametrize(("body", "headers", "why"), [
    (b"{", {}, "invalid JSON"), (b"[]", {}, "not a JSON object"), (b'{"a":1,"a":2}', {}, "twice"),
    (b'{"stream":"yes"}', {}, "stream is not"), (b"{}", {"content_encoding": "gzip"}, "content-encoding"),
    (b"{}", {"range": "bytes=0-1"}, "range"),
    (b'{"store":true}', {}, "detail=store"), (b'{"conversation":"c"}', {}, "detail=conversation"),
])  # fmt: skip
async def test_what_cannot_be_cached_says_why(layer: CacheLayer, body: bytes, headers: Any, why: str) -> None:
    answer = await Client(CacheLayerMiddleware(Errors(), layer=layer)).post(CHAT, body, **headers)
    assert "fwd=bypass" in answer.header("cache-status") and why in answer.header("cache-status")


async def test_large_bodies_pass_in_pieces_or_are_refused(upstream: Upstream, layer: CacheLayer) -> None:
    large = ask("x" * 10_000)
    c = Client(CacheLayerMiddleware(upstream, layer=layer, max_body=4096))
    for length in ({}, {"content_length": str(len(json.dumps(large)))}):
        answer = await c.post(CHAT, large, pieces=9, **length)
        assert answer.status == 200 and "too-large" in answer.header("cache-status")
    strict = Client(
        CacheLayerMiddleware(upstream, layer=layer, max_body=4096, too_large="refuse", name="strict")
    )
    refused = await strict.post(CHAT, large, pieces=9)
    assert refused.status == 413 and "larger than 4096 bytes" in refused.json()["error"]["message"]
    assert len(upstream.requests) == 2


async def test_a_hundred_megabytes_pass_without_being_held(layer: CacheLayer) -> None:
    """The app reads each piece before the next one is taken from the server."""
    taken = read = most = 0

    async def receive() -> Any:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b"x" * 2**20, "more_body": taken < 100}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal read, most
        more = True
        while more:
            message = await receive()
            read += len(message["body"])
            most = max(most, taken * 2**20 - read)
            more = message["more_body"]
        await Upstream._reply(send, 200, b"ok", [])

    call = Client(app).start(CHAT, b"")
    call.task.cancel()
    scope = {"type": "http", "method": "POST", "path": CHAT, "headers": [], "query_string": b""}
    told: list[Any] = []

    async def send(message: Any) -> None:
        told.append(message)

    await CacheLayerMiddleware(app, layer=layer)(scope, receive, send)
    assert read == 100 * 2**20 and most <= 5 * 2**20 and told[-1]["body"] == b"ok"


async def test_a_large_answer_is_not_held_back(layer: CacheLayer) -> None:
    gate = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"application/json")],
            }
        )
        await send({"type": "http.response.body", "body": b'"' + b"x" * 3 * 2**20, "more_body": True})
        await gate.wait()
        await send({"type": "http.response.body", "body": b'"'})

    call: Call = Client(CacheLayerMiddleware(app, layer=layer)).chatting("x")
    await call.parts(1)
    gate.set()
    answer = await call.wait()
    assert len(answer.body) == 3 * 2**20 + 2 and "oversize" in answer.header("cache-status")


async def test_an_app_that_raises_or_says_nothing_does_so_behind_the_middleware(layer: CacheLayer) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ZeroDivisionError

    async def mute(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    for app in (broken, mute):
        call = Client(CacheLayerMiddleware(app, layer=layer, name=app.__name__)).chatting("x")
        if app is broken:
            with pytest.raises(ZeroDivisionError):
                await call.wait()
        assert (await asyncio.gather(call.task, return_exceptions=True)) and call.answer.status == 0


async def test_a_known_caller_who_leaves_before_he_asked_anything_disturbs_nobody(
    upstream: Upstream, layer: CacheLayer
) -> None:
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    for _ in range(3):
        await c.chat("x")
    call = c.chatting("x")
    call._messages.clear()
    call.leave()
    assert (await call.wait()).status == 0 and len(upstream.requests) == 1


async def test_an_app_that_looks_for_its_client_in_vain_goes_on(layer: CacheLayer) -> None:
    """As Starlette's `is_disconnected` does: it asks for a message and gives up at once."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        for _ in range(4):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(receive(), 0.001)
            await send({"type": "http.response.body", "body": b"data: x\n\n", "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    answer = await Client(CacheLayerMiddleware(app, layer=layer)).chat({"say": "x"}, stream=True)
    assert answer.complete and answer.body == b"data: x\n\n" * 4


@pytest.mark.parametrize(("kind", "method", "path"), [
    ("websocket", "GET", CHAT), ("http", "GET", CHAT), ("http", "HEAD", CHAT), ("http", "POST", "/v1/responses"),
])  # fmt: skip
async def test_what_is_no_cached_route_gets_the_servers_own_channels(
    layer: CacheLayer, kind: str, method: str, path: str
) -> None:
    """Nothing is put in between, so nothing can be buffered, split or delayed."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend([scope, receive, send])

    async def receive() -> Any:
        return {}

    async def send(message: Any) -> None:
        return None

    scope = {"type": kind, "method": method, "path": path, "headers": []}
    await CacheLayerMiddleware(app, layer=layer)(scope, receive, send)
    assert seen[0] is scope and seen[1] is receive and seen[2] is send


async def test_trailers_pass_and_are_not_kept(layer: CacheLayer) -> None:
    calls = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        calls.append(await receive())
        json_type = (b"content-type", b"application/json")
        headers = [json_type, (b"trailer", b"x-sum")] if len(calls) % 2 else [json_type]
        await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": True})
        await send({"type": "http.response.body", "body": b'{"a":', "more_body": True})
        await send({"type": "http.response.body", "body": b"1}"})
        for more in (True, False):
            await send(
                {"type": "http.response.trailers", "headers": [(b"x-sum", b"1")], "more_trailers": more}
            )

    c = Client(CacheLayerMiddleware(app, layer=layer))
    for asked in (1, 2):
        call = c.chatting("hello")
        seen: list[Any] = []
        call.note = seen.append
        answer = await call.wait()
        assert [message["type"].rpartition(".")[2] for message in seen] == [
            "start", "body", "body", "trailers", "trailers",
        ]  # fmt: skip
        assert len(calls) == asked and "kept:trailers" in answer.header("cache-status")


@pytest.mark.parametrize("secret", [b"", b"short", 4815162342])
def test_what_is_no_secret_is_refused_by_name(layer: CacheLayer, upstream: Upstream, secret: Any) -> None:
    with pytest.raises(ConfigurationError, match="secret="):
        CacheLayerMiddleware(upstream, layer=layer, secret=secret)
