"""What an operator invalidates or erases by a program of two lines is gone from every gateway of the Redis."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from asgi_client import Client
from redis_servers import Server as Redis
from upstream import Server, Upstream

from cachelayer import CacheLayer
from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway

KEYS = [
    {"tenant": n, "sha256": hashlib.sha256(n.encode()).hexdigest(), "trusted": True} for n in ("acme", "b")
]
CHAT = "gateway:/v1/chat/completions"


@pytest.fixture
async def fleet(
    tmp_path: Path, serving: Callable[..., Server], upstream: Upstream
) -> AsyncIterator[tuple[str, list[Gateway]]]:
    """A Redis' URL, and two gateways that share it."""
    server = Redis(tmp_path / "redis").start()
    cache = {"cache.redis": server.url, "cache.redis_budget": 2.0, "cache.semantic": "off"}
    given = {"upstream": [{"url": serving(upstream).url}], "key": KEYS, "server.log": "off", **cache}
    gateways = [Gateway(load(None, {}, given)) for _ in range(2)]
    yield server.url, gateways
    for one in gateways:
        await one.behind.aclose()
        await one.layer.aclose()
    server.kill()


@pytest.mark.parametrize(("asked", "left"), [
    (lambda layer: layer.invalidate(scope={"function": CHAT}), []),
    (lambda layer: layer.invalidate(scope={"tenant": "named:acme"}), ["b"]),
    (lambda layer: layer.erase(tenant="named:acme"), ["b"]),
])  # fmt: skip
async def test_what_is_declared_elsewhere_is_gone_from_every_gateway(
    fleet: Any, upstream: Upstream, asked: Any, left: list[str]
) -> None:
    url, gateways = fleet
    for gateway in gateways:
        for key in ("acme", "b"):
            told = [await Client(gateway, key=key).chat("hello") for _ in range(2)]
            assert told[1].hit
        await gateway.layer.flush()
    assert len(upstream.requests) == 2
    async with CacheLayer(store=url, semantic=False) as operator:
        await asked(operator)
    give_up = time.monotonic() + 20
    for gateway in gateways:
        gone = {"cache-control": "only-if-cached"}
        while (await Client(gateway, key="acme").chat("hello", headers=gone)).hit:
            assert time.monotonic() < give_up
        for key in left:
            assert (await Client(gateway, key=key).chat("hello", headers=gone)).hit
