"""One call's answer is declared invalid: nothing that was made or read before is kept, in any process."""

from __future__ import annotations

import asyncio

import pytest
from fault_proxy import FaultProxy
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.testing import Gate


def layer_on(url: str) -> CacheLayer:
    return CacheLayer(policy=Policy(budgets=Budgets(store="5s")), store=url, semantic=False)


async def test_what_another_process_was_computing_when_it_was_declared_invalid_is_not_kept_there(
    server: Server,
) -> None:
    """It stayed in that process's memory until it expired; by a tag it did not."""
    gate, quick = Gate(), Gate(lambda question: "new", opened=True)
    async with layer_on(server.url) as one, layer_on(server.url) as two:
        here, there = one.wrap(quick, name="ask"), two.wrap(gate, name="ask")
        begun = asyncio.create_task(there("q"))
        await gate.entered()
        await here.invalidate("q")
        gate.open()
        assert await begun == "answer 1"
        async with asyncio.timeout(20):
            while (await there("q")) == "answer 1":  # until the word of it has come
                await asyncio.sleep(0)


async def test_what_is_read_while_the_store_is_being_told_is_not_kept(server: Server) -> None:
    """The very process that had declared it invalid went on serving it from memory."""
    gate = Gate(opened=True)
    async with FaultProxy(server.port) as proxy, layer_on(f"{proxy.url}?lag=30s") as layer:
        ask = layer.wrap(gate, name="ask")
        await ask("q")
        await layer.flush()
        proxy.hold = b"UNLINK"
        told = asyncio.create_task(ask.invalidate("q"))
        await proxy.held.wait()
        assert (await ask.outcome("q")).source is Source.REDIS
        proxy.go.set()
        await told
        assert (await ask.outcome("q")).source is Source.BACKEND


async def test_of_very_many_answers_that_others_replaced_none_outdates_what_is_being_computed(
    server: Server,
) -> None:
    gate = Gate()
    async with layer_on(server.url) as layer:
        ask = layer.wrap(gate, name="ask")
        begun = asyncio.create_task(ask("q"))
        await gate.entered()
        for digest in range(4000):
            layer._keeper.drop_digest(digest)
        gate.open()
        await begun
        assert (await ask.outcome("q")).source is Source.MEMORY


@pytest.mark.parametrize("older_first", [True, False])
async def test_what_a_refresh_brought_stays_though_another_process_replaces_the_answer_meanwhile(
    server: Server, older_first: bool
) -> None:
    """What that one had begun before was taken for newer: what the refresh brought was dropped, that one served."""
    async with layer_on(server.url) as one, layer_on(server.url) as two:
        old, new = gates = [Gate(lambda question: "older", opened=True), Gate(lambda question: "newer")]
        ask, other = (layer.wrap(gate, name="ask") for layer, gate in ((one, old), (two, new)))
        await ask("q")
        await one.flush()
        await old.entered()
        old.close()
        begun = []
        for handle, gate in ((ask, old), (other, new)):
            begun.append(asyncio.create_task(handle.refresh("q")))
            await gate.entered()
            await asyncio.sleep(0.05)  # more than two clocks differ that were compared through the server
        for number in (0, 1) if older_first else (1, 0):
            gates[number].open()
            await begun[number]
            for layer in (one, two):
                await layer.flush()
                await layer._shared.store.sync()  # type: ignore[union-attr]
                await asyncio.sleep(0)
        for handle in (other, ask):
            assert [(await handle.outcome("q")).answer for _ in range(2)] == ["newer"] * 2
        assert (await ask.outcome("q")).source is Source.MEMORY
