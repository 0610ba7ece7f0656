"""A layer that several loops use, one after the other, hears what others invalidate or holds nothing."""

from __future__ import annotations

import asyncio

from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Outcome, Policy, Source
from cachelayer.testing import Gate


def test_what_is_invalidated_between_two_runs_of_a_loop_is_served_by_none(server: Server) -> None:
    layer = CacheLayer(store=server.url, semantic=False, policy=Policy(budgets=Budgets(store="2s")))
    ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])

    async def asked() -> Outcome:
        outcome = await ask.outcome("q")
        await layer.flush()
        return outcome

    async def elsewhere() -> None:
        async with CacheLayer(store=server.url, semantic=False) as other:
            await other.invalidate(tags=["kb"])

    assert asyncio.run(asked()).source is Source.BACKEND
    assert asyncio.run(asked()).source is Source.REDIS
    asyncio.run(elsewhere())
    assert asyncio.run(asked()).source is Source.BACKEND
    asyncio.run(layer.aclose())
