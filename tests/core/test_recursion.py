"""Functions that ask themselves: nobody waits for the call that he is part of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Outcome, Policy, Reason, Source
from cachelayer.testing import ManualClock, WordEmbedder

PATIENT = Policy(rider_wait="1h")


async def test_a_coroutine_that_asks_itself_again_is_called_and_its_last_word_is_kept() -> None:
    calls, inner = 0, []
    async with CacheLayer(semantic=False, policy=PATIENT) as layer:

        @layer.cached
        async def ask(question: str) -> str:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0)
            if calls == 3:
                return "an answer"
            inner.append(await ask.outcome(question))
            return f"{inner[-1].answer}!"

        async with asyncio.timeout(20):
            outcome = await ask.outcome("a")
        assert (outcome.answer, outcome.source, outcome.stored) == ("an answer!!", Source.BACKEND, None)
        assert [one.stored for one in inner] == [Reason.RECURSIVE] * 2
        assert [one.source for one in inner] == [Source.BYPASS] * 2
        assert (await ask("a"), calls) == ("an answer!!", 3)


async def test_so_is_one_that_asks_in_tasks_of_its_own_while_others_ride() -> None:
    calls = 0
    async with CacheLayer(semantic=False, policy=PATIENT) as layer:

        @layer.cached
        async def ask(question: str) -> str:
            nonlocal calls
            calls += 1
            await asyncio.sleep(0)
            if calls == 1:
                return "+".join(await asyncio.gather(ask(question), ask(question)))
            return "part"

        async with asyncio.timeout(20):
            assert await asyncio.gather(ask("a"), ask("a")) == ["part+part"] * 2
        assert calls == 3


def test_a_plain_function_that_asks_itself_again_is_called_through_a_loop_too() -> None:
    layer, calls = CacheLayer(semantic=False, policy=PATIENT), 0

    @layer.cached
    def ask(question: str) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            return ask(question) + "!"
        if calls == 2:
            return asyncio.run(ask.aio(question)) + "!"
        return "an answer"

    assert (ask("a"), ask("a"), calls) == ("an answer!!", "an answer!!", 3)


async def test_a_stream_that_goes_on_with_itself_comes_to_its_end() -> None:
    calls = 0
    async with CacheLayer(semantic=False, policy=PATIENT) as layer:

        @layer.cached
        async def stream(question: str) -> AsyncIterator[str]:
            nonlocal calls
            calls += 1
            yield f"{calls}"
            if calls < 3:
                async for chunk in stream(question):
                    yield chunk

        async with asyncio.timeout(20):
            said = [[chunk async for chunk in stream("a")] for _ in range(2)]
        assert said == [["1", "2", "3"]] * 2


async def test_so_does_a_plain_generator_in_a_thread_and_on_a_loop() -> None:
    calls = 0
    async with CacheLayer(semantic=False, policy=PATIENT) as layer:

        @layer.cached
        def count(question: str) -> Iterator[int]:
            nonlocal calls
            calls += 1
            yield calls
            if calls % 3:
                yield from count(question)

        assert [list(count("a")), list(count("a"))] == [[1, 2, 3]] * 2
        assert list(await count.aio("b")) == [4, 5, 6] == list(count("b"))


async def test_a_function_that_asks_itself_in_other_words_has_an_answer_made() -> None:
    budgets = Budgets(embed="20s", search="20s", verify="20s")
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=budgets, rider_wait="1h")
    async with CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords()) as layer:

        @layer.cached
        async def ask(question: str) -> str:
            if question.startswith("today"):
                return "on its way"
            return await ask("today where is my parcel red")

        async with asyncio.timeout(20):
            assert await ask("where is my red parcel today") == "on its way"


@pytest.mark.parametrize("ends", ["well", "by a fault", "by a fault at once"])
async def test_who_is_done_may_be_waited_for_by_what_he_began(ends: str) -> None:
    """A task that outlives the call that began it shares later calls as everybody does."""
    calls, go_on, begun = 0, asyncio.Event(), []
    async with CacheLayer(semantic=False, policy=PATIENT) as layer:

        @layer.cached
        async def ask(question: str) -> int:
            nonlocal calls
            calls += 1
            if calls == 1:
                begun.append(asyncio.create_task(later(question)))
            if ends != "by a fault at once":
                await asyncio.sleep(0)
            if calls == 1 and ends != "well":
                raise ValueError(question)
            await asyncio.sleep(0)
            return calls

        async def later(question: str) -> int:
            await go_on.wait()
            return await ask(question)

        await asyncio.gather(ask("a"), return_exceptions=True)
        assert len(begun) == 1
        await ask.invalidate("a")
        other = asyncio.create_task(ask("a"))
        await asyncio.sleep(0)
        go_on.set()
        assert await asyncio.gather(other, *begun) == [2, 2] and calls == 2


@pytest.mark.parametrize("streams", [False, True])
async def test_who_outlives_a_call_that_never_waited_or_that_streamed_is_kept_as_everybody(
    streams: bool,
) -> None:
    calls, go_on, begun = 0, asyncio.Event(), []
    async with CacheLayer(semantic=False, policy=PATIENT) as layer:

        def began() -> int:
            nonlocal calls
            calls += 1
            if calls == 1:
                begun.append(asyncio.create_task(later()))
            return calls

        @layer.cached
        async def ask(question: str) -> int:
            return began()

        @layer.cached
        async def stream(question: str) -> AsyncIterator[int]:
            yield began()

        async def read() -> int:
            return sum([chunk async for chunk in stream("a")]) if streams else await ask("a")

        async def later() -> int:
            await go_on.wait()
            return await read()

        assert await read() == 1
        while layer.stats()["flights"]:
            await asyncio.sleep(0)
        await (stream if streams else ask).invalidate("a")
        go_on.set()
        assert await begun[0] == 2
        await layer.flush()
        assert await read() == 2 and calls == 2


async def test_a_refresh_that_asks_itself_waits_for_itself_as_little() -> None:
    clock, inner = ManualClock(), list[Outcome]()
    policy = Policy(rider_wait="1h", ttl=10, ttl_jitter=0, stale_while_revalidate=10)
    async with CacheLayer(semantic=False, clock=clock, policy=policy) as layer:
        calls = 0

        @layer.cached
        async def ask(question: str) -> str:
            nonlocal calls
            calls += 1
            if calls == 2:
                clock.advance(60)  # nothing stale is served any more
                inner.append(await ask.outcome(question))
            return f"answer {calls}"

        await ask("a")
        clock.advance(15)
        assert await ask("a") == "answer 1"
        async with asyncio.timeout(20):
            while not inner:
                await asyncio.sleep(0)
        assert inner[0].misses["memory"] is Reason.RECURSIVE and calls == 3
