"""Of a context, of streams that are read in it, and of very many answers all that counts is noted, within bounds."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest
from shelf import Shelf

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.keep.parts import MOST
from cachelayer.keep.scope import Build
from cachelayer.testing import ManualClock


def builds() -> list[Build]:
    return [one for one in gc.get_objects() if type(one) is Build]


@pytest.mark.parametrize("when", ["while the stream is read", "before it is used", "after it was used"])
async def test_what_a_stream_uses_while_it_is_read_is_part_of_what_is_made_of_it_in_a_context(
    when: str,
) -> None:
    """The first that is made after it changed is not kept, the next one is."""
    async with CacheLayer(semantic=False) as layer:
        going, ending = asyncio.Event(), asyncio.Event()

        @layer.cached(tags=["goods"])
        async def price(of: str) -> int:
            return len(of)

        @layer.cached
        async def offer(of: str) -> AsyncIterator[str]:
            yield of
            await going.wait()
            yield str(await price(of))
            await ending.wait()

        @layer.cached
        async def letter(to: str) -> str:
            return f"{to}: {said}"

        layer.used(documents=["catalogue"])
        chunks = offer("tea")
        said = await anext(chunks)
        going.set()
        said += await anext(chunks)
        if when == "while the stream is read":
            await layer.invalidate(tags=["goods"])
            assert (await letter.outcome("ann")).stored is Reason.INVALIDATED
            ending.set()
            return
        ending.set()
        assert [chunk async for chunk in chunks] == []
        if when == "before it is used":
            await layer.invalidate(tags=["goods"])
            assert (await letter.outcome("ann")).stored is Reason.INVALIDATED
        await letter("ann")
        assert (await letter.outcome("ann")).source is Source.MEMORY
        await layer.invalidate(tags=["goods"])
        assert (await letter.outcome("ann")).source is Source.BACKEND


async def test_of_very_many_answers_any_takes_along_what_was_built_on_them_all() -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached
        async def price(of: int) -> int:
            return of

        @layer.cached
        async def report(day: str) -> int:
            total = sum([await price(n) for n in range(300)])
            assert max(len(one.parts) for one in builds()) <= MOST
            return total

        await report("monday")
        assert (await report.outcome("monday")).source is Source.MEMORY
        await price.invalidate(7)
        assert (await report.outcome("monday")).source is Source.BACKEND


async def test_a_context_in_which_very_much_is_used_holds_the_latest_of_it() -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached
        async def price(of: int) -> int:
            return of

        @layer.cached
        async def prices(of: int) -> AsyncIterator[int]:
            yield of
            await ending.wait()

        layer.used(documents=["catalogue"])
        ending, read = asyncio.Event(), [prices(n) for n in range(300)]
        for n, one in enumerate(read):
            assert await anext(one) == n
        ending.set()
        assert [[rest async for rest in one] for one in read] == [[]] * 300
        for n in range(600):
            await price(n)
            await asyncio.sleep(0)
        assert len(builds()) < 100 and max(len(one.parts) for one in builds()) <= MOST


async def test_an_answer_is_no_fresher_than_one_it_used_that_is_put_into_memory_later() -> None:
    """After a wait for the store that is done when the caller has its answer: nobody knew how long it stays fresh."""
    clock, policy = ManualClock(), Policy(ttl="1h", ttl_jitter=0, budgets=Budgets(store="1h"))
    async with CacheLayer(store=Shelf(), semantic=False, clock=clock, policy=policy) as layer:

        @layer.cached(ttl="10s")
        async def price(of: str) -> int:
            return len(of)

        @layer.cached
        async def offer(of: str) -> str:
            return f"{of} at {await price(of)}"

        await price("milk")  # it is quick: no other process's call is worth waiting for
        await offer("tea")
        assert (await offer.outcome("tea")).source is Source.MEMORY
        clock.advance(11)
        assert (await offer.outcome("tea")).source is Source.BACKEND


async def test_a_context_in_which_nothing_was_used_changes_nothing() -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached
        async def letter(to: str) -> str:
            return f"dear {to}"

        layer.used(documents=[])
        assert (await letter.outcome("ann")).stored is None
        assert (await letter.outcome("ann")).source is Source.MEMORY
