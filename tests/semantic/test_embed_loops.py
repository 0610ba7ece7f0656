"""Embedders of programs that have a loop a call (`asyncio.run`): what belonged to a loop goes with it."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest
from embedding_server import EmbeddingServer

from cachelayer.semantic.embed.http import HttpEmbedder


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    pytest.importorskip("aiohttp")
    server = EmbeddingServer()
    yield server
    server.close()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_connections_of_loops_that_have_ended_are_let_go(
    server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Each call left one open, and its loop, until the process could open no file any more."""
    remote, ended = HttpEmbedder(server.url, model="m"), list[weakref.ref[asyncio.AbstractEventLoop]]()

    async def ask() -> None:
        await (remote.embed(["a"]) if ended else remote.start())
        ended.append(weakref.ref(asyncio.get_running_loop()))

    for _ in range(4):
        asyncio.run(ask())
    gc.collect()
    assert [loop() is None for loop in ended] == [True, True, True, False]
    asyncio.run(remote.aclose())
    gc.collect()
    assert ended[-1]() is None and not caplog.records
