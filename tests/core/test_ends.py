"""Loops that end and layers that are closed under work take neither an answer nor a tier with them."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from cachelayer import Budgets, CacheLayer, Policy, Reason
from cachelayer.flow.background import Background
from cachelayer.testing import Gate, WordEmbedder

T = TypeVar("T")


def test_a_layer_that_is_closed_under_a_plain_functions_lookup_costs_it_no_answer() -> None:
    begun = threading.Event()

    class Waiting(WordEmbedder):
        async def embed(self, texts: Any) -> Any:
            begun.set()
            await asyncio.Event().wait()

    layer = CacheLayer(policy=Policy(budgets=Budgets(embed=60)), embedder=Waiting())

    @layer.cached
    def ask(question: str) -> str:
        return question.upper()

    asyncio.run(layer.start())
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, "a question")
        assert begun.wait(10)
        asyncio.run(layer.aclose())
        assert asked.result(10) == "A QUESTION"


def test_a_layer_that_is_dropped_takes_its_thread_along() -> None:
    before = set(threading.enumerate())

    def used() -> threading.Thread:
        CacheLayer(semantic=False).wrap(lambda question: question, name="ask").explain("a question")
        (thread,) = set(threading.enumerate()) - before
        return thread

    thread = used()
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def just_closed(work: Coroutine[Any, Any, T]) -> T:
    """Run on a loop of its own that is closed with what it has begun still under way."""
    loop = asyncio.new_event_loop()
    done = loop.run_until_complete(work)
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    return done


def test_a_model_that_was_loading_as_its_loop_ended_is_loaded_on_a_later_one() -> None:
    """As where each request, or each test, has a loop of its own: the similar tier was lost to the process."""

    class Slow(WordEmbedder):
        starts = 0

        async def start(self) -> None:
            self.starts += 1
            if self.starts < 3:
                await asyncio.Event().wait()

    layer = CacheLayer(embedder=Slow())
    ask = layer.wrap(Gate(opened=True), name="ask")

    async def why(question: str) -> Reason:
        missed = (await ask.outcome(question)).misses["similar"]
        await asyncio.sleep(0)  # the model begins to load
        return missed

    assert asyncio.run(why("one")) is Reason.WARMING
    assert just_closed(why("two")) is Reason.WARMING

    async def later() -> Reason:
        await why("three")
        await layer.flush()
        return await why("four")

    assert asyncio.run(later()) is Reason.GUARD  # against what was answered while it loaded
    assert "failure" not in layer.stats()["similar"]


def test_what_a_closed_loop_left_behind_takes_no_room_from_others() -> None:
    background = Background(limit=2)

    async def begin() -> bool:
        return background.spawn(asyncio.Event().wait)

    for _ in range(5):
        assert just_closed(begin())


def test_what_a_function_makes_of_its_cancellation_is_not_kept() -> None:
    """It may return what it has so far, which is not the answer to the question."""
    layer, calls = CacheLayer(semantic=False), 0

    async def parts() -> AsyncIterator[str]:
        nonlocal calls
        calls += 1
        yield "The first half"
        if calls < 3:
            await asyncio.Event().wait()
        yield ", the second."

    @layer.cached
    async def ask(question: str) -> str:
        made = ""
        with suppress(asyncio.CancelledError):
            async for part in parts():
                made += part
        return made

    @layer.cached
    async def stream(question: str) -> AsyncIterator[str]:
        with suppress(asyncio.CancelledError):
            async for part in parts():
                yield part

    async def leave() -> None:
        asking = asyncio.create_task(ask("how?"))
        await asyncio.sleep(0)
        chunks = stream("how?")
        assert await anext(chunks) == "The first half"
        asking.cancel()
        held.append(chunks)  # until asyncio.run cancels what still reads the source

    async def again() -> None:
        assert await ask("how?") == "The first half, the second."
        assert [chunk async for chunk in stream("how?")] == ["The first half", ", the second."]

    held: list[AsyncIterator[str]] = []
    asyncio.run(leave())
    asyncio.run(again())
    assert calls == 4
