"""What a process builds on an answer that it holds, though another has declared it invalid, goes with that answer.

It was begun later than that, so it had been taken for newer, and given even to whoever had declared it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fault_proxy import FaultProxy
from redis_records import eventually
from redis_servers import Server
from test_layer_loops import another_loop

from cachelayer import CacheLayer
from cachelayer.errors import StoreFault
from cachelayer.exact.redis import RedisStore
from cachelayer.exact.redis.writing import STEADY
from cachelayer.testing import Gate


class Process:
    """A layer with an answer that is built on another. `texts`: what the inner one says, the last."""

    def __init__(self, store: Any, texts: Sequence[str]) -> None:
        self.layer = CacheLayer(store=store, semantic=False)
        self.begun, self.going_on = 0, asyncio.Event()
        self.going_on.set()
        self.inner = inner = self.layer.wrap(
            Gate(lambda question: texts[-1], opened=True), name="inner", tags=["kb"]
        )

        async def outer(question: str) -> str:
            text = await inner(question)
            self.begun += 1
            await self.going_on.wait()
            return f"says {text}"

        self.ask = self.layer.wrap(outer, name="outer")

    @property
    def coherent(self) -> bool:
        return bool(self.layer.stats()["shared"]["store"]["coherent"])


@asynccontextmanager
async def processes(here: Any, there: Any, texts: Sequence[str]) -> AsyncIterator[tuple[Process, Process]]:
    """The second has both answers."""
    one, two = Process(here, texts), Process(there, texts)
    async with one.layer, two.layer:
        await two.ask("another")
        await two.inner("q")
        await two.layer.flush()
        yield one, two


async def test_before_that_is_heard_of(server: Server) -> None:
    texts = ["old"]
    async with (
        FaultProxy(server.port) as proxy,
        processes(server.url, f"{proxy.url}?lag=30s", texts) as (here, there),
    ):
        proxy.hold_reply = b"invalidate"
        texts.append("new")
        await here.layer.invalidate(tags=["kb"])
        await proxy.held.wait()
        await asyncio.sleep(0.1)  # more than clocks differ that were compared through the server
        assert await there.ask("q") == "says old"
        proxy.go.set()
        await there.layer.flush()
        assert await here.ask("q") == "says new"


async def test_while_the_connection_is_gone(server: Server) -> None:
    """What was being made was written when it stood again, since Redis had been there all the time."""
    texts = ["old"]
    async with FaultProxy(server.port) as proxy, processes(server.url, proxy.url, texts) as (here, there):
        await asyncio.sleep(STEADY + 0.2)
        proxy.refuse = True
        proxy.cut()
        await eventually(lambda: not there.coherent)
        await there.inner("q")
        texts.append("new")
        await here.layer.invalidate(tags=["kb"])
        await asyncio.sleep(0.2)  # more than an invalidation takes to be heard of
        there.going_on.clear()
        begun = there.begun
        made = asyncio.create_task(there.ask("q"))
        await eventually(lambda: there.begun > begun)
        proxy.heal()
        await eventually(lambda: there.coherent)
        there.going_on.set()
        assert await made == "says old"
        await there.layer.flush()
        assert await here.ask("q") == "says new"


def test_while_the_loop_that_listens_stands_still(server: Server) -> None:
    texts, still = ["old"], threading.Event()
    there = Process(f"{server.strict_url}?lag=500ms", texts)

    async def blocked() -> None:
        asyncio.get_running_loop().call_later(0.05, still.wait)

    async def meanwhile() -> None:
        async with CacheLayer(store=server.url, semantic=False) as here:
            await asyncio.sleep(1)  # more than an invalidation takes to be heard of
            texts.append("new")
            await here.invalidate(tags=["kb"])
            await asyncio.sleep(0.5)
        assert await there.ask("q") == "says old"
        await there.layer.flush()
        assert await Process(server.url, texts).ask("q") == "says new"

    with another_loop() as listening, asyncio.Runner() as other:
        listening(there.layer.start())
        other.run(there.inner("q"))
        other.run(there.layer.flush())
        listening(blocked())
        try:
            other.run(meanwhile())
        finally:
            still.set()
        listening(there.layer.aclose())


class Refusing(RedisStore):
    """Takes no deletions while it is `full`, as a node of a cluster may while the others take what they are told."""

    full = False

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.told: list[tuple[str, ...]] = []

    async def invalidate(self, *, tags: Sequence[str] = (), scopes: Sequence[bytes] = ()) -> None:
        self.told.append(tuple(tags))
        await super().invalidate(tags=tags, scopes=scopes)

    async def delete(self, keys: Sequence[bytes]) -> int:
        if self.full:
            raise StoreFault("for a moment")
        return await super().delete(keys)


async def test_before_the_store_takes_the_deletion_that_it_refused(server: Server) -> None:
    """What was built on it was told at once, and built anew until the deletion was told."""
    texts, store = ["old"], Refusing(server.url)
    async with processes(store, server.url, texts) as (here, there):
        await there.ask("q")
        await there.layer.flush()
        store.full = True
        texts.append("new")
        await here.inner.invalidate("q")
        await eventually(lambda: there.layer.stats()["entries"] == 3)
        assert await there.ask("q") == "says old"
        await there.layer.flush()
        store.full = False
        await eventually(lambda: there.layer.stats()["entries"] == 2)
        assert await here.ask("q") == "says new"


async def test_between_two_nodes_one_of_which_is_told_later(server: Server) -> None:
    """What was built is told last: it could be built anew from what was about to go."""
    store = Refusing(server.url)
    async with CacheLayer(store=store, semantic=False) as layer:
        await layer.invalidate(scope={"function": "inner"}, tags=["kb"])
    assert store.told == [("kb", "\0function:inner"), ("\x01finner", "\x01*")]
