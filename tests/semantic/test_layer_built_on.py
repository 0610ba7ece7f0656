"""An answer goes with those it was built from also where they were found by meaning, or come back with a restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cachelayer import CacheLayer, Policy, Source
from cachelayer.testing import ManualClock, WordEmbedder


def steps(layer: CacheLayer) -> tuple[Any, Any]:
    """One that is kept ten seconds, and one that is compared by meaning."""

    @layer.cached(ttl=10, semantic=False)
    async def price(of: str) -> int:
        return len(of)

    @layer.cached
    async def complete(prompt: str) -> str:
        return prompt.upper()

    return price, complete


async def test_what_was_built_on_the_answer_to_another_wording_goes_with_that_answer() -> None:
    async with CacheLayer(embedder=WordEmbedder()) as layer:

        @layer.cached
        async def fact(question: str) -> str:
            return "Hold the button."

        @layer.cached(semantic=False)
        async def mail(question: str) -> str:
            return f"Dear customer, {await fact(question)}"

        await fact("How do I reset the hub?")
        await layer.flush()
        await mail("hi, how do i reset the hub pls")
        assert (await fact.outcome("hi, how do i reset the hub pls")).match == "similar"
        await fact.invalidate("How do I reset the hub?")
        assert (await mail.outcome("hi, how do i reset the hub pls")).source is Source.BACKEND


@pytest.mark.parametrize("by", ["arguments", "tag"])
async def test_what_was_built_on_the_stream_of_another_wording_goes_with_it(by: str) -> None:
    go_on = asyncio.Event()
    async with CacheLayer(embedder=WordEmbedder()) as layer:

        @layer.cached(tags=["asked:{question}"])
        async def fact(question: str) -> AsyncIterator[str]:
            yield "Hold "
            await go_on.wait()
            yield "the button."

        @layer.cached(semantic=False)
        async def mail(question: str) -> str:
            return "".join([word async for word in fact(question)])

        first = fact("How do I reset the hub?")
        await anext(first)
        asked = asyncio.ensure_future(mail("hi, how do i reset the hub pls"))
        while not layer.stats()["similar"]["joined"]:
            await asyncio.sleep(0)
        go_on.set()
        assert await asked == "Hold the button."
        if by == "tag":
            await layer.invalidate(tags=["asked:How do I reset the hub?"])
        else:
            await fact.invalidate("How do I reset the hub?")
        assert (await mail.outcome("hi, how do i reset the hub pls")).source is Source.BACKEND


async def test_what_was_used_before_a_step_that_is_compared_by_meaning_bounds_it_too() -> None:
    clock = ManualClock()
    policy = Policy(ttl="1d", ttl_jitter=0)
    async with CacheLayer(embedder=WordEmbedder(), clock=clock, policy=policy) as layer:
        price, complete = steps(layer)

        @layer.cached(semantic=False)
        async def offer(of: str) -> str:
            return f"{await price(of)} {await complete('Please say it politely')}"

        await offer("tea")
        clock.advance(11)
        assert (await complete.outcome("Please say it politely")).source is Source.BACKEND


async def test_a_task_that_an_answer_left_behind_is_bound_by_nothing_that_was_used_for_it() -> None:
    clock, go_on, tasks = ManualClock(), asyncio.Event(), list[asyncio.Task[Any]]()
    policy = Policy(ttl="1d", ttl_jitter=0)
    async with CacheLayer(embedder=WordEmbedder(), clock=clock, policy=policy) as layer:
        price, complete = steps(layer)

        async def later() -> None:
            await go_on.wait()
            await complete("Please say it politely")

        @layer.cached(semantic=False)
        async def offer(of: str) -> int:
            tasks.append(asyncio.ensure_future(later()))
            return await price(of)

        await offer("tea")
        clock.advance(11)
        go_on.set()
        await tasks[0]
        told = await complete.outcome("Please say it politely")
        assert told.source is Source.MEMORY
        assert layer.explain(told).parts == ()  # type: ignore[union-attr]


async def test_what_was_built_on_an_answer_does_not_come_back_with_a_restart(tmp_path: Path) -> None:
    def shop(*, offers: bool = True) -> tuple[CacheLayer, Any, Any]:
        layer = CacheLayer(index=str(tmp_path), embedder=WordEmbedder())

        async def price(of: str) -> int:
            return len(of)

        prices = layer.wrap(price, name="price", semantic=False)

        async def offer(of: str) -> str:
            return f"{of} at {await prices(of)}"

        return layer, prices, layer.wrap(offer, name="offer", semantic=False) if offers else None

    layer, _, offer = shop()
    async with layer:
        for of in ("tea", "milk"):
            await offer(of)
    layer, price, _ = shop(offers=False)  # what offers were made is on disk alone
    async with layer:
        assert await price.invalidate("tea") == 2
    layer, _, offer = shop()
    async with layer:
        told = [(await offer.outcome(of)).source for of in ("tea", "milk")]
    assert told == [Source.BACKEND, Source.MEMORY]
