"""A cached model keeps what the owner set on the one behind it; copies and batches of the adapters."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cachelayer.adapters.langchain import (
    CachedChatModel,
    CachedEmbeddings,
    CachedRetriever,
    CachedRunnable,
    CacheLayerCache,
    cached_tool,
)
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_models import Counting

from cachelayer import CacheLayer, ConfigurationError

USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


class Turnstile(InMemoryRateLimiter):
    """Lets everybody through and counts."""

    passed: int = 0

    def acquire(self, *, blocking: bool = True) -> bool:
        self.passed += 1
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return self.acquire()


class Notes(BaseCallbackHandler):
    def __init__(self) -> None:
        self.started = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.started += 1


class Later(Counting):
    """Streams to coroutines alone."""

    _stream = BaseChatModel._stream

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        usage = AIMessageChunk("", usage_metadata=USAGE, chunk_position="last")
        for chunk in (AIMessageChunk("streamed"), usage):
            yield ChatGenerationChunk(message=chunk)

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.calls += 1
        message = AIMessage(
            "odd", invalid_tool_calls=[{"name": "f", "args": "no json", "id": "1", "error": None}]
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


async def test_misses_pass_the_models_rate_limiter_and_hits_do_not(layer: CacheLayer) -> None:
    limiter = Turnstile()
    model = CachedChatModel(model=Counting(rate_limiter=limiter), cache=CacheLayerCache(layer))
    for question in ("a", "a"):
        model.invoke(question)
        list(model.stream(f"{question} streamed"))
        await model.ainvoke(f"{question} awaited")
        [chunk async for chunk in model.astream(f"{question} streamed and awaited")]
    assert limiter.passed == 4


async def test_callbacks_tags_and_the_form_of_answers_are_the_models(layer: CacheLayer) -> None:
    notes = Notes()
    inner = Counting(
        callbacks=[notes], tags=["mine"], output_version="v1", custom_get_token_ids=lambda text: [7]
    )
    model = CachedChatModel(model=inner, cache=CacheLayerCache(layer))
    forms = [model.invoke("a").content, model.invoke("a").content, (await model.ainvoke("a")).content]
    assert forms == [[{"type": "text", "text": "answer 1"}]] * 3
    assert notes.started == 3 and model.tags == ["mine"] and model.get_num_tokens("a b") == 1
    assert CachedChatModel(model=inner, cache=model.cache, tags=["own"]).tags == ["own"]


class Told(BaseCallbackHandler):
    """What of a run tells which model was called, and how."""

    def __init__(self) -> None:
        self.runs: list[Any] = []

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        metadata: Any = None,
        invocation_params: Any = None,
        **more: Any,
    ) -> None:
        self.runs.append((serialized, metadata, invocation_params))


async def test_callbacks_are_told_of_the_model_as_without_a_cache(layer: CacheLayer) -> None:
    class Asked(Counting):
        def _get_invocation_params(self, stop: Any = None, **kwargs: Any) -> dict[str, Any]:
            return {"region": "eu", **super()._get_invocation_params(stop=stop, **kwargs)}

    cache, told = CacheLayerCache(layer), Told()
    plain = Asked(temperature=0.5, metadata={"team": "desk"}, cache=cache)
    cached = CachedChatModel(model=plain, cache=cache)
    for model in (plain, cached):
        model.invoke("a", {"callbacks": [told]}, stop=["."])
        [chunk async for chunk in model.astream("a", {"callbacks": [told]}, stop=["."])]
    invoked, streamed, *again = told.runs
    assert again == [invoked, streamed]
    serialized, metadata, params = streamed
    assert serialized["name"] == "Asked" and metadata["team"] == "desk"
    assert params["region"] == "eu" and params["temperature"] == 0.5
    own = CachedChatModel(model=plain, cache=cache, metadata={"team": "own"})
    assert own.metadata is not None and own.metadata["team"] == "own"


def test_a_stream_of_nothing_fails_as_without_a_cache(layer: CacheLayer) -> None:
    class Silent(Counting):
        def _stream(self, *args: Any, **kwargs: Any) -> Any:
            yield from ()

    cached = CachedChatModel(model=Silent(), cache=CacheLayerCache(layer))
    faults = []
    for model in (Silent(), cached):
        with pytest.raises(ValueError, match="chunks") as told:
            list(model.stream("a"))
        faults.append(str(told.value))
    assert faults[0] == faults[1]


def test_a_streamed_hit_says_who_speaks(layer: CacheLayer) -> None:
    class Speaking(Counting):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("a", name="ann"))])

    cached = CachedChatModel(model=Speaking(), cache=CacheLayerCache(layer))
    assert cached.invoke("a").name == "ann" and [chunk.name for chunk in cached.stream("a")] == ["ann"]


def test_a_cached_model_goes_by_the_models_name(layer: CacheLayer) -> None:
    """By which `create_agent` knows whether it gives structured output."""

    class Named(Counting):
        model: str = "small"

    cache = CacheLayerCache(layer)
    cached = CachedChatModel(model=Named(), cache=cache)
    assert cached.model_name == CachedChatModel(model=cached, cache=cache).model_name == "small"
    assert CachedChatModel(model=Counting(), cache=cache).model_name == "counting"


async def test_a_model_that_does_not_stream_here_is_invoked(layer: CacheLayer) -> None:
    model = CachedChatModel(model=Later(), cache=CacheLayerCache(layer))
    assert [chunk.content for chunk in model.stream("a")] == ["odd"]
    still = CachedChatModel(
        model=Counting(disable_streaming=True), cache=CacheLayerCache(layer, name="still")
    )
    assert len([chunk async for chunk in still.astream("a")]) == len(list(still.stream("a"))) == 1
    own = CachedChatModel(model=Counting(), cache=still.cache, disable_streaming=True)
    assert len(list(own.stream("b"))) == 1


async def test_a_hit_that_is_streamed_was_free_and_loses_nothing(layer: CacheLayer) -> None:
    model = CachedChatModel(model=Later(), cache=CacheLayerCache(layer))
    [chunk async for chunk in model.astream("a")]
    (hit,) = [chunk async for chunk in model.astream("a")]
    assert hit.usage_metadata == {**USAGE, "total_cost": 0}
    odd = model.invoke("b")
    (again,) = [chunk async for chunk in model.astream("b")]
    assert [call["args"] for call in again.invalid_tool_calls] == ["no json"] and model.model.calls == 2
    assert [call["args"] for call in odd.invalid_tool_calls] == ["no json"]


def test_without_a_cache_of_ours_a_model_says_so_and_with_none_wanted_it_just_answers() -> None:
    with pytest.raises(ConfigurationError, match="cache=None: give CachedChatModel a CacheLayerCache"):
        CachedChatModel(model=Counting()).invoke("a")
    model = CachedChatModel(model=Counting(), cache=False)
    assert ["".join(chunk.content for chunk in model.stream("a")) for _ in range(2)] == [
        "answer 1",
        "answer 2",
    ]


@tool
def double(a: int) -> int:
    """Double a number."""
    return a * 2


async def test_a_deep_copy_of_a_model_or_tool_asks_the_same_cache(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    model = Counting(cache=cache)
    model.invoke("a")
    copied = copy.deepcopy(CachedChatModel(model=model, cache=cache))
    assert copied.invoke("a").content == model.model_copy(deep=True).invoke("a").content == "answer 1"
    assert (await copy.deepcopy(cached_tool(double, layer, keep="1h")).ainvoke({"a": 2})) == 4
    assert copy.deepcopy(CachedRunnable(RunnableLambda(str.upper), layer, name="up")).invoke("a") == "A"
    vectors = CachedEmbeddings(DeterministicFakeEmbedding(size=2), layer, name="two")
    assert copy.deepcopy(vectors).embed_query("a") == vectors.embed_query("a")
    found = InMemoryVectorStore(vectors)
    found.add_texts(["a"])
    assert len(copy.deepcopy(CachedRetriever(found.as_retriever(), layer)).invoke("a")) == 1


class Together:
    """A store that holds nothing and answers once `wanted` ask it."""

    name, bounded = "together", True

    def __init__(self, wanted: int) -> None:
        self.asked = asyncio.Barrier(wanted)

    async def get(self, *args: Any) -> None:
        await self.asked.wait()

    async def nothing(self, *args: Any) -> None: ...

    start = put = delete = invalidate = acquire = wait = aclose = nothing

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[Any]:
        async def none() -> AsyncIterator[None]:
            await asyncio.Event().wait()
            yield

        yield none()


async def test_the_texts_of_a_batch_are_looked_up_side_by_side() -> None:
    async with CacheLayer(semantic=False, store=Together(wanted=12)) as layer:
        cached = CachedEmbeddings(DeterministicFakeEmbedding(size=2), layer, name="two")
        assert len(await cached.aembed_documents([f"text {number}" for number in range(12)])) == 12
        more = [f"more {number}" for number in range(12)]
        assert len(await asyncio.to_thread(cached.embed_documents, more)) == 12
