"""Embeddings that are old, refused by directives, or asked for by callers who leave: item by item, as whole answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer, Policy
from cachelayer.testing import ManualClock

PATH = "/v1/embeddings"
BOTH = {"model": "e", "input": ["a", "bb"]}


class App:
    """Answers from an upstream, or with 503 in many pieces; waits where it is closed. Knows who left."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream, self.fails, self.at_work, self.left = upstream, False, 0, 0
        self.open, self.begun = asyncio.Event(), asyncio.Event()
        self.open.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.at_work += 1
        self.begun.set()
        try:
            await self._answer(scope, receive, send)
        finally:
            self.at_work -= 1

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if not self.open.is_set():
            asked = await receive()
            gone, opened = asyncio.ensure_future(receive()), asyncio.ensure_future(self.open.wait())
            await asyncio.wait({gone, opened}, return_when=asyncio.FIRST_COMPLETED)
            opened.cancel()
            if gone.done():
                self.left += 1
                return
            gone.cancel()

            async def receive() -> Any:
                return asked

        if self.fails:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            for _ in range(9):
                await send({"type": "http.response.body", "body": b"no", "more_body": True})
            await send({"type": "http.response.body"})
            return
        await self.upstream(scope, receive, send)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def app(upstream: Upstream) -> App:
    return App(upstream)


@pytest.fixture
def c(app: App, clock: ManualClock) -> Client:
    settings = Policy(ttl="100s", ttl_jitter=0, stale_while_revalidate="100s", stale_if_error="1h")
    layer = CacheLayer(semantic=False, clock=clock, policy=settings)
    return Client(CacheLayerMiddleware(app, layer=layer, recheck="10h"))


def vectors(answer: Any) -> list[float]:
    return [item["embedding"][0] for item in answer.json()["data"]]


async def test_stale_vectors_are_served_at_once_and_renewed_by_one_request(
    c: Client, app: App, upstream: Upstream, clock: ManualClock
) -> None:
    await c.post(PATH, BOTH)
    clock.advance(150)
    app.open.clear()
    app.begun.clear()
    stale = await asyncio.wait_for(c.post(PATH, BOTH), 10)
    assert vectors(stale) == [1.0, 2.0] and "detail=stale" in stale.header("cache-status")
    assert stale.json()["usage"]["total_tokens"] == 0 and stale.header("age") == "150"
    await app.begun.wait()
    app.open.set()
    while not vectors(fresh := await c.post(PATH, BOTH)) or "stale" in fresh.header("cache-status"):
        await asyncio.sleep(0)
    assert [r["input"] for r in upstream.requests] == [["a", "bb"]] * 2


async def test_stale_vectors_beside_unknown_ones_are_no_part_of_that_request(
    c: Client, upstream: Upstream, clock: ManualClock
) -> None:
    await c.post(PATH, BOTH)
    clock.advance(150)
    answer = await c.post(PATH, {**BOTH, "input": ["a", "ccc", "bb"]})
    assert vectors(answer) == [1.0, 3.0, 2.0] and ["ccc"] in [r["input"] for r in upstream.requests]
    assert answer.json()["usage"]["total_tokens"] == 1


async def test_stale_vectors_stand_in_for_a_failing_app(c: Client, app: App, clock: ManualClock) -> None:
    await c.post(PATH, BOTH)
    clock.advance(250)
    app.fails = True
    stale = await asyncio.wait_for(c.post(PATH, BOTH), 10)
    assert (stale.status, vectors(stale)) == (200, [1.0, 2.0])
    assert (await asyncio.wait_for(c.post(PATH, {**BOTH, "input": ["ccc"]}), 10)).body == 9 * b"no"
    assert app.at_work == 0


async def test_a_caller_may_ask_for_fresher_vectors(
    c: Client, upstream: Upstream, clock: ManualClock
) -> None:
    async def calls(**headers: str) -> int:
        before = len(upstream.requests)
        answer = await c.post(PATH, BOTH, **headers)
        assert vectors(answer) == [1.0, 2.0]
        return len(upstream.requests) - before

    assert await calls() == 1
    clock.advance(50)
    assert await calls(cache_control="min-fresh=40") == 0
    assert await calls(cache_control="min-fresh=60") == 1
    assert await calls(cache_control="min-fresh=60") == 0
    clock.advance(150)
    assert await calls(cache_control="max-stale=10") >= 1  # and one that renews what was stale
    only = {"cache_control": "only-if-cached, min-fresh=200"}
    assert (await c.post(PATH, BOTH, **only)).status == 504


async def test_who_asks_for_what_is_cached_alone_refuses_nobody_else(c: Client, upstream: Upstream) -> None:
    await c.post(PATH, {**BOTH, "input": "warm"})
    only = c.start(PATH, BOTH, cache_control="max-age=60, only-if-cached")
    answer = await c.post(PATH, BOTH, cache_control="max-age=60")
    assert (await only.wait()).status == 504 and vectors(answer) == [1.0, 2.0]


async def test_a_first_request_is_told_as_a_miss(c: Client) -> None:
    """Nobody asked for a fresh answer."""
    assert "fwd=uri-miss" in (await c.post(PATH, BOTH)).header("cache-status")


async def test_an_app_is_told_that_the_last_who_waited_for_a_batch_left(c: Client, app: App) -> None:
    app.open.clear()
    calls = []
    for _ in range(2):
        calls.append(c.start(PATH, BOTH))
        await app.begun.wait()
    for left, call in enumerate(calls):
        assert app.left == 0 and app.at_work == 1, left
        call.leave()
        await call.wait()
    while app.at_work:
        await asyncio.sleep(0)
    assert app.left == 1


async def test_an_app_that_refuses_what_only_others_wait_for_ends(c: Client, app: App) -> None:
    app.open.clear()
    first = c.start(PATH, BOTH)
    await app.begun.wait()
    second = c.start(PATH, BOTH)
    for _ in range(9):  # it rides on what the first one asked
        await asyncio.sleep(0)
    first.leave()
    await first.wait()
    app.fails = True
    app.open.set()
    assert (await asyncio.wait_for(second.wait(), 10)).status == 503
    async with asyncio.timeout(10):
        while app.at_work:
            await asyncio.sleep(0)


async def test_the_usage_of_a_batch_that_took_two_calls_is_that_of_both(app: App) -> None:
    """An item whose flight is another's, who takes too long, is asked for after the others."""
    layer = CacheLayer(semantic=False, policy=Policy(rider_wait="10ms"))
    c = Client(CacheLayerMiddleware(app, layer=layer))
    app.open.clear()
    others = c.start(PATH, {"model": "e", "input": ["bb"]})
    await app.begun.wait()
    mine = c.start(PATH, BOTH)
    async with asyncio.timeout(30):
        while app.at_work < 3:
            await asyncio.sleep(0)
    app.open.set()
    answer = await mine.wait()
    assert vectors(answer) == [1.0, 2.0]
    assert answer.json()["usage"] == {"prompt_tokens": 2, "total_tokens": 2}
    assert (await others.wait()).status == 200


async def test_events_in_place_of_embeddings_reach_the_caller_whole() -> None:
    """He got nothing, with status 200, and the app waited for ever for somebody to read it."""
    ended: list[bool] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        events = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": events})
        for _ in range(99):
            await send({"type": "http.response.body", "body": b"data: x\n\n", "more_body": True})
        await send({"type": "http.response.body"})
        ended.append(True)

    c = Client(CacheLayerMiddleware(app, layer=CacheLayer(semantic=False)))
    answer = await c.post(PATH, BOTH)
    assert answer.body == b"data: x\n\n" * 99 and b"not-by-item" in dict(answer.headers)[b"cache-status"]
    assert ended == [True]
