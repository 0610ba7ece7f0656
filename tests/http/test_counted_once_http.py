"""Every request is counted once, by where its caller's answer came from; and every call of the app that failed."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from test_manners_http import Switch
from upstream import Upstream

from cachelayer import CacheLayer, Policy
from cachelayer.testing import ManualClock

USAGE = {"stream": True, "stream_options": {"include_usage": True}}


def counted(layer: CacheLayer) -> Counter[str]:
    """Requests by source, as the metrics tell."""
    found: Counter[str] = Counter()
    for reading in layer.metrics()._readings:
        if reading.name == "requests_total" and reading.value:
            found[reading.labels[1]] += int(reading.value)
    return found


async def test_a_kept_answer_that_is_too_old_for_its_caller_is_no_hit(c: Client, layer: CacheLayer) -> None:
    await c.chat("hello")
    await c.chat("hello", headers={"cache_control": "min-fresh=9999999"})
    assert counted(layer) == {"backend": 2}


async def test_an_embedding_that_is_too_old_for_its_caller_is_no_hit(c: Client, layer: CacheLayer) -> None:
    asked = {"model": "m", "input": ["a", "b"]}
    await c.post("/v1/embeddings", asked)
    await c.post("/v1/embeddings", asked, cache_control="min-fresh=9999999")
    assert counted(layer) == {"backend": 4}


async def test_a_kept_stream_without_the_usage_that_is_wanted_is_no_hit(c: Client, layer: CacheLayer) -> None:
    await c.chat("hello", stream=True)
    await c.chat("hello", **USAGE)
    assert counted(layer) == {"backend": 2}


async def test_a_stream_under_way_without_the_usage_that_is_wanted_is_not_shared(
    c: Client, layer: CacheLayer
) -> None:
    plain = [c.chatting("hello", stream=True) for _ in range(2)]
    others = [c.chatting("hello", **USAGE) for _ in range(3)]
    answers = await asyncio.gather(*(call.wait() for call in plain + others))
    assert all(answer.complete and answer.text() for answer in answers)
    assert sum(counted(layer).values()) == 5


async def test_those_whom_nothing_kept_suits_are_each_counted_once(c: Client, layer: CacheLayer) -> None:
    await c.chat("hello")
    refusing = [c.chatting("hello", headers={"cache_control": "min-fresh=9999999"}) for _ in range(5)]
    assert all(answer.complete for answer in await asyncio.gather(*(call.wait() for call in refusing)))
    assert sum(counted(layer).values()) == 6


async def test_a_miss_of_who_wants_what_is_kept_and_nothing_else_is_a_miss_and_no_call(
    upstream: Upstream,
) -> None:
    clock = ManualClock()
    policy = Policy(ttl=10, ttl_jitter=0, stale_while_revalidate=600)
    layer = CacheLayer(semantic=False, clock=clock, policy=policy)
    c = Client(CacheLayerMiddleware(upstream, layer=layer))
    only = {"cache_control": "only-if-cached"}
    items = {"model": "m", "input": ["a"]}
    await c.post("/v1/embeddings", {**items, "input": "other"})
    await c.chat("kept")
    assert (await c.chat("kept", headers=only)).hit
    clock.advance(60)
    assert (await c.chat("kept", headers=only)).hit  # stale, and not renewed behind its caller's back
    for told in ({}, {"stream": True}):
        answers = await asyncio.gather(*(c.chat("unknown", headers=only, **told) for _ in range(2)))
        assert {answer.header("cache-status") for answer in answers} == {"cachelayer; detail=not-cached"}
    assert (await c.post("/v1/embeddings", items, **only)).status == 504
    await layer.flush()
    assert counted(layer) == {"backend": 2, "memory": 1, "stale": 1, "bypass": 5}
    routes = layer.stats()["functions"].values()
    assert sum(route["misses"].get("memory", {}).get("only_if_cached", 0) for route in routes) == 5
    assert sum(route["backend_calls"] for route in routes) == len(upstream.requests) == 2
    assert not any(route["backend_errors"] for route in routes)


@pytest.mark.parametrize("origin", [{}, {"origin": "https://page.example"}])
async def test_a_whole_answer_made_of_a_kept_stream_is_one_hit(
    c: Client, layer: CacheLayer, origin: dict[str, str]
) -> None:
    await c.chat("hello", stream=True, headers=origin)
    for _ in range(5):
        assert (await c.chat("hello", headers=origin)).hit
    assert counted(layer) == {"backend": 1, "memory": 5}


@pytest.mark.parametrize(
    ("breaks", "sources"), [({}, {"backend": 1, "coalesced": 2}), ({"error_after": 2}, {"backend": 3})]
)
async def test_who_waits_for_a_stream_to_be_made_whole_is_counted_by_what_it_turns_out_to_be(
    c: Client, upstream: Upstream, layer: CacheLayer, breaks: dict[str, int], sources: dict[str, int]
) -> None:
    asked = json.dumps({"say": "hello there you", "hold": "g", "hold_after": 1, **breaks})
    calls = [c.chatting(asked, stream=True)]
    await calls[0].parts(1)
    calls += [c.chatting(asked) for _ in range(2)]
    await asyncio.sleep(0)
    upstream.gate("g").set()
    answers = [await call.wait() for call in calls]
    for answer in answers[1:]:
        assert answer.json()["choices"][0]["message"]["content"] == "hello there you"
    assert counted(layer) == sources
    assert len(upstream.requests) == sources["backend"]


@pytest.mark.parametrize("stale", [{}, {"stale_if_error": 600, "stale_while_revalidate": 300}])
@pytest.mark.parametrize(("status", "failed"), [(200, 0), (400, 1), (429, 1), (500, 1), (503, 1)])
async def test_a_call_of_the_app_that_failed_is_counted(
    upstream: Upstream, stale: dict[str, int], status: int, failed: int
) -> None:
    clock, app = ManualClock(), Switch(upstream)
    layer = CacheLayer(semantic=False, clock=clock, policy=Policy(ttl=10, ttl_jitter=0, **stale))
    c = Client(CacheLayerMiddleware(app, layer=layer))

    def errors() -> int:
        return sum(function["backend_errors"] for function in layer.stats()["functions"].values())

    app.status = status
    for told in ({}, {"stream": True}, {"headers": {"cache_control": "no-store, no-cache"}}):
        assert (await c.chat(f"hello {told}", **told)).status == status
    await c.post("/v1/embeddings", {"model": "m", "input": "x"})
    assert errors() == 4 * failed
    app.status = 200
    await c.chat("kept")
    clock.advance(60)
    app.status = status
    await c.chat("kept")  # answered, or renewed behind its caller's back
    await layer.flush()
    assert errors() == 5 * failed
