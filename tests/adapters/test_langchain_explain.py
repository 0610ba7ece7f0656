"""Why a request through LangChain would hit or miss."""

from __future__ import annotations

import pytest
from cachelayer.adapters.langchain import CachedChatModel, CachedRunnable, CacheLayerCache
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_models import Counting
from verifiers import SameWords

from cachelayer import CacheLayer, ConfigurationError, Reason
from cachelayer.testing import WordEmbedder

TURNS = [SystemMessage("be short"), HumanMessage("how do I return it", id="m1")]


async def test_a_model_is_explained_as_it_would_be_asked_and_is_not_asked(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    model = Counting(cache=cache)
    assert (await cache.aexplain(model, TURNS)).reasons == {"memory": Reason.ABSENT, "similar": Reason.OFF}
    assert (await model.ainvoke(TURNS)).content == "answer 1"
    assert (await cache.aexplain(model, TURNS)).verdict == "exact hit"
    assert cache.explain(CachedChatModel(model=model, cache=cache), TURNS).verdict == "exact hit"
    assert (await cache.aexplain(Counting(cache=cache, temperature=0.7), TURNS)).verdict == "miss"
    assert (await cache.aexplain(model.bind(stop=["x"]), TURNS)).verdict == "miss"
    assert (await cache.aexplain(model, TURNS, stop=["x"])).verdict == "miss"
    await model.bind(stop=["x"]).ainvoke(TURNS)
    assert (await cache.aexplain(model, TURNS, stop=["x"])).verdict == "exact hit"


async def test_what_is_bound_for_traces_alone_is_no_part_of_a_request(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    model = Counting(cache=cache).bind(ls_structured_output_format={"schema": {"title": "Step"}})
    await model.ainvoke(TURNS)
    assert (await cache.aexplain(model, TURNS)).verdict == "exact hit"


async def test_what_is_near_a_question_and_what_must_be_equal_is_told() -> None:
    async with CacheLayer(embedder=WordEmbedder(), verifier=SameWords()) as layer:
        cache = CacheLayerCache(layer)
        model = Counting(cache=cache)
        await model.ainvoke(TURNS)
        await layer.flush()
        why = await cache.aexplain(model, [TURNS[0], HumanMessage("I return it, how do")])
        assert why.candidates[0]["text"] == "how do I return it" and "llm" in why.scope


async def test_only_a_chat_model_can_be_explained(layer: CacheLayer) -> None:
    with pytest.raises(ConfigurationError, match=r"model=.FakeListLLM.: give the chat model"):
        await CacheLayerCache(layer).aexplain(FakeListLLM(responses=["a"]), "hi")


async def test_a_runnable_is_explained_with_its_config_and_is_not_run(layer: CacheLayer) -> None:
    run: list[str] = []
    step = CachedRunnable(RunnableLambda(lambda said: run.append(said) or said.upper()), layer, name="shout")
    ann, bob = ({"configurable": {"user": name}} for name in ("ann", "bob"))
    assert (await step.aexplain("hub", ann)).verdict == step.explain("hub", ann).verdict == "miss"
    assert await step.ainvoke("hub", ann) == "HUB" and run == ["hub"]
    assert (await step.aexplain("hub", ann)).verdict == step.explain("hub", ann).verdict == "exact hit"
    assert (await step.aexplain("hub", bob)).verdict == "miss"
