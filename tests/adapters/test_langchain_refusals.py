"""What LangChain's parts are told when they cannot be cached, and what is never cached."""

from __future__ import annotations

import threading
from collections.abc import Callable
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
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_models import Counting

from cachelayer import CacheLayer, ConfigurationError, Policy


class Fixed(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.documents


@pytest.mark.parametrize(
    ("documents", "told"),
    [([Document("x")], "without an id"), ([Document("x", id="a"), Document("y", id="a")], "the id 'a'")],
)
async def test_a_retriever_without_ids_or_with_duplicate_ones_is_told_so(
    layer: CacheLayer, documents: list[Document], told: str
) -> None:
    retriever = CachedRetriever(Fixed(documents=documents), layer, corpus="kb")
    with pytest.raises(ConfigurationError, match=told):
        await retriever.ainvoke("q")
    with pytest.raises(ConfigurationError, match=told):
        retriever.invoke("q")


class Serializable(Counting):
    """Whose settings LangChain writes as JSON, as those of its partners' models."""

    temperature: float | None = None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True


@pytest.mark.parametrize("kind", [Counting, Serializable])
async def test_of_a_model_that_samples_nothing_is_kept_where_the_owner_says_so(kind: type[Counting]) -> None:
    cache = CacheLayerCache(CacheLayer(semantic=False, policy=Policy(sampled=False)))
    cold, warm = kind(temperature=0.0, cache=cache), kind(temperature=0.7, cache=cache)
    tepid = kind(temperature=1e-05, cache=cache)
    told_by_the_call = cold.bind(temperature=1.0)
    for model, same in ((cold, True), (warm, False), (tepid, False), (told_by_the_call, False)):
        first, again = [(await model.ainvoke("hello")).content for _ in range(2)]
        assert (first == again) is same
    for untold in (Counting(temperature=True, cache=cache), Serializable(cache=cache)):  # no number is said
        assert untold.invoke("hello").content != untold.invoke("hello").content
    streamed = CachedChatModel(model=cold, cache=cache)
    assert [chunk.content async for chunk in streamed.astream("hello")] == ["answer 1"]


@tool
def hold(lock: Any) -> str:
    """Take anything."""
    HELD.append(lock)
    return "held"


HELD: list[Any] = []


async def test_no_tool_is_cached_unless_its_owner_says_for_how_long(layer: CacheLayer) -> None:
    with pytest.raises(TypeError, match="keep"):
        cached_tool(hold, layer)  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match="keep"):
        cached_tool(hold, layer, keep=0)
    with pytest.raises(ConfigurationError, match="tool"):
        cached_tool(print, layer, keep="1h")  # type: ignore[arg-type]


async def test_a_tool_with_arguments_that_cannot_be_compared_says_which(layer: CacheLayer) -> None:
    HELD.clear()
    cached = cached_tool(hold, layer, keep="1h")
    with pytest.raises(ConfigurationError, match=r"tool:hold.*'lock'"):
        cached.invoke({"lock": threading.Lock()})
    with pytest.raises(ConfigurationError, match=r"tool:hold.*'lock'"):
        await cached.ainvoke({"lock": threading.Lock()})
    assert cached.invoke({"lock": "plain"}) == "held" and HELD == ["plain"]


async def test_a_runnable_with_an_input_that_cannot_be_compared_says_so(layer: CacheLayer) -> None:
    step = CachedRunnable(RunnableLambda(lambda lock: "held"), layer, name="hold")
    with pytest.raises(ConfigurationError, match=r"hold.*lock"):
        await step.ainvoke(threading.Lock())


async def test_an_llm_cache_has_nobody_to_check_its_hits_with(layer: CacheLayer) -> None:
    with pytest.raises(ConfigurationError, match=r"shadow=0\.2.*LangChain calls its models itself"):
        CacheLayerCache(layer, shadow=0.2)


def test_a_url_in_place_of_the_layer_is_told_what_to_write_without_its_password() -> None:
    with pytest.raises(ConfigurationError, match=r"layer=<str>: give the layer .*CacheLayer\(store=") as told:
        CacheLayerCache("redis://:hunter2@127.0.0.1")  # type: ignore[arg-type]
    assert "hunter2" not in str(told.value)


async def test_a_step_takes_what_a_chain_takes_and_is_told_of_anything_else(layer: CacheLayer) -> None:
    asked: list[str] = []
    step: Any = CachedRunnable(lambda text: asked.append(text) or text.upper(), layer, name="shout")
    both: Any = CachedRunnable({"loud": step, "as it is": lambda text: text}, layer, name="both")
    for _ in range(2):
        assert await both.ainvoke("hub") == {"loud": "HUB", "as it is": "hub"}
    assert step.invoke("hub") == "HUB" and asked == ["hub"]
    with pytest.raises(ConfigurationError, match="runnable=7"):
        CachedRunnable(7, layer, name="seven")  # type: ignore[arg-type]


async def test_a_second_cache_on_one_layer_is_told_to_be_the_first_or_to_have_a_name(
    layer: CacheLayer,
) -> None:
    CacheLayerCache(layer)
    with pytest.raises(ConfigurationError, match=r"name='langchain': .*make it once and use that everywhere"):
        CacheLayerCache(layer)
    CacheLayerCache(layer, name="other")


class Nothing(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return []


@tool
def same(text: str) -> str:
    """The same text."""
    return text


STEP, VECTORS = RunnableLambda(str), DeterministicFakeEmbedding(size=2)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda layer: CachedEmbeddings(layer, VECTORS, name="a"), "layer"),  # type: ignore[arg-type]
        (lambda layer: CachedEmbeddings(5, layer, name="a"), "embeddings"),  # type: ignore[arg-type]
        (lambda layer: CachedEmbeddings(VECTORS, layer, name=None), "name"),  # type: ignore[arg-type]
        (lambda layer: CachedRunnable(STEP, None, name="a"), "layer"),  # type: ignore[arg-type]
        (lambda layer: CachedRunnable(STEP, layer, name=None), "name"),  # type: ignore[arg-type]
        (lambda layer: CachedRunnable(STEP, layer, name="a", text=5), "text"),  # type: ignore[arg-type]
        (lambda layer: CachedRetriever(Nothing(), None), "layer"),  # type: ignore[arg-type]
        (lambda layer: CachedRetriever(Nothing(), layer, k="5"), "k"),  # type: ignore[arg-type]
        (lambda layer: cached_tool(same, None, keep="1m"), "layer"),  # type: ignore[arg-type]
        (lambda layer: cached_tool(same, layer, keep="1m", name=5), "name"),  # type: ignore[arg-type]
        (lambda layer: CacheLayerCache(layer, name=None), "name"),  # type: ignore[arg-type]
        (lambda layer: CacheLayerCache(layer, allowed=[int]), "allowed"),  # type: ignore[list-item]
    ],
)
async def test_what_each_part_is_given_wrongly_is_named(
    layer: CacheLayer, make: Callable[[CacheLayer], Any], field: str
) -> None:
    """By a name of None two models would share their vectors, in Redis."""
    with pytest.raises(ConfigurationError, match=f"^{field}=.*: give "):
        make(layer)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda layer: cached_tool(same, layer, keep="1m", ttl="1h"), "ttl='1h': say by keep="),
        (lambda layer: cached_tool(same, layer, keep="1m", semantic=True), "semantic=True: the arguments"),
        (lambda layer: CachedRunnable(STEP, layer, name="a", semantic=True), "semantic=True: say by text="),
        (
            lambda layer: CachedEmbeddings(VECTORS, layer, name="a", semantic=True),
            "semantic=True: another wording",
        ),
        (lambda layer: layer.prompts.template("a", "{b}", semantic=True), "semantic=True: prompts"),
    ],
)
async def test_an_option_that_is_settled_already_is_not_dropped_in_silence(
    layer: CacheLayer, make: Callable[[CacheLayer], Any], field: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"^{field}"):
        make(layer)
