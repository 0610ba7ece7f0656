"""A Redis and an OpenAI-like server for the adapters, and the helpers of their neighbours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import upstream as openai_like
from redis_servers import Server

from cachelayer import CacheLayer


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("redis") / "adapters").start()
    yield server
    server.kill()


@pytest.fixture
def upstream() -> openai_like.Upstream:
    return openai_like.Upstream()


@pytest.fixture
def url(upstream: openai_like.Upstream) -> Iterator[str]:
    with openai_like.Server(upstream) as server:
        yield f"{server.url}/v1"


@pytest.fixture
async def layer() -> AsyncIterator[CacheLayer]:
    async with CacheLayer(semantic=False) as layer:
        yield layer
