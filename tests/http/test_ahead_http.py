"""The caller whose request the app answered has it before it is kept, and nobody can tell but by the clock."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest
from asgi_client import Call, Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from cachelayer.adapters.asgi.middleware import GRACE
from opentelemetry.sdk.trace import TracerProvider
from turns import turns
from upstream import Upstream

from cachelayer import CacheLayer, Policy
from cachelayer.testing import ManualClock


class Watched(Call):
    """Calls `seen` with each message that it is sent."""

    seen: Any = staticmethod(lambda message: None)

    async def _send(self, message: dict[str, Any]) -> None:
        await super()._send(message)
        self.seen(message)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asgi_client.Call", Watched)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("held", [False, True])
async def test_an_answer_is_sent_before_it_is_kept_and_kept_before_the_next_request(
    c: Client, upstream: Upstream, layer: CacheLayer, held: bool
) -> None:
    await c.chat("another")
    layer.stats()
    kept: list[int] = []
    later: list[Call] = []
    asked = {"say": "hi", **({"hold": "g"} if held else {})}
    first: Any = c.chatting(asked)

    def seen(message: dict[str, Any]) -> None:
        if message["type"].endswith("body"):
            kept.append(len(layer._memory))  # to look through its stats has it kept
            # what a server reads after it wrote is handled a turn later
            asyncio.get_running_loop().call_soon(lambda: later.append(c.chatting(asked)))

    first.seen = seen
    upstream.gate("g").set()
    answer = await first.wait()
    assert kept == [1] and "; stored;" in answer.header("cache-status") and layer.stats()["entries"] == 2
    assert (await later[0].wait()).hit and len(upstream.requests) == 2


@pytest.mark.parametrize("fields", [{}, {"stream": True}])
async def test_a_caller_who_takes_nothing_holds_up_nobody(
    c: Client, upstream: Upstream, fields: dict[str, Any]
) -> None:
    asked = {"say": "one two three four", "hold": "g"}
    slow = c.chatting(asked, **fields)
    slow.window = asyncio.Semaphore(0)
    while not upstream.requests:
        await asyncio.sleep(0)
    other = c.chatting(asked, **fields)
    await asyncio.sleep(0)
    upstream.gate("g").set()
    answer = await other.wait()
    assert b"three" in answer.body and answer.complete and len(upstream.requests) == 1
    assert not slow.answer.parts and not slow.task.done()
    for _ in range(99):
        slow.window.release()
    assert (await slow.wait()).complete and b"three" in slow.answer.body


@pytest.mark.parametrize("fields", [{}, {"stream": True}])
async def test_a_caller_who_left_fails_for_himself_alone(
    c: Client, upstream: Upstream, fields: dict[str, Any]
) -> None:
    asked = {"say": "one two", "hold": "g"}
    gone = c.chatting(asked, **fields)
    gone.raises = True
    while not upstream.requests:
        await asyncio.sleep(0)
    other = c.chatting(asked, **fields)
    await asyncio.sleep(0)
    gone._left.set()
    upstream.gate("g").set()
    assert b"one" in (await other.wait()).body and other.answer.complete
    with pytest.raises(OSError, match="gone"):
        await gone.wait()
    assert len(upstream.requests) == 1 and (await c.chat(asked, **fields)).hit


class Served(Call):
    """As under uvicorn, which says that the client is gone once the last part was sent."""

    async def _send(self, message: dict[str, Any]) -> None:
        await super()._send(message)
        if self.answer.complete:
            self.leave()


async def test_the_end_of_a_slow_answer_is_not_taken_for_the_callers_leaving(
    layer: CacheLayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asgi_client.Call", Served)
    worked: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(3 * GRACE)  # as long as models take: the caller's leaving is looked for
        await upstream(scope, receive, send)
        await turns(9)
        worked.append(1)

    upstream = Upstream()
    c = Client(CacheLayerMiddleware(app, layer=layer))
    for at, fields in enumerate(({}, {"stream": True}), 1):
        assert (await c.chat(f"hello {at}", **fields)).complete
        assert len(worked) == at and layer.stats()["entries"] == at  # what follows a response is waited for


async def test_what_is_asked_behind_a_callers_back_reaches_no_caller(upstream: Upstream) -> None:
    clock = ManualClock()
    policy = Policy(ttl="1m", ttl_jitter=0, stale_while_revalidate="1h")
    layer = CacheLayer(semantic=False, clock=clock, policy=policy)
    c = Client(CacheLayerMiddleware(upstream, layer=layer, recheck="10h"))
    await c.chat("whole")
    await c.chat("streamed", stream=True)
    clock.advance(70)
    whole, streamed = await c.chat("whole"), await c.chat("streamed", stream=True)
    await layer.flush()
    await turns(200)
    assert len(upstream.requests) == 4 and "detail=stale" in whole.header("cache-status")
    assert whole.json()["choices"] and len(whole.parts) == 1  # and not the refreshed one after it
    assert streamed.events().count(None) == 1
    assert (await c.chat("whole")).hit and (await c.chat("streamed", stream=True)).hit


class Failing(Upstream):
    """Answers as an upstream does, or in many pieces that are not kept, with `status`."""

    status = 0

    def __init__(self) -> None:
        super().__init__()
        self.ended = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self.status:
            await super().__call__(scope, receive, send)
            return
        try:
            told = [(b"content-type", b"application/json"), (b"set-cookie", b"a=b")]
            await send({"type": "http.response.start", "status": self.status, "headers": told})
            for _ in range(9):
                await send({"type": "http.response.body", "body": b"piece", "more_body": True})
            await send({"type": "http.response.body"})
        finally:
            self.ended.set()


@pytest.mark.parametrize(("policy", "status"), [
    ("stale_while_revalidate", 200), ("stale_while_revalidate", 401), ("stale_while_revalidate", 500),
    ("stale_if_error", 500),
])  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
async def test_an_app_whose_answer_nobody_waits_for_ends(policy: str, status: int, stream: bool) -> None:
    """And so does the request that has another answer. What the app says of the caller is heard."""
    app, clock = Failing(), ManualClock()
    layer = CacheLayer(
        semantic=False, clock=clock, policy=Policy(ttl="100s", ttl_jitter=0, **{policy: "100s"})
    )
    c = Client(CacheLayerMiddleware(app, layer=layer, recheck="1h"))
    await c.chat("hi", stream=stream)
    clock.advance(150)
    app.status = status
    stale = await asyncio.wait_for(c.chat("hi", stream=stream), 10)
    assert "stale" in stale.header("cache-status")
    await asyncio.wait_for(app.ended.wait(), 10)
    app.status = 0
    assert (await c.chat("hi", stream=stream)).hit is (policy != "stale_if_error" and status != 401)


@pytest.mark.parametrize(
    "said",
    [
        {"say": "yes"},
        {"say": ""},
        {"say": "cut", "finish": "length"},
        {"say": "no", "finish": "content_filter"},
        {"say": "brief", "headers": {"cache-control": "max-age=0"}},
        {"say": "an hour", "headers": {"cache-control": "max-age=3600"}},
        {"say": "x" * 3000},
        {"say": "x" * 9_900},  # with its request, which says it too, just above 20,000 bytes
        {"say": "x" * 30_000},
        {"say": "mine", "headers": {"set-cookie": "a=b"}},
    ],
)
@pytest.mark.parametrize("options", [{}, {"cache_if": lambda answer: False}, {"max_item_bytes": 20_000}])
async def test_stored_is_said_of_what_is_found_again_and_of_nothing_else(
    upstream: Upstream, said: dict[str, Any], options: dict[str, Any]
) -> None:
    layer = CacheLayer(semantic=False, policy=Policy(ttl_jitter=0, **options))
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    told = (await c.chat(said)).header("cache-status")
    assert ("; stored;" in told) is ("kept:" not in told)
    assert (await c.chat(said)).hit is ("; stored;" in told)


@pytest.mark.parametrize("fields", [{}, {"stream": True}])
async def test_a_miss_leaves_nothing_to_the_collector(c: Client, fields: dict[str, Any]) -> None:
    async def miss(at: int) -> None:
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/chat/completions",
            "query_string": b"",
            "headers": KEY,
        }
        body = [{"type": "http.request", "body": json.dumps(ask(f"hello {at}", **fields)).encode()}]

        async def receive() -> Any:
            return body.pop() if body else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message["type"])

        await app(scope, receive, send)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await (c.app if through else c.app.app)(scope, receive, send)

    sent: list[str] = []
    left = {}
    for through in (False, True):
        for at in range(3):
            await miss(at)
        gc.collect()
        gc.disable()
        try:
            for at in range(10, 30):
                await miss(at)
            left[through] = gc.collect()
        finally:
            gc.enable()
    assert len(sent) >= 2 * 2 * 23 and left[True] < left[False] + 20, left


KEY = [(b"authorization", b"Bearer a"), (b"content-type", b"application/json")]


@pytest.mark.parametrize("control", ["no-cache", "max-age=0", "min-fresh=99999999"])
async def test_what_was_asked_anew_is_what_the_very_next_request_gets(
    layer: CacheLayer, control: str
) -> None:
    """The bytes of a request lead to the entry before, until the new one is kept, which may be put off."""
    asked = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal asked
        await receive()
        asked += 1
        body = json.dumps(Upstream().whole(ask("hello"), {"say": f"answer {asked}"}, True)).encode()
        await Upstream._reply(send, 200, body, [(b"content-type", b"application/json")])

    c = Client(CacheLayerMiddleware(app, layer=layer))
    await c.chat("hello")
    for n in range(2, 11):
        assert (await c.chat("hello")).hit
        assert "stored" in (await c.chat("hello", headers={"cache-control": control})).header("cache-status")
        again = await c.chat("hello")
        assert again.hit and again.json()["choices"][0]["message"]["content"] == f"answer {n}"


@pytest.mark.parametrize("traced", [False, True])
async def test_who_is_sent_an_answer_ahead_is_counted_once_also_where_requests_are_traced(
    c: Client, layer: CacheLayer, traced: bool
) -> None:
    if traced:
        layer.trace(TracerProvider())
    await c.chat("hi")
    assert sum(told["requests"] for told in layer.stats()["functions"].values()) == 1
