"""A layer that was used before its process forked hears in each process what others invalidate."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from forked import in_a_fork
from redis_records import eventually
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.testing import Gate, WordEmbedder

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_a_fork_hears_what_others_invalidate(server: Server) -> None:
    layer = CacheLayer(store=server.url, embedder=WordEmbedder(), policy=Policy(budgets=Budgets(store="2s")))
    layer.wrap(lambda text: text, name="plain")("before")  # the portal's loop listens in the parent
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
    ready, go = os.pipe()

    async def child() -> None:
        await layer.start()
        await ask("a question")
        await layer.flush()
        os.write(go, b"!")
        await eventually(lambda: layer.stats()["gone"].get("removed"))

    async def elsewhere() -> None:
        async with CacheLayer(store=server.url, semantic=False) as other:
            await other.invalidate(tags=["kb"])

    pid = in_a_fork(lambda: asyncio.run(child()))
    assert os.read(ready, 1) == b"!"
    asyncio.run(elsewhere())
    assert os.waitpid(pid, 0)[1] == 0


def test_what_is_invalidated_is_served_by_no_fork_that_did_not_listen(server: Server) -> None:
    layer = CacheLayer(store=server.url, semantic=False, policy=Policy(budgets=Budgets(store="2s")))
    ask = layer.wrap(lambda text: text, name="ask", tags=["kb"])
    assert [ask.outcome("q").source for _ in range(2)] == [Source.BACKEND, Source.MEMORY]
    asyncio.run(layer.flush())

    async def child() -> None:
        async with CacheLayer(store=server.url, semantic=False) as other:
            await other.invalidate(tags=["kb"])
        assert await asyncio.to_thread(lambda: ask.outcome("q").source) is Source.BACKEND

    assert os.waitpid(in_a_fork(lambda: asyncio.run(child())), 0)[1] == 0


def test_a_fork_leaves_the_directory_to_its_parent(tmp_path: Path) -> None:
    layer = CacheLayer(index=tmp_path, embedder=WordEmbedder())
    ask = layer.wrap(Gate(opened=True), name="ask")

    async def child() -> None:
        await layer.start()
        assert (await ask.outcome("where is my parcel")).source is Source.MEMORY
        await ask("who sends invoices")
        await layer.erase()
        await layer.aclose()

    async def parent() -> None:
        await layer.start()
        await ask("where is my parcel")
        await layer.flush()

    async def after() -> None:
        later = CacheLayer(index=tmp_path, embedder=WordEmbedder())
        again = later.wrap(Gate(opened=True), name="ask")
        async with later:
            assert (await again.outcome("where is my parcel")).source is Source.MEMORY
            assert (await again.outcome("who sends invoices")).source is Source.BACKEND

    asyncio.run(parent())
    assert os.waitpid(in_a_fork(lambda: asyncio.run(child())), 0)[1] == 0
    asyncio.run(layer.aclose())
    asyncio.run(after())
