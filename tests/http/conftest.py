"""The upstream, in process and behind a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import openai
import pytest
from asgi_client import Client
from upstream import Server, Upstream

from cachelayer import CacheLayer, Policy


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
def client() -> Callable[..., Client]:
    return Client


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
