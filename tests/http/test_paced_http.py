"""Streams over HTTP are timed as their callers get them, and no proxy is left to hold back what comes in pieces."""

from __future__ import annotations

import asyncio
import json

from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer
from cachelayer.testing import ManualClock

SAID = json.dumps({"say": "one two", "hold": "held"})


def paced(layer: CacheLayer, what: str, result: str) -> tuple[int, float]:
    """How often this time of streams was counted, and the seconds of all."""
    for reading in layer.metrics()._readings:
        if reading.name == f"{what}_seconds" and reading.labels[1] == result:
            return reading.value.below[-1][1], reading.value.total
    return 0, 0.0


async def test_the_first_token_of_a_stream_is_its_first_event_not_its_head(upstream: Upstream) -> None:
    clock, begun = ManualClock(), asyncio.Event()
    layer = CacheLayer(semantic=False, clock=clock)
    layer.metrics()
    call = Client(CacheLayerMiddleware(upstream, layer=layer)).chatting(SAID, stream=True)
    call.note = lambda message: begun.set()
    await begun.wait()
    clock.advance(3.0)
    upstream.gate("held").set()
    assert (await call.wait()).complete
    assert paced(layer, "first_token", "miss") == (1, 3.0)
    assert paced(layer, "token_gap", "miss")[1] == 0.0
    assert paced(layer, "stream", "miss") == (1, 3.0)


async def test_each_repeat_of_a_stream_is_timed(c: Client, layer: CacheLayer) -> None:
    layer.metrics()
    for _ in range(4):
        assert (await c.chat("hello", stream=True)).complete
    assert [paced(layer, what, "hit")[0] for what in ("first_token", "stream")] == [3, 3]


async def test_nginx_is_told_to_hold_no_piece_back(c: Client, upstream: Upstream, layer: CacheLayer) -> None:
    """Of another's stream under way and of a paced replay; what is there at once comes at once anyway."""
    script = {"say": "a b c", "hold": "held", "hold_after": 2}
    first = c.chatting(script, stream=True)
    await first.parts(2)
    late = c.chatting(script, stream=True)
    await late.parts(1)
    upstream.gate("held").set()
    told = [await first.wait(), await late.wait(), await c.chat(script, stream=True)]
    assert [one.header("x-accel-buffering") for one in told] == ["", "no", ""] and told[2].hit
    slow = Client(CacheLayerMiddleware(upstream, layer=layer, pace=0.0, name="slow"))
    await slow.chat("x")
    for _ in range(2):
        replayed = await slow.chat("x", stream=True)
        assert replayed.hit and replayed.header("x-accel-buffering") == "no"
