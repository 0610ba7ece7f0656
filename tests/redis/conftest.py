"""Stores on real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from redis_servers import Cluster, Server

from cachelayer.exact.redis import RedisStore


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("redis") / "one").start()
    yield server
    server.kill()


@pytest.fixture
def server(shared_server: Server) -> Server:
    """A server that no test harms, empty."""
    shared_server.do("FLUSHALL")
    return shared_server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Makes servers for one test to harm."""
    made: list[Server] = []

    def make(*options: str, port: int | None = None) -> Server:
        made.append(Server(tmp_path / f"server{len(made)}", *options, port=port).start())
        return made[-1]

    yield make
    for one in made:
        one.kill()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Six nodes that no test kills."""
    patient = 6_000  # milliseconds: a machine that stalls must not make the nodes elect each other
    cluster = Cluster(tmp_path_factory.mktemp("redis") / "six", node_timeout_ms=patient).start()
    yield cluster
    cluster.kill()


@pytest.fixture
async def make_store() -> AsyncIterator[Callable[..., RedisStore]]:
    """Makes stores, closed at the end of the test."""
    made: list[RedisStore] = []

    def make(url: str, **settings: object) -> RedisStore:
        made.append(RedisStore(url, **settings))
        return made[-1]

    yield make
    for store in made:
        await store.aclose()


@pytest.fixture
async def open_store(make_store: Callable[..., RedisStore]) -> Callable[..., Awaitable[RedisStore]]:
    """Makes stores that are connected."""

    async def make(url: str, **settings: object) -> RedisStore:
        store = make_store(url, **settings)
        await store.start()
        return store

    return make


@pytest.fixture
async def pair(
    server: Server, open_store: Callable[..., Awaitable[RedisStore]]
) -> tuple[RedisStore, RedisStore]:
    """Two stores on one server, as two processes would have them."""
    return await open_store(server.url), await open_store(server.url)
