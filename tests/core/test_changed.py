"""An answer is kept for what was asked, though somebody changes the arguments while the call is under way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from shelf import Shelf

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.testing import ManualClock, WordEmbedder
from cachelayer.types import Embedded, Record

Messages = list[dict[str, str]]
HELLO = {"role": "user", "content": "hello"}
LATER = {"role": "user", "content": "something else"}


class Gated(WordEmbedder):
    """An embedder that waits to be let go, as a busy one does."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked.set()
        await self.go.wait()
        return await super().embed(texts)


def searching(embedder: Gated) -> CacheLayer:
    return CacheLayer(policy=Policy(max_error_rate=0.1), embedder=embedder)


async def chunks(text: str) -> AsyncIterator[str]:
    yield text


async def read(answer: Any) -> str:
    return answer if isinstance(answer, str) else "".join([chunk async for chunk in answer])


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_who_waits_for_the_call_of_one_that_left_gets_an_answer_to_what_both_asked() -> None:
    embedder = Gated()
    layer, asked = searching(embedder), list[Messages]()

    @layer.cached
    async def chat(messages: Messages) -> str:
        asked.append([*messages])
        return f"answer to {messages[-1]['content']}"

    async with layer:
        mine = [HELLO]
        first = asyncio.create_task(chat(mine))
        await embedder.asked.wait()
        second = asyncio.create_task(chat([HELLO]))
        await asyncio.sleep(0)
        await cancelled(first)
        mine.append(LATER)
        embedder.go.set()
        assert await second == await chat([HELLO]) == "answer to hello"
    assert asked == [[HELLO]]


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_same_where_the_function_was_still_waiting_for_its_turn(streamed: bool) -> None:
    layer, begun, go, asked = CacheLayer(semantic=False), asyncio.Event(), asyncio.Event(), list[Messages]()

    @layer.cached
    async def chat(messages: Messages) -> Any:
        begun.set()
        await go.wait()  # a semaphore, a rate limit, a retry
        asked.append([*messages])
        text = f"answer to {messages[-1]['content']}"
        return chunks(text) if streamed else text

    async with layer:
        mine = [HELLO]
        first = asyncio.create_task(chat(mine))
        await begun.wait()
        second = asyncio.create_task(chat([HELLO]))
        await asyncio.sleep(0)
        await cancelled(first)
        mine.append(LATER)
        go.set()
        assert await read(await second) == await read(await chat([HELLO])) == "answer to hello"
    assert asked == [[HELLO, LATER], [HELLO]]


async def test_one_that_leaves_and_changes_nothing_costs_the_others_no_call() -> None:
    layer, begun, go, asked = CacheLayer(semantic=False), asyncio.Event(), asyncio.Event(), list[Messages]()

    @layer.cached
    async def chat(messages: Messages) -> str:
        begun.set()
        await go.wait()
        asked.append(messages)
        return "answer"

    async with layer:
        first = asyncio.create_task(chat([HELLO]))
        await begun.wait()
        second = asyncio.create_task(chat([HELLO]))
        await asyncio.sleep(0)
        await cancelled(first)
        go.set()
        assert await second == "answer" and (await chat.outcome([HELLO])).source is Source.MEMORY
    assert len(asked) == 1


async def test_the_same_of_a_plain_function_that_waited_for_a_thread() -> None:
    layer, go = CacheLayer(semantic=False), threading.Event()
    begun, loop = asyncio.Event(), asyncio.get_running_loop()

    @layer.cached
    def chat(messages: Messages) -> str:
        loop.call_soon_threadsafe(begun.set)
        go.wait(10)
        return f"answer to {messages[-1]['content']}"

    async with layer:
        mine = [HELLO]
        first = asyncio.create_task(chat.aio(mine))
        await begun.wait()
        second = asyncio.create_task(chat.aio([HELLO]))
        await asyncio.sleep(0)
        await cancelled(first)
        mine.append(LATER)
        go.set()
        assert await second == await chat.aio([HELLO]) == "answer to hello"


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_another_task_changed_before_its_turn_is_answered_and_not_kept(streamed: bool) -> None:
    embedder = Gated()
    layer = searching(embedder)

    @layer.cached
    async def chat(messages: Messages) -> Any:
        text = f"answer to {messages[-1]['content']}"
        return chunks(text) if streamed else text

    async with layer:
        mine = [HELLO]
        call = asyncio.create_task(chat.outcome(messages=mine))
        await embedder.asked.wait()
        mine.append(LATER)
        embedder.go.set()
        outcome = await call
        assert await read(outcome.answer) == "answer to something else"
        assert outcome.source is Source.BYPASS and outcome.stored is Reason.CHANGED
        assert await read(await chat(messages=[HELLO])) == "answer to hello"
        assert await read(await chat(messages=[HELLO, LATER])) == "answer to something else"


class Turns(Shelf):
    """A store whose replies travel until the test lets them arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[asyncio.Event] = []
        self.more = asyncio.Condition()

    async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Record | None:
        found = await super().get(key, canonical, budget)
        self.asked.append(go := asyncio.Event())
        async with self.more:
            self.more.notify_all()
        await go.wait()
        return found

    async def asks(self, number: int) -> asyncio.Event:
        """Wait for so many requests; returns what lets the last of them go."""
        async with self.more:
            await self.more.wait_for(lambda: len(self.asked) >= number)
        return self.asked[number - 1]


async def test_what_was_changed_while_the_store_was_asked_does_not_lead_to_the_answer_of_what_was_asked() -> (
    None
):
    store = Turns()
    policy = Policy(budgets=Budgets(store=60))
    async with CacheLayer(policy=policy, store=store, semantic=False) as layer:

        @layer.cached
        async def chat(messages: Messages) -> str:
            return f"answer to {messages[-1]['content']}"

        mine = [HELLO]
        first = asyncio.create_task(chat(mine))
        late = await store.asks(1)
        second = asyncio.create_task(chat([HELLO]))
        (await store.asks(2)).set()
        assert await second == "answer to hello"
        mine.append(LATER)
        late.set()
        assert await first == "answer to hello"
        third = asyncio.create_task(chat([HELLO, LATER]))
        (await store.asks(3)).set()
        assert await third == "answer to something else"


def test_what_another_thread_changed_while_a_plain_call_asked_the_store_is_not_kept_for_what_it_was() -> None:
    begun, go, outcomes, mine = threading.Event(), threading.Event(), list[Any](), [HELLO]

    class Slow(Shelf):
        async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Record | None:
            begun.set()
            await asyncio.to_thread(go.wait)
            return await super().get(key, canonical, budget)

    layer = CacheLayer(policy=Policy(budgets=Budgets(store=60)), store=Slow(), semantic=False)
    chat = layer.wrap(lambda messages: f"answer to {messages[-1]['content']}", name="chat")
    caller = threading.Thread(target=lambda: outcomes.append(chat.outcome(mine)))
    caller.start()
    begun.wait(10)
    mine.append(LATER)
    go.set()
    caller.join()
    assert outcomes[0].answer == "answer to something else" and outcomes[0].stored is Reason.CHANGED
    assert chat([HELLO]) == "answer to hello"


@pytest.mark.parametrize("similar", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_function_that_changes_its_arguments_is_kept_for_what_it_was_asked(
    similar: bool, streamed: bool
) -> None:
    embedder, calls = Gated(), list[int]()
    embedder.go.set()
    layer = searching(embedder) if similar else CacheLayer(semantic=False)

    @layer.cached
    async def chat(messages: Messages) -> Any:
        calls.append(len(messages))
        messages.insert(0, {"role": "system", "content": "be brief"})
        await asyncio.sleep(0)
        answer = f"answer to {messages[-1]['content']}"
        return chunks(answer) if streamed else answer

    async with layer:
        for _ in range(2):
            assert await read(await chat([HELLO])) == "answer to hello"
        assert await read(await chat([HELLO, LATER])) == "answer to something else"
    assert calls == [1, 2]


async def test_what_could_not_be_copied_and_was_changed_is_not_asked_in_place_of_what_was() -> None:
    clock, asked = ManualClock(), list[str]()
    policy = Policy(ttl=10, ttl_jitter=0, stale_while_revalidate=60)
    layer = CacheLayer(policy=policy, semantic=False, clock=clock)

    class Model:
        name = "small"

        @layer.cached(self_key="name")
        async def ask(self, question: str) -> str:
            asked.append(self.name)
            return f"by {self.name}"

    async with layer:
        model = Model()
        await model.ask("q")
        clock.advance(30)
        assert (await model.ask.outcome("q")).source is Source.STALE
        model.name = "large"
        for _ in range(9):  # the refresh has its turn
            await asyncio.sleep(0)
        model.name = "small"
        assert await model.ask("q") == "by small"
        await layer.flush()
    assert "large" not in asked


async def test_an_answer_has_the_tags_of_what_was_asked() -> None:
    layer, asked = CacheLayer(semantic=False), list[str]()

    @layer.cached(tags=["kb:{filters[kb]}"])
    async def search(query: str, filters: dict[str, str]) -> str:
        asked.append(filters.pop("kb"))
        filters["kb"] = "another"
        return "found"

    async with layer:
        await search("q", {"kb": "returns"})
        assert await layer.invalidate(tags=["kb:another"]) == 0
        assert await layer.invalidate(tags=["kb:returns"]) == 1
