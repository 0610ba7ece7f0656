"""Layers on one Redis: what was built on an answer goes with it in every process, and ends with it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Source

HOWS = ["arguments", "tag", "function", "wrong"]
MEMORIES = pytest.mark.parametrize("max_bytes", [0, 2**20], ids=["Redis alone", "memory before it"])


class Late:
    """A clock that can be set on."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def time(self) -> float:
        return time.time() + self.ahead


class Shop:
    """Offers built on prices, in a process of its own."""

    def __init__(self, server: Server, prices: dict[str, int], max_bytes: int, clock: Any = None) -> None:
        policy = Policy(budgets=Budgets(store="2s"), ttl_jitter=0, max_bytes=max_bytes)
        self.layer = CacheLayer(policy=policy, store=server.url, semantic=False, clock=clock)

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
    prices, clock = {"tea": 3}, Late()
    here, there = (Shop(server, prices, max_bytes, clock) for _ in range(2))
    async with here.layer, there.layer:
        await here.price("tea")
        await here.layer.flush()
        clock.ahead += 300
        prices["tea"] = 4
        assert await there.offer("tea") == "tea at 3"
        await there.layer.flush()
        assert (await there.offer.outcome("tea")).source is (Source.MEMORY if max_bytes else Source.REDIS)
        clock.ahead += 301
        assert await there.offer("tea") == "tea at 4"
        await there.layer.flush()
        prices["tea"] = 5
        await there.layer.invalidate(tags=["goods:tea"])
        assert await there.offer("tea") == "tea at 5"
