"""What is declared invalid while Redis cannot be reached is not served again when it can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from fault_proxy import FaultProxy
from redis_records import eventually
from redis_servers import Server
from turns import given_up

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.errors import StoreFault
from cachelayer.testing import Gate, ManualClock
from cachelayer.wrap.handles import Handle

Act = Callable[[CacheLayer, Handle], Awaitable[object]]
ACTS: dict[str, Act] = {
    "tag": lambda layer, ask: layer.invalidate(tags=["kb"]),
    "scope": lambda layer, ask: layer.invalidate(scope={"function": "ask"}),
    "call": lambda layer, ask: ask.invalidate("q"),
    "erase": lambda layer, ask: erased_in_vain(layer),
}


async def erased_in_vain(layer: CacheLayer) -> None:
    """The owner must know that it still lies there."""
    with pytest.raises(StoreFault, match="not erased from the store redis"):
        await layer.erase()


def layer_on(url: str) -> CacheLayer:
    return CacheLayer(policy=Policy(budgets=Budgets(store="2s")), store=url, semantic=False)


@contextmanager
def refusing_writes(server: Server) -> Iterator[None]:
    """As a primary does that has lost its replicas; reads go on."""
    server.do("CONFIG", "SET", "min-replicas-to-write", "1")
    try:
        yield
    finally:
        server.do("CONFIG", "SET", "min-replicas-to-write", "0")


@pytest.mark.parametrize("act", ACTS.values(), ids=list(ACTS))
async def test_the_process_that_declared_it_and_all_others_ask_anew(server: Server, act: Act) -> None:
    """It came back from Redis once the connection stood again, in the very process that had dropped it."""
    async with FaultProxy(server.port) as proxy, layer_on(f"{proxy.url}?lag=5s") as one:
        ask = one.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask("q")
        await one.flush()
        proxy.refuse = True
        proxy.cut()
        await act(one, ask)
        assert one.stats()["shared"]["owed"] > 0
        proxy.heal()
        await eventually(lambda: one.stats()["shared"]["owed"] == 0)
        assert one.stats()["shared"]["breaker"] == "closed"
        assert (await ask.outcome("q")).source is Source.BACKEND
    async with layer_on(server.url) as two:
        other = two.wrap(Gate(lambda question: "new", opened=True), name="ask", tags=["kb"])
        assert await other("q") != "answer 1"


async def test_as_long_as_it_is_owed_nothing_is_read(own_server: Callable[..., Server]) -> None:
    """A replica answers reads, and takes no word of what is invalid."""
    server = own_server()
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask("q")
        await layer.flush()
        server.do("REPLICAOF", "127.0.0.1", "1")
        await layer.invalidate(tags=["kb"])
        outcome = await ask.outcome("q")
        assert (outcome.answer, outcome.misses["redis"]) == ("answer 2", Reason.BREAKER_OPEN)
        server.do("REPLICAOF", "NO", "ONE")
        async with asyncio.timeout(20):
            while (await ask.outcome("another")).misses.get("redis") is Reason.BREAKER_OPEN:
                await asyncio.sleep(0.05)
                await ask.invalidate("another")
        await layer.flush()
    async with layer_on(server.url) as two:
        assert await two.wrap(Gate(lambda q: "new", opened=True), name="ask", tags=["kb"])("q") == "new"


async def test_of_very_many_all_is_declared(server: Server) -> None:
    async with FaultProxy(server.port) as proxy, layer_on(f"{proxy.url}?lag=5s") as one:
        ask = one.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask("q")
        await one.flush()
        proxy.refuse = True
        proxy.cut()
        await one.invalidate(tags=[f"tag {number}" for number in range(10_000)])
        assert one.stats()["shared"]["owed"] == 1
        proxy.heal()
        await eventually(lambda: one.stats()["shared"]["owed"] == 0)
        assert (await ask.outcome("q")).source is Source.BACKEND


class Unsteady:
    """A store that holds nothing, and fails to be told of an invalidation while it is `down`."""

    name, down = "unsteady", True

    def __init__(self) -> None:
        self.asked, self.let = asyncio.Event(), asyncio.Event()

    async def invalidate(self, *, tags: Sequence[str] = (), scopes: Sequence[bytes] = ()) -> None:
        if self.down:
            raise ConnectionError("down")
        self.asked.set()
        await self.let.wait()

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Any]]:
        async def none() -> AsyncIterator[Any]:
            await asyncio.Event().wait()
            yield

        yield none()

    async def nothing(self, *args: Any, **more: Any) -> None: ...

    start = get = put = delete = acquire = wait = aclose = nothing


async def test_what_is_declared_again_while_it_is_being_told_is_told_again() -> None:
    """What others stored between the two would have been served on."""
    store, clock = Unsteady(), ManualClock()
    async with CacheLayer(store=store, semantic=False, clock=clock) as layer:  # type: ignore[arg-type]
        ask = layer.wrap(Gate(opened=True), name="ask")
        await layer.invalidate(tags=["kb", "other"])
        clock.advance(2)
        store.down = False
        await ask("q")
        await store.asked.wait()
        store.down = True
        await layer.invalidate(tags=["kb"])
        store.let.set()
        await layer.flush()
        assert layer.stats()["shared"]["owed"] > 0 and layer.stats()["shared"]["breaker"] == "open"
        store.down = False
        clock.advance(2)
        await ask("another")
        await layer.flush()
        assert (layer.stats()["shared"]["owed"], layer.stats()["shared"]["breaker"]) == (0, "closed")


async def test_an_invalidation_is_told_though_nobody_looks_anything_up(
    own_server: Callable[..., Server],
) -> None:
    """A process that only invalidates never asked again: the others served on what it had declared invalid."""
    server = own_server()
    async with layer_on(server.url) as one, layer_on(server.url) as two:
        ask, other = (two.wrap(Gate(opened=True), name=tag, tags=[tag]) for tag in ("kb", "another"))
        await ask("q")
        await other("q")
        await two.flush()
        with refusing_writes(server):
            await one.invalidate(tags=["kb"])
            assert one.stats()["shared"]["owed"] > 0
        await eventually(lambda: two.stats()["entries"] == 1)
        assert (await ask.outcome("q")).source is Source.BACKEND
        assert (await other.outcome("q")).source is Source.MEMORY


async def test_what_was_on_its_way_from_the_store_when_it_missed_an_invalidation_is_not_kept(
    own_server: Any,
) -> None:
    server = own_server()
    async with layer_on(server.url) as one:
        await one.wrap(Gate(lambda question: "in Lyon", opened=True), name="ask", tags=["kb"])("q")
        await one.flush()
    async with FaultProxy(server.port) as proxy, layer_on(f"{proxy.url}?lag=5s") as two:
        ask = two.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask("another")
        proxy.hold_reply = b"in Lyon"
        asked = asyncio.create_task(ask.outcome("q"))
        await proxy.held.wait()
        with refusing_writes(server):
            await two.invalidate(tags=["kb"])
            proxy.go.set()
            assert (await asked).source is Source.BACKEND
            assert (await ask.outcome("q")).answer == "answer 2"


async def test_what_was_on_its_way_when_nobody_heard_of_invalidations_any_more_is_not_kept(
    server: Server,
) -> None:
    """Another thread's loop, which had listened, ended meanwhile: what was read then stayed in memory, unwatched."""
    async with (
        layer_on(server.url) as one,
        FaultProxy(server.port) as proxy,
        layer_on(f"{proxy.url}?lag=5s") as two,
    ):
        ask, other = (
            layer.wrap(Gate(lambda question: "in Lyon", opened=True), name="ask", tags=["kb"])
            for layer in (one, two)
        )
        await ask("q")
        await one.flush()
        await other("another")
        proxy.hold_reply = b"in Lyon"
        asked = asyncio.create_task(other.outcome("q"))
        await proxy.held.wait()
        (hearing,) = [task for task in two._background._lasting if task.get_name() == "changes"]
        await given_up(hearing)
        assert not two.stats()["shared"]["listening"]
        proxy.go.set()
        assert (await asked).source is Source.BACKEND
        await one.invalidate(tags=["kb"])
        await eventually(lambda: two.stats()["entries"] == 0)


async def test_what_others_declare_invalid_while_the_connection_is_down_is_gone_when_it_stands(
    server: Server,
) -> None:
    async with (
        layer_on(server.url) as one,
        FaultProxy(server.port) as proxy,
        layer_on(f"{proxy.url}?lag=5s") as two,
    ):
        ask = two.wrap(Gate(opened=True), name="ask", tags=["kb"])
        await ask("q")
        await two.flush()
        proxy.refuse = True
        proxy.cut()
        await eventually(lambda: not two.stats()["shared"]["store"]["coherent"])
        await ask("q")
        await one.invalidate(tags=["kb"])
        proxy.heal()
        await eventually(lambda: two.stats()["shared"]["store"]["coherent"] and two.stats()["entries"] == 0)
        assert (await ask.outcome("q")).source is Source.BACKEND


@pytest.mark.parametrize("max_bytes", [0, 2**20])
async def test_what_a_refresh_replaced_goes_though_the_newer_answer_is_not_taken_since_the_connection_broke(
    server: Server, max_bytes: int
) -> None:
    """The store cannot tell what it missed, refuses what was begun before, and went on serving the older one."""
    policy, gate = Policy(max_bytes=max_bytes, budgets=Budgets(store="2s")), Gate(opened=True)
    async with (
        FaultProxy(server.port) as proxy,
        CacheLayer(policy=policy, store=f"{proxy.url}?lag=5s", semantic=False) as layer,
        layer_on(server.url) as second,
    ):
        ask = layer.wrap(gate, name="ask")
        await ask("q")
        await layer.flush()
        await gate.entered()
        gate.close()
        refreshing = asyncio.create_task(ask.refresh("q"))
        await gate.entered()
        proxy.refuse = True
        proxy.cut()
        await eventually(lambda: not layer.stats()["shared"]["store"]["coherent"])
        proxy.heal()
        await eventually(lambda: layer.stats()["shared"]["store"]["coherent"])
        gate.open()
        assert await refreshing == "answer 2"
        await layer.flush()
        assert layer.stats()["shared"]["store"]["refused"] == {"invalidated": 1}
        assert await ask("q") != "answer 1"
        assert await second.wrap(Gate(lambda question: "new", opened=True), name="ask")("q") != "answer 1"
