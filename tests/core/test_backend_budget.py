"""What `Budgets(backend=...)` allows a call, and what its callers get of one that takes longer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.testing import ManualClock

SHORT = Policy(budgets=Budgets(backend="10ms"))
GIVEN_UP = r"no answer within budgets\.backend=0\.01 s"


async def test_a_call_beyond_its_budget_is_cancelled_and_all_who_wait_are_told() -> None:
    layer, ended = CacheLayer(semantic=False, policy=SHORT), []

    @layer.cached
    async def ask(question: str) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(question)
        return question

    told = await asyncio.gather(ask("a"), ask("a"), ask.bypass("a"), return_exceptions=True)
    assert [type(one) for one in told] == [TimeoutError] * 3 and ended == ["a", "a"]
    with pytest.raises(TimeoutError, match=GIVEN_UP):
        await ask("a")


async def test_a_timeout_of_the_functions_own_is_its_callers_as_it_is() -> None:
    @CacheLayer(semantic=False, policy=SHORT).cached
    async def ask(question: str) -> str:
        raise TimeoutError("the model's own")

    with pytest.raises(TimeoutError, match="the model's own"):
        await ask("a")


async def test_a_stream_has_its_budget_for_its_first_chunk() -> None:
    begun, layer = asyncio.Event(), CacheLayer(semantic=False, policy=SHORT)

    @layer.cached
    async def tell(words: str) -> AsyncIterator[str]:
        if words == "late":
            await asyncio.Event().wait()
        for word in words.split():
            yield word
            await begun.wait()

    with pytest.raises(TimeoutError, match=GIVEN_UP):
        await anext(aiter(tell("late")))
    told = aiter(tell("one two"))
    assert await anext(told) == "one"
    asyncio.get_running_loop().call_later(0.02, begun.set)
    assert [word async for word in told] == ["two"] and [word async for word in tell("")] == []
    assert (await tell.outcome("one two")).source is Source.MEMORY


async def test_a_plain_function_is_given_up_by_those_who_await_it() -> None:
    go, layer = threading.Event(), CacheLayer(semantic=False, policy=SHORT)

    @layer.cached
    def ask(question: str) -> str:
        go.wait(10)
        return question

    with pytest.raises(TimeoutError, match=GIVEN_UP):
        await ask.aio("a")
    go.set()
    assert ask("a") == "a"


async def test_a_stale_answer_stands_in_for_a_call_beyond_its_budget() -> None:
    clock, go = ManualClock(), asyncio.Event()
    layer = CacheLayer(semantic=False, policy=SHORT, clock=clock)
    go.set()

    @layer.cached(ttl="1m", stale_if_error="1h")
    async def ask(question: str) -> str:
        await go.wait()
        return question

    await ask("a")
    go.clear()
    clock.advance(61)
    assert (await ask.outcome("a")).source is Source.STALE
