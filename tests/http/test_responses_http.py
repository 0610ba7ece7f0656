"""What a response says of itself is believed where it says it twice or in part: the stricter word counts."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer, Policy
from cachelayer.testing import ManualClock

PLAIN = json.dumps(Upstream().whole(ask("x"), {"say": "packed " * 99}, True)).encode()


def client(clock: ManualClock, body: bytes, *told: tuple[str, str]) -> Client:
    """Of an app that answers with this body under these headers, a layer in front of it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        headers = [
            (name.encode(), value.encode()) for name, value in (("content-type", "application/json"), *told)
        ]
        await Upstream._reply(send, 200, body, headers)

    layer = CacheLayer(semantic=False, policy=Policy(ttl_jitter=0), clock=clock)
    return Client(CacheLayerMiddleware(app, layer=layer))


@pytest.mark.parametrize("lifetimes", [("max-age=600", "max-age=60"), ("max-age=60", "max-age=600")])
async def test_of_two_lifetimes_in_two_headers_the_shorter_counts(lifetimes: tuple[str, str]) -> None:
    clock = ManualClock()
    c = client(clock, PLAIN, *(("cache-control", lifetime) for lifetime in lifetimes))
    await c.chat("x")
    clock.advance(59)
    assert (await c.chat("x")).hit
    clock.advance(2)
    assert not (await c.chat("x")).hit


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        (lambda packed: packed, True), (lambda packed: packed[:-1], False), (lambda packed: packed[:-9], False),
        (lambda packed: packed + b"more", False), (lambda packed: packed[:20] + b"????" + packed[24:], False),
    ],
    ids=["whole", "cut in its check sum", "cut", "longer", "damaged"],
)  # fmt: skip
async def test_an_encoded_answer_is_kept_plain_where_it_is_whole_and_reaches_its_caller_as_it_is(
    encoding: str, damage: Any, kept: bool
) -> None:
    packed = damage(gzip.compress(PLAIN) if encoding == "gzip" else zlib.compress(PLAIN))
    c = client(ManualClock(), packed, ("content-encoding", encoding))
    first, again = [await c.chat("x", headers={"accept_encoding": encoding}) for _ in range(2)]
    assert first.body == packed and again.hit is kept
    if kept:
        assert again.json()["choices"] == json.loads(PLAIN)["choices"] and not again.header(
            "content-encoding"
        )
