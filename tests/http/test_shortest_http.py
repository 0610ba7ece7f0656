"""Which requests are answered by the shortest way, and that none is answered there otherwise than it asked."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import combinations, permutations
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from cachelayer.adapters.asgi.hot import AT_SIGHT, CAPACITY, READY
from cachelayer.adapters.asgi.settings import key_of
from upstream import Upstream

from cachelayer import CacheLayer
from cachelayer.testing import ManualClock

PATH = "/v1/chat/completions"
STREAMED = '{"stream":false}'
"""A text that names it."""


def ways_of(app: CacheLayerMiddleware) -> list[bool]:
    """Whether each request from now on takes the shortest way."""
    hot, short = app._served[PATH].hot, []
    assert hot is not None
    serve = hot.serve

    async def seen(*given: Any) -> Any:
        left = await serve(*given)
        short.append(left is None)
        return left

    hot.serve = seen  # type: ignore[method-assign]
    return short


@pytest.mark.parametrize(("fields", "compact", "short", "stream"), [
    ({}, True, True, False), ({"stream": False}, True, True, False), ({"stream": False}, False, True, False),
    ({"stream": None}, True, False, False), ({"stream": True}, True, False, True),
    ({"metadata": {"stream": False}}, True, True, False),
    ({"metadata": {"stream": False}, "stream": True}, True, False, True),
    ({"user": STREAMED, "stream": True}, True, False, True), ({"user": STREAMED}, True, False, False),
    ({'a"stream': False, "stream": True}, True, False, True),
    ({"stream": False, "stream_options": {"include_usage": True}}, True, False, False),
])  # fmt: skip
async def test_a_body_that_says_that_no_stream_is_wanted_takes_the_shortest_way(
    upstream: Upstream, layer: CacheLayer, fields: dict[str, Any], compact: bool, short: bool, stream: bool
) -> None:
    app = CacheLayerMiddleware(upstream, layer=layer)
    ways = ways_of(app)
    raw = json.dumps(ask("hello", **fields), separators=(",", ":") if compact else (", ", ": ")).encode()
    answers = [await Client(app).post(PATH, raw) for _ in range(3)]
    assert [one.hit for one in answers] == [False, True, True] and ways[-1] is short
    assert {one.header("content-type")[:16] for one in answers} == {
        "text/event-strea" if stream else "application/json"
    }
    whole = await Client(app).post(PATH, ask("hello", **{n: v for n, v in fields.items() if n != "stream"}))
    assert whole.hit and whole.json()["choices"][0]["message"]["content"] == "You said: hello"


async def test_a_stream_may_be_asked_for_in_any_spelling(upstream: Upstream, layer: CacheLayer) -> None:
    client = Client(CacheLayerMiddleware(upstream, layer=layer))
    raw = json.dumps(ask("hello", stream=True)).encode()
    spelled = [raw, *(raw.replace(b'"stream"', name) for name in (rb'"\u0073tream"', rb'"strea\u006d"'))]
    for body in [*spelled, *spelled, *spelled]:
        answer = await client.post(PATH, body)
        assert answer.header("content-type").startswith("text/event-stream")
        assert answer.text() == "You said: hello"
    assert answer.hit and len(upstream.requests) == 1


async def test_whoever_shows_two_credentials_gets_no_answer_of_one_of_them(layer: CacheLayer) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        shown = [name.decode() for name, _ in scope["headers"] if name != b"content-type"]
        choice = {"index": 0, "message": {"content": " and ".join(shown)}, "finish_reason": "stop"}
        body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "choices": [choice]}
        await Upstream._reply(send, 200, json.dumps(body).encode(), [(b"content-type", b"application/json")])

    client = Client(CacheLayerMiddleware(app, layer=layer), key=None)
    shown = ("authorization", "cookie", "api-key", "x-api-key")
    for names in [*combinations(shown, 1), *permutations(shown, 2)]:
        for turn in range(4):
            answer = await client.chat("x", headers=dict.fromkeys(names, "the same"))
            assert answer.json()["choices"][0]["message"]["content"] == " and ".join(names)
            assert answer.hit is (turn > 0)


async def test_a_body_in_pieces_is_read_to_its_end_before_it_is_answered(
    upstream: Upstream, layer: CacheLayer
) -> None:
    client = Client(CacheLayerMiddleware(upstream, layer=layer))
    for body in (ask("hello"), ask("hello", stream=True)):
        raw = json.dumps(body).encode()
        assert [(await client.post(PATH, raw)).hit for _ in range(4)][1:] == [True] * 3
        assert (await client.post(PATH, raw, pieces=2)).hit
        more = client.start(PATH, raw)
        more._messages[:] = [
            {"type": "http.request", "body": raw, "more_body": True},
            {"type": "http.request", "body": b" and what is more", "more_body": False},
        ]
        answer = await more.wait()
        assert answer.status == 400 and not answer.hit
    for headers in ({}, {"cache-control": "max-stale"}):  # what does not say whether more comes is the last
        said = client.start(PATH, raw, **headers)
        del said._messages[0]["more_body"]
        assert (await said.wait()).hit


@pytest.mark.parametrize("identity", [
    '"id": "chatcmpl-1", "created": 12', '"id":"1","created":12', '"created": 12, "id": "chatcmpl-1"',
    '"id": "chatcmpl-1"', '"created": 12', '"object": "chat.completion"',
    '"id": "chatcmpl-1", "created": 12, "again": {"id": "chatcmpl-1"}',
    '"id": "chatcmpl-1", "created": 12, "again": {"created": 12, "id": "chatcmpl-1"}',
    '"before": {"id": "chatcmpl-1"}, "id": "chatcmpl-1", "created": 12, "again": {"created": 12, "id": "chatcmpl-2"}',
])  # fmt: skip
async def test_an_answer_is_the_same_but_for_its_identity_whichever_way_it_takes(
    layer: CacheLayer, identity: str
) -> None:
    choice = '{"index": 0, "message": {"content": "yes"}, "finish_reason": "stop"}'
    kept = f'{{{identity}, "choices": [{choice}]}}'

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await Upstream._reply(send, 200, kept.encode(), [(b"content-type", b"application/json")])

    middleware = CacheLayerMiddleware(app, layer=layer)
    short = ways_of(middleware)
    answers = [await Client(middleware).chat("x") for _ in range(4)]
    assert short == [False, False, True, True]
    told = [re.sub(rb"[0-9a-f]{32}", b"1", one.body) for one in answers]
    told = [re.sub(rb'("created": ?)[0-9]{10}', rb"\g<1>12", one) for one in told]
    assert {one.decode() for one in told} == {kept}
    assert all(one.header("content-length") == str(len(one.body)) for one in answers)
    named = [re.findall(rb"[0-9a-f]{32}", one.body) for one in answers[1:]]
    assert len({one for ids in named for one in ids}) == (3 if '"id"' in identity else 0)


async def test_a_hit_says_the_same_whichever_way_it_takes(upstream: Upstream, layer: CacheLayer) -> None:
    app = CacheLayerMiddleware(upstream, layer=layer)
    short = ways_of(app)
    said = {"say": "hallo", "headers": {"content-language": "de"}}
    answers = [await Client(app).chat(said) for _ in range(4)]
    assert short == [False, False, True, True] and len(upstream.requests) == 1
    told = [{name: value for name, value in one.headers if name != b"age"} for one in answers[1:]]
    assert told[0] == told[1] == told[2] and told[0][b"content-language"] == b"de"


async def test_whoever_was_refused_and_is_let_in_again_takes_the_shortest_way_again(
    layer: CacheLayer,
) -> None:
    upstream = Upstream(keys={"Bearer sk-test"})
    app = CacheLayerMiddleware(upstream, layer=layer)
    client, short = Client(app), ways_of(app)
    for _ in range(4):
        await client.chat("x")
    upstream.keys = set()
    assert short[-1] and (await client.chat("new")).status == 401
    upstream.keys = {"Bearer sk-test"}
    answers = [await client.chat("x") for _ in range(4)]
    assert [one.hit for one in answers] == [False, True, True, True] and short[-2:] == [True, True]


async def test_credentials_themselves_are_remembered_for_moments_only_and_few(upstream: Upstream) -> None:
    clock = ManualClock()
    app = CacheLayerMiddleware(upstream, layer=CacheLayer(semantic=False, clock=clock))
    hot = app._served[PATH].hot
    assert hot is not None
    for n in range(AT_SIGHT + 2):
        for _ in range(3):
            answer = await Client(app, key=f"sk-{n}").chat("x")
        assert answer.hit and sum(map(len, hot._at_sight)) <= AT_SIGHT
    assert any(b"Bearer sk-%d" % n in seen for seen in hot._at_sight)
    clock.advance(1.5)
    await Client(app, key="sk-0").chat("x")
    assert not any(b"Bearer sk-%d" % n in seen for seen in hot._at_sight)


def test_what_the_shortest_way_remembers_is_bounded(upstream: Upstream, layer: CacheLayer) -> None:
    app = CacheLayerMiddleware(upstream, layer=layer)
    for _ in range(3):
        asyncio.run(Client(app).chat("x"))
    served = app._served[PATH]
    hot, accepted, now = served.hot, served.settings.accepted, served.now()
    assert hot is not None
    ((prefix, _, principal),) = hot._known.values()
    slot = served.raws.find(prefix + json.dumps(ask("x")).encode())
    assert slot is not None
    for slot.id in range(READY + 1):
        hot._prepare(slot, now)
    assert len(hot._ready) <= READY
    for n in range(CAPACITY + 1):
        one = principal._replace(name=f"own:{n}", credentials=n.to_bytes(16))
        accepted.heard(key_of(one, PATH), 200, now)
        hot.learn(one, prefix)
    assert len(hot._known) <= CAPACITY and len(accepted._grants) <= CAPACITY
