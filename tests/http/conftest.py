"""The upstream, in process and behind a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import openai
import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Server, Upstream

from cachelayer import CacheLayer, Policy
from cachelayer.cli.serve.config import load
from cachelayer.cli.serve.gateway import Gateway


@pytest.fixture(autouse=True)
def no_long_callback(stall: Any) -> Iterator[None]:
    """In every test here: no single callback of an asyncio loop takes a quarter of a second of CPU."""
    yield
    assert stall.seconds < 0.25, stall.callback


@pytest.fixture
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture
def layer() -> CacheLayer:
    return CacheLayer(semantic=False, policy=Policy(ttl="1h", ttl_jitter=0))


@pytest.fixture
def c(upstream: Upstream, layer: CacheLayer) -> Client:
    return Client(CacheLayerMiddleware(upstream, layer=layer))


@pytest.fixture
def client() -> Callable[..., Client]:
    return Client


@pytest.fixture
async def gateway() -> AsyncIterator[Callable[..., Client]]:
    """Clients of gateways that are closed after the test, in front of these URLs or upstreams with settings.

    Each is asked with the key `bearer`; `server__log="all"` is a setting.
    """
    made: list[Gateway] = []

    def make(*upstreams: str | dict[str, Any], bearer: str | None = "sk-test", **settings: Any) -> Client:
        listed = [{"url": one} if isinstance(one, str) else one for one in upstreams]
        given = {name.replace("__", "."): value for name, value in settings.items()}
        plain = {"cache.semantic": "off", "server.log": "off"}
        made.append(Gateway(load(None, {}, {"upstream": listed, **plain, **given})))
        return Client(made[-1], key=bearer)

    yield make
    for one in made:
        await one.behind.aclose()
        await one.layer.aclose()
        one.log.close()


@pytest.fixture
def serving() -> Iterator[Callable[..., Server]]:
    """Servers that end with the test."""
    with ExitStack() as stack:

        def start(app: Any, **options: Any) -> Server:
            return stack.enter_context(Server(app, **options))

        yield start


@pytest.fixture
def sync_client() -> Iterator[Callable[..., openai.OpenAI]]:
    with ExitStack() as stack:

        def make(url: str, key: str = "sk-test") -> openai.OpenAI:
            made = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)
            return stack.enter_context(made)

        yield make
