"""Layers on one Redis: what was built on an answer goes with it in every process, and ends with it."""

from __future__ import annotations

import asyncio

import pytest
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy

HOWS = ["arguments", "tag", "function", "wrong"]
MEMORIES = pytest.mark.parametrize("max_bytes", [0, 2**20], ids=["Redis alone", "memory before it"])


class Shop:
    """Offers built on prices, in a process of its own."""

    def __init__(self, server: Server, prices: dict[str, int], max_bytes: int) -> None:
        policy = Policy(budgets=Budgets(store="2s"), ttl_jitter=0, max_bytes=max_bytes)
        self.layer = CacheLayer(policy=policy, store=server.url, semantic=False)

        async def price(of: str) -> int:
            return prices[of]

        async def offer(of: str) -> str:
            return f"{of} at {await self.price(of)}"

        self.price = self.layer.wrap(price, name="price", tags=["goods:{of}"], ttl="10m")
        self.offer = self.layer.wrap(offer, name="offer", ttl="1d")

    async def drop(self, how: str) -> None:
        if how == "arguments":
            await self.price.invalidate("tea")
        elif how == "tag":
            await self.layer.invalidate(tags=["goods:tea"])
        elif how == "function":
            await self.layer.invalidate(scope={"function": "price"})
        else:
            await self.layer.report_wrong(await self.price.outcome("tea"))


@MEMORIES
@pytest.mark.parametrize("how", HOWS)
async def test_what_was_built_on_an_answer_goes_in_every_process(
    server: Server, how: str, max_bytes: int
) -> None:
    prices = {"tea": 3, "milk": 1}
    here, there = (Shop(server, prices, max_bytes) for _ in range(2))
    async with here.layer, there.layer:
        for of in prices:
            await here.offer(of)
        await here.layer.flush()
        assert [await there.offer(of) for of in prices] == ["tea at 3", "milk at 1"]
        prices.update(tea=4, milk=2)
        await here.drop(how)
        assert await here.offer("tea") == "tea at 4"
        async with asyncio.timeout(10):
            while await there.offer("tea") != "tea at 4":
                await asyncio.sleep(0.005)
        assert (await there.offer("milk") == "milk at 2") == (how == "function")


@MEMORIES
async def test_an_answer_built_on_one_from_redis_ends_with_it_and_goes_with_it(
    server: Server, max_bytes: int
) -> None:
    prices = {"tea": 3}
    here, there = (Shop(server, prices, max_bytes) for _ in range(2))
    async with here.layer, there.layer:
        await here.price("tea")
        await here.layer.flush()
        prices["tea"] = 4
        assert await there.offer("tea") == "tea at 3"
        await there.layer.flush()
        lives = [server.do("PTTL", key) for key in server.do("KEYS", "cachelayer:v:*")]
        assert len(lives) == 2 and max(lives) - min(lives) < 1_000 and max(lives) <= 600_000
        prices["tea"] = 5
        await there.layer.invalidate(tags=["goods:tea"])
        assert await there.offer("tea") == "tea at 5"
