"""Equal questions that are with a LangChain model at once, while what they are answered from is invalidated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedChatModel, CacheLayerCache
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, Generation
from langchain_models import Counting

from cachelayer import CacheLayer


class Open(Counting):
    """Each of its calls answers when it is told what."""

    asked: Any = None
    """A queue of futures, one a call."""

    async def _said(self) -> str:
        said: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait(said)
        return await said

    async def _agenerate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Any:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(await self._said()))])

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk(await self._said()))


async def in_tasks(model: CachedChatModel) -> str:
    """The answer to a question, streamed; each chunk is asked for in a task of its own, as `wait_for` does."""
    chunks, pieces = model.astream("how long?"), []
    while (piece := await asyncio.create_task(anext(chunks, None))) is not None:
        pieces.append(piece.content)
    return "".join(pieces)


@pytest.mark.parametrize("order", ["old new", "new old"])
@pytest.mark.parametrize("streams", [False, True])
async def test_of_equal_questions_the_one_from_before_an_invalidation_is_not_kept(
    layer: CacheLayer, order: str, streams: bool
) -> None:
    """Whichever of them is answered first."""
    model = Open(asked=asyncio.Queue())
    cache = CacheLayerCache(layer, tags=["kb"])
    cached = CachedChatModel(model=model, cache=cache)

    async def ask() -> str:
        return await in_tasks(cached) if streams else str((await cached.ainvoke("how long?")).content)

    asking, said = {}, {}
    for name in ("old", "new"):
        await layer.invalidate(tags=["kb"])
        asking[name] = asyncio.create_task(ask())
        said[name] = await model.asked.get()
    for place, name in enumerate(order.split()):
        said[name].set_result(name)
        assert await asking[name] == name
        hit = (await cache.aexplain(model, "how long?")).verdict == "exact hit"
        assert hit == ("new" in order.split()[: place + 1])
    assert await ask() == "new" and model.asked.empty()


async def test_it_does_not_matter_which_variant_of_an_answer_was_looked_for(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer, tags=["kb"], variants=3)
    old = [ChatGeneration(message=AIMessage("old"))]
    for prompt in map(str, range(20)):
        assert cache.lookup(prompt, "llm") is None
        await layer.invalidate(tags=["kb"])
        cache.update(prompt, "llm", old)
    assert layer.stats()["entries"] == 0


def test_a_prompt_that_stands_twice_in_a_list_is_not_kept_from_before_an_invalidation() -> None:
    """LangChain looks up the whole list before it asks the model."""

    class Clearing(FakeListLLM):
        def _call(self, *args: Any, **kwargs: Any) -> str:
            cache.clear()
            return super()._call(*args, **kwargs)

    cache = CacheLayerCache(CacheLayer(semantic=False))
    model = Clearing(responses=["1", "2", "3", "4"], cache=cache)
    for expected in (["1", "2"], ["3", "4"]):
        assert [found[0].text for found in model.generate(["twice", "twice"]).generations] == expected


async def test_threads_that_ask_the_same_are_told_apart(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer, tags=["kb"])
    old, new = ([Generation(text=text)] for text in ("old", "new"))
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        for thread in (first, second):
            await layer.invalidate(tags=["kb"])
            assert thread.submit(cache.lookup, "prompt", "llm").result() is None
        second.submit(cache.update, "prompt", "llm", new).result()
        first.submit(cache.update, "prompt", "llm", old).result()
    assert cache.lookup("prompt", "llm") == new


async def test_what_was_edited_between_its_retrieval_and_the_question_is_not_kept(layer: CacheLayer) -> None:
    model = Counting(cache=CacheLayerCache(layer))
    with layer.scope():
        layer.used(documents=["a"])
        await layer.invalidate(documents=["a"])
        await model.ainvoke("how long?")
    assert (await model.ainvoke("how long?")).content == "answer 2" == model.invoke("how long?").content
