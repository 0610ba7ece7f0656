"""LangChain's models, streams, embeddings, tools and chains on a layer: laws beyond LangChain's own suites."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
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
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import Generation
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_models import Counting
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.testing import WordEmbedder

TURNS = [SystemMessage("be short"), HumanMessage("how do I return it", id="m1")]


async def test_the_global_cache_and_a_models_own_serve_what_was_answered(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    own, plain = Counting(cache=cache), FakeListLLM(responses=["one", "two"])
    assert (await own.ainvoke(TURNS)).content == own.invoke(TURNS).content == "answer 1"
    set_llm_cache(cache)
    try:
        assert [plain.invoke("say"), plain.invoke("say"), await plain.ainvoke("say")] == ["one"] * 3
    finally:
        set_llm_cache(None)


async def test_the_models_settings_tools_and_earlier_turns_are_scope(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    cold = Counting(cache=cache)
    warm = Counting(cache=cache, temperature=0.7)
    await cold.ainvoke(TURNS)
    assert (await cold.ainvoke([SystemMessage("be long"), TURNS[1]])).content == "answer 2"
    assert (await cold.ainvoke(TURNS, stop=["x"])).content == "answer 3"
    await warm.ainvoke(TURNS)
    assert warm.calls == 1 and cold.calls == 3


async def test_what_a_model_is_not_shown_does_not_matter(layer: CacheLayer) -> None:
    model = Counting(cache=CacheLayerCache(layer))
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    for number in (1, 2):
        earlier = AIMessage("yes", id=f"r{number}", response_metadata={"id": number}, usage_metadata=usage)
        told = await model.ainvoke([HumanMessage("hello", id=f"h{number}"), earlier, HumanMessage("and now")])
        assert told.content == "answer 1"


async def test_the_question_is_compared_by_meaning_and_the_rest_exactly() -> None:
    policy = Policy(max_error_rate=0.05, shadow=1.0, budgets=Budgets(embed=5, search=5, verify=5))
    async with CacheLayer(policy=policy, embedder=WordEmbedder(), verifier=SameWords()) as layer:
        model = Counting(cache=CacheLayerCache(layer))
        await model.ainvoke(TURNS)
        await layer.flush()
        near = HumanMessage("return it how do I")
        for _ in range(3):  # each time anew: its words lead to no entry of its own
            assert (await model.ainvoke([TURNS[0], near])).content == "answer 1"
        assert layer.stats()["functions"]["langchain"]["similar_hits"] == 3
        assert (await model.ainvoke([SystemMessage("be long"), near])).content == "answer 2"
        assert (await model.ainvoke([TURNS[0], HumanMessage("how do I burn it")])).content == "answer 3"
        await layer.flush()
        stats = layer.stats()
        assert stats["functions"]["langchain"]["shadow_checks"] == 0 and not stats["faults"]  # who would ask?


async def test_a_tenants_answers_are_its_own(layer: CacheLayer) -> None:
    model = Counting(cache=CacheLayerCache(layer))
    for tenant in ("a", "b", "a"):
        with layer.scope(tenant=tenant):
            await model.ainvoke(TURNS)
            assert (await model.ainvoke(TURNS)).content == model.invoke(TURNS).content
    assert model.calls == 2


async def test_what_answers_vary_by_is_looked_at_in_every_lookup(layer: CacheLayer) -> None:
    """One user's answer was another's from the second lookup on."""
    user = ContextVar("user", default="")
    model = Counting(cache=CacheLayerCache(layer, vary=[user]))
    told = []
    for name in ("ann", "bob") * 3:
        user.set(name)
        told.append((await model.ainvoke(TURNS) if len(told) % 3 else model.invoke(TURNS)).content)
    assert told == ["answer 1", "answer 2"] * 3


async def test_what_was_cut_short_is_not_kept(layer: CacheLayer) -> None:
    model = Counting(cache=CacheLayerCache(layer), finish="length")
    assert [(await model.ainvoke(TURNS)).content for _ in range(2)] == ["answer 1", "answer 2"]


async def test_an_answer_looked_up_before_an_invalidation_is_not_kept_after_it(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    generations = [Generation(text="answer 1")]
    assert await cache.alookup("prompt", "llm") is None
    await cache.aclear()
    await cache.aupdate("prompt", "llm", generations)
    assert await cache.alookup("prompt", "llm") is None
    await cache.aupdate("prompt", "llm", generations)
    assert await cache.alookup("prompt", "llm") == generations


async def test_streams_hit_what_calls_answered_and_the_other_way_round(layer: CacheLayer) -> None:
    model = CachedChatModel(model=Counting(), cache=CacheLayerCache(layer))
    streamed = [chunk.content async for chunk in model.astream(TURNS)]
    assert "".join(streamed) == "answer 1" and len(streamed) > 2
    assert "".join([chunk.content async for chunk in model.astream(TURNS)]) == "answer 1"
    assert "".join(chunk.content for chunk in model.stream(TURNS)) == "answer 1"
    assert (await model.ainvoke(TURNS)).content == model.invoke(TURNS).content == "answer 1"
    assert model.invoke("other").content == "answer 2"
    assert "".join(chunk.content for chunk in model.stream("other")) == "answer 2"


async def test_each_answer_that_is_served_is_a_message_of_its_own(layer: CacheLayer) -> None:
    """LangGraph takes a second message of one id for the first one, changed: a conversation would lose the answer."""
    model = Counting(cache=CacheLayerCache(layer))
    streaming = CachedChatModel(model=model, cache=model.cache)
    made = await model.ainvoke("thanks")
    served = [await model.ainvoke("thanks"), model.invoke("thanks"), await streaming.ainvoke("thanks")]
    served += [chunk async for chunk in streaming.astream("thanks")]
    assert made.id is not None and model.calls == 1
    ids = [one.id for one in (made, *served) if one.id is not None]
    assert len(ids) == len(set(ids))
    step = CachedRunnable(Counting(), layer, name="step")
    made, again = await step.ainvoke("thanks"), step.invoke("thanks")
    assert made.id is not None and (again.content, again.id) == (made.content, None)


async def test_a_stream_that_broke_is_not_kept(layer: CacheLayer) -> None:
    inner = Counting(breaks=True)
    model = CachedChatModel(model=inner, cache=CacheLayerCache(layer))
    with pytest.raises(ConnectionError):
        [chunk async for chunk in model.astream(TURNS)]
    inner.breaks = False
    assert "".join([chunk.content async for chunk in model.astream(TURNS)]) == "answer 2"


@tool
def double(a: int, times: int = 2) -> int:
    """Double a number."""
    DOUBLED.append(a)
    return a * times


DOUBLED: list[int] = []


async def test_tool_calls_come_back_from_streams_as_they_were(layer: CacheLayer) -> None:
    model = CachedChatModel(model=Counting(), cache=CacheLayerCache(layer)).bind_tools([double])
    first = await model.ainvoke(TURNS)
    again: Any = None
    async for chunk in model.astream(TURNS):
        again = chunk if again is None else again + chunk
    assert again.tool_calls == first.tool_calls and again.content == first.content


async def test_a_cached_tool_runs_once_for_arguments_that_mean_the_same(layer: CacheLayer) -> None:
    DOUBLED.clear()
    cached = cached_tool(double, layer, keep="1h")
    assert cached.invoke({"a": 2}) == 4 and await cached.ainvoke({"times": 2, "a": "2"}) == 4
    assert DOUBLED == [2] and cached.invoke({"a": 2, "times": 3}) == 6


class CountingEmbeddings(Embeddings):
    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches.append(texts)
        return [[len(text) / 3, 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.batches.append([text])
        return [len(text) / 3, 2.0]


async def test_of_a_batch_only_unknown_texts_are_embedded(layer: CacheLayer) -> None:
    inner = CountingEmbeddings()
    cached = CachedEmbeddings(inner, layer, name="counting")
    assert cached.embed_documents(["a", "bb", "a"]) == inner.embed_documents(["a", "bb", "a"])
    del inner.batches[:]
    assert await cached.aembed_documents(["bb", "ccc", "a"]) == [[2 / 3, 1.0], [1.0, 1.0], [1 / 3, 1.0]]
    assert cached.embed_query("a") == await cached.aembed_query("a") == [1 / 3, 2.0]
    assert inner.batches == [["ccc"], ["a"]]


async def test_a_vector_is_that_of_the_very_text_white_space_and_all(layer: CacheLayer) -> None:
    inner, texts = CountingEmbeddings(), ["a", "  a", "a\n", "\u00e9", "e\u0301"]
    cached = CachedEmbeddings(inner, layer, name="counting")
    assert (
        cached.embed_documents(texts) == await cached.aembed_documents(texts) == inner.embed_documents(texts)
    )
    assert [cached.embed_query(text) for text in texts] == [inner.embed_query(text) for text in texts]


async def test_a_long_batch_takes_turns_with_all_others(layer: CacheLayer) -> None:
    cached, texts, turns = (
        CachedEmbeddings(CountingEmbeddings(), layer, name="counting"),
        list(map(str, range(200))),
        0,
    )
    for _ in range(2):
        batch, before = asyncio.create_task(cached.aembed_documents(texts)), turns
        while not batch.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns - before >= 10 and await batch == [[len(text) / 3, 1.0] for text in texts]


class Counted(BaseRetriever):
    texts: dict[str, str]
    calls: int = 0

    def _get_relevant_documents(self, query: str, *, run_manager: Any, k: int = 2) -> list[Document]:
        self.calls += 1
        return [
            Document(text, metadata={"source": id, "version": len(text)}) for id, text in self.texts.items()
        ][:k]


async def test_a_retriever_serves_fewer_from_more_and_answers_go_with_its_documents(
    layer: CacheLayer,
) -> None:
    inner = Counted(texts={"a": "A", "b": "B", "c": "C"})
    retriever = CachedRetriever(inner, layer, corpus="kb", id="source")
    model = Counting(cache=CacheLayerCache(layer))
    assert len(await retriever.ainvoke("q", k=3)) == 3 and len(retriever.invoke("q", k=1)) == 1
    assert inner.calls == 1
    with layer.scope(tenant="other"):
        assert len(retriever.invoke("q", k=1)) == 1 and inner.calls == 2
    with layer.scope():
        found = await retriever.ainvoke("q", k=2)
        await model.ainvoke(f"say {found[0].page_content}")
    assert await layer.invalidate(corpus="kb", documents=["c"]) == 1  # the answer did not use it
    assert await layer.invalidate(corpus="kb", documents=["b"]) >= 1
    await model.ainvoke("say A")
    assert model.calls == 2


async def test_a_runnable_in_a_chain_is_a_step_with_its_config_in_the_key(layer: CacheLayer) -> None:
    calls: list[Any] = []

    def work(value: dict[str, Any], config: Any) -> AIMessage:
        calls.append(value)
        return AIMessage(f"{value['topic']} {config['configurable'].get('tone')}")

    step = CachedRunnable(RunnableLambda(work), layer, name="write")
    chain = RunnableLambda(lambda topic: {"topic": topic}) | step
    calm = {"configurable": {"tone": "calm"}}
    assert chain.invoke("x", calm).content == (await chain.ainvoke("x", calm)).content == "x calm"
    assert chain.invoke("x").content == "x None" and len(calls) == 2


async def test_a_step_that_is_no_model_is_asked_for_the_very_text(layer: CacheLayer) -> None:
    step = CachedRunnable(RunnableLambda(repr), layer, name="repr")
    for text in ("a", "  a", "a\n", "e\u0301", "\u00e9"):
        assert step.invoke(text) == await step.ainvoke(text) == repr(text)
    model = Counting()
    asked = CachedRunnable(model, layer, name="model")
    assert asked.invoke("why?").content == asked.invoke("why? ").content == "answer 1"
