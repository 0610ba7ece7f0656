"""A Redis and an OpenAI-like server for the adapters, and the helpers of their neighbours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

for place in (".", "../redis", "../http"):
    sys.path.insert(0, str(Path(__file__).parent / place))  # helpers; test directories are no packages

import upstream as openai_like  # noqa: E402 - found in the directories above
from redis_servers import Server  # noqa: E402

from cachelayer import CacheLayer  # noqa: E402


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
def layer() -> CacheLayer:
    return CacheLayer(semantic=False)
