"""Whole requests of every kind on the wire: who asks through the middleware gets what the app alone would have said."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

import pytest
from cachelayer.adapters.asgi import CacheLayerMiddleware
from cachelayer.adapters.openai_wire import DONE, body_of, chunks_in
from hypothesis import given, settings
from hypothesis import strategies as st
from upstream import Server, Upstream, _json

from cachelayer import CacheLayer, Policy

CACHED = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings")


class Sturdy(Upstream):
    """Names in each answer the key that it was asked with, and answers 422 where it makes nothing of a request."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        key = dict(scope["headers"]).get(b"authorization", b"nobody").decode("latin-1")
        try:
            asked = json.loads(body)
            self.requests.append(asked)
            if scope["path"].endswith("/embeddings"):
                assert all(isinstance(i, str) for i in asked["input"]) and isinstance(asked["input"], list)
                assert asked["input"] and isinstance(asked["model"], str)
                await self._embed(send, asked)
                return
            field = asked["messages"][-1] if "chat" in scope["path"] else asked
            named = "content" if "chat" in scope["path"] else "prompt"
            assert isinstance(field[named], str) and asked.get("n") in (None, 1, 2)
            field[named] = json.dumps({"say": f"{key} said {field[named][:200]}"})
            assert asked.get("stream") in (None, True, False)
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError):
            await _json(send, 422, {"error": {"message": "no", "said": len(body)}})
            return
        await self._complete(scope, receive, send, asked)


class Asked(NamedTuple):
    method: str
    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...]
    chunked: bool


class Told(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


texts = st.sampled_from(["hi", "hello there", "naïve 日本", "", "x" * 3000]) | st.text(max_size=8)
chats = st.fixed_dictionaries(
    {"messages": st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": texts}),
                          min_size=1, max_size=3)},
    optional={"model": st.sampled_from(["m", "n"]), "stream": st.booleans() | st.none(), "n": st.integers(1, 2),
              "temperature": st.sampled_from([0, 1, 0.5]), "user": texts, "unknown": st.none() | texts,
              "stream_options": st.just({"include_usage": True})},
)  # fmt: skip
prompts = st.fixed_dictionaries({"prompt": texts}, optional={"stream": st.booleans(), "n": st.integers(1, 2)})
inputs = st.fixed_dictionaries({"input": st.lists(texts, max_size=4)}, optional={"model": st.just("m")})
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3)
)
odd = st.dictionaries(st.sampled_from(["messages", "prompt", "input", "stream", "n", "cachelayer_x"]), values)
spelled = st.one_of(chats, prompts, inputs, odd, values).flatmap(
    lambda value: st.sampled_from(
        [json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent=1)]
    )
)
bodies = spelled.map(str.encode) | st.binary(max_size=30)
headers = st.lists(
    st.sampled_from([
        ("cache-control", "no-cache"), ("cache-control", "no-store"), ("cache-control", "max-age=0"),
        ("cache-control", "only-if-cached"), ("cache-control", "max-age=, nonsense=\""), ("pragma", "no-cache"),
        ("cachelayer", "max-error-rate=1"), ("cachelayer", "no-similar"), ("range", "bytes=0-9"),
        ("content-encoding", "gzip"), ("content-encoding", "identity"), ("accept-encoding", "gzip, br"),
        ("accept-language", "de"), ("if-none-match", "*"), ("expect", "nothing"), ("x-long", "y" * 5000),
    ]),
    max_size=2, unique_by=lambda pair: pair[0],
)  # fmt: skip
requests = st.builds(
    lambda method, path, body, more, key, chunked: Asked(
        method, path, body, (*more, *([("authorization", key)] if key else [])), chunked
    ),
    st.sampled_from(["POST"] * 6 + ["GET", "HEAD", "PUT"]),
    st.sampled_from([*CACHED, CACHED[0], CACHED[0], "/v1/models", "/v1/chat/completions?a=1"]),
    bodies, headers, st.sampled_from(["Bearer a", "Bearer b", "Bearer a", None]), st.booleans(),
)  # fmt: skip


@pytest.fixture(scope="module")
def ports() -> Iterator[tuple[int, int, Upstream]]:
    with ExitStack() as stack:
        behind, layer = Sturdy(), CacheLayer(semantic=False, policy=Policy(max_bytes=2**20))
        ports = [
            stack.enter_context(Server(app, http="httptools")).port
            for app in (Sturdy(), CacheLayerMiddleware(behind, layer=layer))
        ]
        yield ports[0], ports[1], behind


def sent(connection: http.client.HTTPConnection, asked: Asked) -> Told:
    body: Any = asked.body
    if asked.chunked:
        body = iter([asked.body[:5], asked.body[5:]])
    connection.request(asked.method, asked.path, body, dict(asked.headers), encode_chunked=asked.chunked)
    answer = connection.getresponse()
    return Told(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())


def meaning(told: Told, kept: bool) -> Any:
    """What an answer says, without what is each one's own. `kept`: without what a stream that is kept does not tell."""
    if not told.body:
        return told.body
    if told.headers.get("content-type", "").startswith("text/event-stream"):
        assert told.body.endswith(DONE) and told.body.count(DONE) == 1
        said = body_of(chunks_in(told.body))
    elif told.body[:1] == b"{":
        said = json.loads(told.body)
    else:
        return told.body
    own = ("id", "created", "usage") if kept else ("id", "created")
    said = {name: value for name, value in said.items() if name not in own}
    return _told(said) if kept else said


def _told(value: Any) -> Any:
    if isinstance(value, list):
        return [_told(item) for item in value]
    if isinstance(value, dict):
        return {name: _told(item) for name, item in value.items() if item is not None}
    return value


STATUS = re.compile(
    r'cachelayer(; (hit|stored|collapsed|fwd=[a-z-]+|fwd-status=\d{3}|ttl=-?\d+|detail=([a-z][a-z:-]*|"[^"\\]*")))*'
)


@settings(max_examples=120, deadline=None)
@given(st.lists(requests, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=5))
def test_any_requests_are_answered_as_by_the_app_alone(
    ports: tuple[int, int, Upstream], some: list[Asked], again: list[int]
) -> None:
    with (
        closing(http.client.HTTPConnection("127.0.0.1", ports[0], timeout=10)) as alone,
        closing(http.client.HTTPConnection("127.0.0.1", ports[1], timeout=10)) as behind,
    ):
        for asked in [*some, *(some[at % len(some)] for at in again)]:
            before = len(ports[2].requests)
            plain, told = sent(alone, asked), sent(behind, asked)
            status = told.headers.pop("cache-status", "")
            if told.status == 504:
                assert ("cache-control", "only-if-cached") in asked.headers and "fwd=" not in status
                continue
            kept = "; hit" in status
            assert (told.status, meaning(told, kept)) == (plain.status, meaning(plain, kept)), status
            assert told.headers.get("content-type") == plain.headers.get("content-type")
            on_route = asked.method == "POST" and asked.path.partition("?")[0] in CACHED
            assert bool(status) is on_route and STATUS.fullmatch(status or "cachelayer"), status
            if "; hit" in status:
                assert len(ports[2].requests) == before and ("age" in told.headers)
            elif not on_route:
                assert told.headers.keys() == plain.headers.keys() and "age" not in told.headers
