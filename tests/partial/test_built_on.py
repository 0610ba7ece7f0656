"""An answer goes with the answers it was built from, however they are declared invalid, and is no fresher than they."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from books import Books

from cachelayer import CacheLayer, Policy, Reason, Source
from cachelayer.testing import ManualClock

Drop = Callable[[CacheLayer, Any], Awaitable[Any]]


async def reported(layer: CacheLayer, price: Any) -> Any:
    return await layer.report_wrong(await price.outcome("tea"))


DROPS: dict[str, Drop] = {
    "by its arguments": lambda layer, price: price.invalidate("tea"),
    "by a tag of its own": lambda layer, price: layer.invalidate(tags=["goods:tea"]),
    "by its function": lambda layer, price: layer.invalidate(scope={"function": "price"}),
    "as wrong": reported,
}


@pytest.mark.parametrize("how", DROPS)
async def test_what_was_built_on_an_answer_goes_with_it_and_nothing_else_does(how: str) -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached(name="price", tags=["goods:{of}"])
        async def price(of: str) -> int:
            return len(of)

        @layer.cached
        async def offer(of: str) -> str:
            return f"{of} at {await price(of)}"

        @layer.cached
        async def letter(of: str) -> str:
            return f"Dear customer, {await offer(of)}"

        @layer.cached
        async def greeting(of: str) -> str:
            return f"Hello {of}"

        for of in ("tea", "milk"):
            await letter(of)
            await greeting(of)
        await DROPS[how](layer, price)
        told = {f: (await f.outcome("tea")).source for f in (letter, greeting)}
        assert told == {letter: Source.BACKEND, greeting: Source.MEMORY}
        if how != "by its function":
            assert [(await f.outcome("milk")).source for f in (price, letter)] == [Source.MEMORY] * 2


def test_plain_functions_drop_what_was_built_on_them_as_well() -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    def price(of: str) -> int:
        return len(of)

    @layer.cached
    def offer(of: str) -> str:
        return f"{of} at {price(of)}"

    offer("tea")
    assert price.invalidate("tea") == 2
    assert offer.outcome("tea").source is Source.BACKEND


async def test_an_answer_is_not_kept_if_one_it_was_built_on_is_declared_invalid_before_it_is_made() -> None:
    async with CacheLayer(semantic=False) as layer:
        read, go_on = asyncio.Event(), asyncio.Event()

        @layer.cached
        async def price(of: str) -> int:
            return len(of)

        @layer.cached
        async def offer(of: str) -> str:
            found = await price(of)
            read.set()
            await go_on.wait()
            return f"{of} at {found}"

        asked = asyncio.ensure_future(offer("tea"))
        await read.wait()
        await price.invalidate("tea")
        go_on.set()
        await asked
        assert (await offer.outcome("tea")).source is Source.BACKEND


async def test_an_answer_is_no_fresher_than_what_it_was_built_from() -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock, policy=Policy(ttl="1d", ttl_jitter=0)) as layer:
        weather = layer.tools(lambda city: f"sun {clock.monotonic()}", keep="10m", name="weather")
        search = layer.retrieval(Books(a="A"), negative_ttl="1m")

        @layer.cached(ttl="1h")
        async def price(of: str) -> str:
            return f"{of} {clock.monotonic()}"

        @layer.cached
        async def advice(city: str) -> str:
            return f"{weather(city)}, {await price('ice')}"

        @layer.cached
        async def offer(of: str) -> str:
            return await price(of)

        @layer.cached
        async def found(query: str) -> int:
            return len(await search(query))

        async def sources() -> list[Source]:
            asked = advice.outcome("ulm"), offer.outcome("ice"), found.outcome("none"), found.outcome("a")
            return [(await one).source for one in asked]

        made, kept = Source.BACKEND, Source.MEMORY
        assert await sources() == [made] * 4
        assert await sources() == [kept] * 4
        clock.advance(61)
        assert await sources() == [kept, kept, made, kept]
        clock.advance(9 * 60)
        assert await sources() == [made, kept, made, kept]
        clock.advance(3600)
        assert await sources() == [made, made, made, kept]


async def test_what_its_arguments_alone_decide_bounds_nothing() -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock, policy=Policy(ttl="60d", ttl_jitter=0)) as layer:
        hello = layer.prompts.template("hello", "Hello {name}", tags=["letters"])
        double = layer.tools(lambda n: 2 * n, keep="pure", name="double")

        async def half(n: int) -> int:
            return n // 2

        later = layer.tools(half, keep="pure")

        @layer.cached
        async def letter(name: str) -> str:
            return f"{hello(name=name)}, {double(n=2)}, {await later(n=2)}"

        await letter("Ann")
        clock.advance(50 * 86400)
        assert (await letter.outcome("Ann")).source is Source.MEMORY
        assert await layer.invalidate(tags=["letters"]) == 2


async def test_what_was_built_on_a_stale_answer_is_not_kept() -> None:
    clock = ManualClock()
    policy = Policy(ttl=10, ttl_jitter=0, stale_if_error="1h")
    async with CacheLayer(semantic=False, clock=clock, policy=policy) as layer:
        down = False

        @layer.cached
        async def price(of: str) -> int:
            if down:
                raise ConnectionError
            return len(of)

        @layer.cached(ttl="1d")
        async def offer(of: str) -> str:
            return f"{of} at {await price(of)}"

        await price("tea")
        clock.advance(11)
        down = True
        told = await offer.outcome("tea")
        assert (told.answer, told.stored) == ("tea at 3", Reason.TTL_ZERO)
        down = False
        assert (await offer.outcome("tea")).source is Source.BACKEND
        assert (await offer.outcome("tea")).source is Source.MEMORY


async def test_what_reads_a_stream_ends_with_it_and_goes_with_its_tags() -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock, policy=Policy(ttl_jitter=0)) as layer:

        @layer.cached(ttl=10, tags=["words"])
        async def words(of: str) -> AsyncIterator[str]:
            for word in of.split():
                await asyncio.sleep(0)
                yield word

        @layer.cached
        async def joined(of: str) -> str:
            return "-".join([word async for word in words(of)])

        async def source() -> Source:
            return (await joined.outcome("a b")).source

        assert [await source() for _ in range(2)] == [Source.BACKEND, Source.MEMORY]
        clock.advance(11)
        assert [await source() for _ in range(2)] == [Source.BACKEND, Source.MEMORY]
        await layer.invalidate(tags=["words"])
        assert await source() is Source.BACKEND


@pytest.mark.parametrize("how", ["erase", "invalidate"])
async def test_what_is_made_of_a_tenant_s_answers_for_others_goes_with_the_tenant(how: str) -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached
        async def secret(of: str) -> str:
            return f"secret of {of}"

        @layer.cached
        async def report(*of: str) -> list[str]:
            found = []
            for tenant in of:
                with layer.scope(tenant=tenant):
                    found.append(await secret(tenant))
            return found

        await report("ann", "bob")
        await report("bob")
        dropped = layer.erase(tenant="ann") if how == "erase" else layer.invalidate(scope={"tenant": "ann"})
        assert await dropped == 2
        told = [(await report.outcome(*of)).source for of in (("bob",), ("ann", "bob"))]
        assert told == [Source.MEMORY, Source.BACKEND]


async def test_what_is_never_kept_bounds_nothing() -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock) as layer:

        @layer.cached(ttl=0, tags=["now"])
        async def now() -> AsyncIterator[float]:
            yield clock.monotonic()

        @layer.cached
        async def report(day: str) -> str:
            return f"{day} {[one async for one in now()]}"

        await report("monday")
        clock.advance(60)
        assert (await report.outcome("monday")).source is Source.MEMORY
        assert await layer.invalidate(tags=["now"]) == 1


async def test_a_context_passes_on_parts_and_no_lifetimes() -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock) as layer:
        search = layer.retrieval(Books(a="A"), ttl=10)

        @layer.cached
        async def complete(prompt: str) -> str:
            return prompt.upper()

        await search("a")
        clock.advance(60)
        await complete("say a")
        assert (await complete.outcome("say a")).source is Source.MEMORY
        assert await layer.invalidate(documents=["a"]) >= 1
        assert (await complete.outcome("say a")).source is Source.BACKEND
