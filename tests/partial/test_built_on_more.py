"""What an answer is built on is known whatever makes it, whoever reads it, and however it was used."""

from __future__ import annotations

import contextvars
import gc
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from inspect import isawaitable
from typing import Any

import pytest
from books import Books

from cachelayer import CacheLayer, Policy, Source
from cachelayer.keep.scope import Build
from cachelayer.testing import ManualClock


def using(layer: CacheLayer, step: Any) -> Any:
    """A cached function that uses a step."""

    async def told(of: str) -> str:
        return str(await step(of))

    return layer.wrap(told, name=f"answer {id(step)}")


def asked(tool: Any) -> Any:
    async def ask(of: str) -> str:
        return f"{of}: {tool()}"

    return ask


@pytest.mark.parametrize("kind", ["generator", "plain around a generator"])
def test_a_plain_generator_is_built_on_what_it_uses_while_it_is_read(kind: str) -> None:
    layer = CacheLayer(semantic=False)

    @layer.cached
    def price(of: str) -> int:
        return len(of)

    def lines(of: str) -> Iterator[str]:
        yield "offer"
        yield f"{of} at {price(of)}"

    offer = layer.wrap(lines if kind == "generator" else lambda of: lines(of), name="offer")

    @layer.cached
    def letter(of: str) -> str:
        return "\n".join(offer(of))

    letter("tea")
    assert [f.outcome("tea").source for f in (offer, letter)] == [Source.MEMORY] * 2
    assert price.invalidate("tea") == 3
    assert letter.outcome("tea").source is Source.BACKEND


def test_a_plain_generator_runs_in_the_context_of_its_call_whoever_reads_it() -> None:
    layer = CacheLayer(semantic=False)
    whose: contextvars.ContextVar[str] = contextvars.ContextVar("whose", default="nobody")

    @layer.cached
    def secret(of: str) -> str:
        return f"{of} of {whose.get()}"

    @layer.cached
    def told(of: str) -> Iterator[str]:
        yield of
        yield secret(of)

    with layer.scope(tenant="ann"):
        whose.set("ann")
        chunks = told("key")
        assert next(chunks) == "key"
    whose.set("bob")
    assert list(chunks) == ["key of ann"]
    assert secret("key") == "key of bob"


async def test_what_a_tool_a_retriever_or_a_template_uses_is_part_of_what_they_are_used_for() -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached
        def price(of: str) -> int:
            return len(of)

        async def look(of: str) -> int:
            return price(of)

        async def find(query: str) -> list[dict[str, str]]:
            return [{"id": "a", "text": f"{query} {price(query)}"}]

        kept, pure = (layer.tools(look, keep=keep, name=keep) for keep in ("10m", "pure"))
        search, hello = layer.retrieval(find), layer.prompts.template("hello", lambda of: f"{price(of)}")

        async def greet(of: str) -> str:
            return hello(of=of)

        for step in (kept, pure, search, greet):
            answer = using(layer, step)
            await answer("tea")
            assert (await answer.outcome("tea")).source is Source.MEMORY
            price.invalidate("tea")
            assert (await answer.outcome("tea")).source is Source.BACKEND


async def test_a_tool_bounds_what_is_made_with_it_wherever_it_is_kept() -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock) as layer:
        weather = layer.tools(lambda: "sun", keep="10m", name="weather", tags=["sky"])
        gone = layer.tools(lambda: "sun", keep="10m", name="gone", tags=["sky"], max_bytes=0)
        for tool in (weather, gone):
            advice = using(layer, asked(tool))
            await advice("monday")
            assert (await advice.outcome("monday")).source is Source.MEMORY
            await layer.invalidate(tags=["sky"])
            assert (await advice.outcome("monday")).source is Source.BACKEND
            clock.advance(601)
            assert (await advice.outcome("monday")).source is Source.BACKEND


async def test_what_used_a_function_s_answer_that_has_no_key_goes_with_the_function() -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached(name="price")
        async def price(of: str, lock: Any = None) -> int:
            return len(of)

        @layer.cached
        async def offer(of: str) -> int:
            return await price(of, threading.Lock())

        await price("tea")
        await offer("tea")
        assert (await offer.outcome("tea")).source is Source.MEMORY
        await layer.invalidate(scope={"function": "price"})
        assert (await offer.outcome("tea")).source is Source.BACKEND


def test_threads_that_share_a_context_note_parts_beside_each_other() -> None:
    layer, faults, before = CacheLayer(semantic=False), list[Exception](), sys.getswitchinterval()

    def work(who: int) -> None:
        try:
            for n in range(800):
                layer.used(documents=[f"{who} {n} {i}" for i in range(3)])
        except (RuntimeError, KeyError) as fault:
            faults.append(fault)

    layer.used(documents=["first"])  # from here on this context notes, and the threads have copies of it
    threads = [threading.Thread(target=contextvars.copy_context().run, args=(work, n)) for n in range(6)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not faults


async def test_an_answer_that_uses_very_many_that_are_not_kept_holds_none_of_them() -> None:
    async with CacheLayer(semantic=False) as layer:

        @layer.cached(ttl=0)
        async def tick(n: int) -> int:
            return n

        @layer.cached
        async def report(day: str) -> int:
            for n in range(300):
                await tick(n)
            return sum(type(one) is Build for one in gc.get_objects())

        assert await report("monday") < 100


async def test_what_a_stream_used_to_its_end_is_part_of_what_is_made_later_in_its_context() -> None:
    async with CacheLayer(semantic=False) as layer:
        search = layer.retrieval(Books(a="A", b="B"))

        @layer.cached
        async def talk(of: str) -> AsyncIterator[str]:
            yield "well, "
            yield (await search(of))[0]["text"]

        @layer.cached
        async def complete(prompt: str) -> str:
            return prompt.upper()

        await search("a")
        said = "".join([word async for word in talk("b")])
        await complete(said)
        assert (await complete.outcome(said)).source is Source.MEMORY
        await layer.invalidate(documents=["b"])
        assert (await complete.outcome(said)).source is Source.BACKEND


async def coroutine(of: str) -> str:
    return of.upper()


def plain(of: str) -> str:
    return of.upper()


async def stream(of: str) -> AsyncIterator[str]:
    yield of.upper()


async def told(step: Any, of: str) -> str:
    made = step(of)
    return "".join([chunk async for chunk in made]) if step.__name__ == "stream" else str(await waited(made))


async def waited(made: Any) -> Any:
    return await made if isawaitable(made) else made


@pytest.mark.parametrize("step", [coroutine, plain, stream])
@pytest.mark.parametrize("how", ["tag", "call", "tenant", "time"])
async def test_an_answer_that_its_arguments_lead_straight_to_is_a_part_like_any_other(
    step: Any, how: str
) -> None:
    clock = ManualClock()
    async with CacheLayer(semantic=False, clock=clock, policy=Policy(ttl="1h")) as layer:
        price = layer.wrap(step, name="price", tags=["goods"], ttl="1m")

        @layer.cached
        async def offer(of: str) -> str:
            with layer.scope(tenant="acme"):
                return await told(price, of)

        for _ in range(3):  # from the second time on
            with layer.scope(tenant="acme"):
                await told(price, "tea")
        await offer("tea")
        assert (await offer.outcome("tea")).source is Source.MEMORY
        if how == "tag":
            await layer.invalidate(tags=["goods"])
        elif how == "tenant":
            await layer.erase(tenant="acme")
        elif how == "time":
            clock.advance(61)
        else:
            with layer.scope(tenant="acme"):
                await waited(price.invalidate("tea"))
        assert (await offer.outcome("tea")).source is Source.BACKEND
