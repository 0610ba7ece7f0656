"""Loops with a task factory, as tracing sets one: calls are answered, shared and renewed as on any loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from cachelayer import CacheLayer, Policy, Source
from cachelayer.testing import Gate, ManualClock

Factory = Callable[..., "asyncio.Task[Any]"]


def spanned(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **how: Any) -> asyncio.Task[Any]:
    """A task that awaits what it was given within a span."""

    async def span() -> Any:
        return await work

    return asyncio.Task(span(), loop=loop, **how)


def plain(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """One that was written before tasks were given a context."""
    return asyncio.Task(work, loop=loop)


@pytest.mark.parametrize("factory", [spanned, plain])
def test_a_task_factory_of_tracings_costs_no_call_its_answer(factory: Factory) -> None:
    clock = ManualClock()
    layer = CacheLayer(
        semantic=False, clock=clock, policy=Policy(ttl=10, stale_while_revalidate=60, ttl_jitter=0)
    )
    gate = Gate()
    ask = layer.wrap(gate, name="ask")

    @layer.cached
    async def stream(question: str) -> AsyncIterator[str]:
        for word in question.split():
            await asyncio.sleep(0)
            yield word

    async def used() -> None:
        asyncio.get_running_loop().set_task_factory(factory)
        callers = [asyncio.create_task(ask("q")) for _ in range(2)]
        await gate.entered()
        gate.open()
        assert await asyncio.gather(*callers) == ["answer 1"] * 2
        assert [word async for word in stream("two words")] == ["two", "words"]
        clock.advance(11)
        assert (await ask.outcome("q")).source is Source.STALE
        while (renewed := await ask.outcome("q")).source is Source.STALE:
            await asyncio.sleep(0)
        assert renewed.answer == "answer 2"
        await layer.aclose()

    asyncio.run(used())
