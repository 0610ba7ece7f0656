"""What sets the answers of LangChain's parts apart, and what must not be lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from cachelayer.adapters.langchain import (
    CachedEmbeddings,
    CachedRetriever,
    CachedRunnable,
    CacheLayerCache,
    cached_tool,
)
from cachelayer.adapters.langchain.cache import WAITING
from cachelayer.adapters.langchain.configs import heard
from cachelayer.adapters.langchain.serial import LangChainCodec, messages_of
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.globals import set_debug
from langchain_core.load.serializable import Serializable
from langchain_core.outputs import Generation
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_models import Counting
from langsmith import tracing_context

from cachelayer import CacheLayer
from cachelayer.exact.wire.codec import ForeignClass


class Five(BaseRetriever):
    """Finds the same five documents, whatever it is asked."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(str(number), id=str(number)) for number in range(5)]


class Several(BaseRetriever):
    """Asks all of its own."""

    retrievers: list[BaseRetriever]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [found for one in self.retrievers for found in one.invoke(query)]


def store() -> InMemoryVectorStore:
    made = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    made.add_texts(["one", "two", "three"], ids=["1", "2", "3"])
    return made


def test_how_many_documents_are_wanted_is_said_by_who_wraps_the_retriever(layer: CacheLayer) -> None:
    assert len(CachedRetriever(Five(), layer, corpus="kb", k=2).invoke("q")) == 2


def test_a_retriever_is_keyed_by_how_those_that_it_holds_search(layer: CacheLayer) -> None:
    inner = store().as_retriever(search_kwargs={"k": 1})
    found = CachedRetriever(Several(retrievers=[inner]), layer, corpus="kb")
    assert len(found.invoke("one")) == 1
    inner.search_kwargs = {"k": 2}
    assert len(found.invoke("one")) == 2
    before = layer.stats()["functions"]["retriever:kb:Several"]["backend_calls"]
    inner.search_type = "mmr"
    found.invoke("one")
    assert layer.stats()["functions"]["retriever:kb:Several"]["backend_calls"] == before + 1


def test_what_the_owner_varies_by_counts_beside_how_a_retriever_searches(layer: CacheLayer) -> None:
    place, calls = ["here"], []

    class Counted(Five):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            calls.append(place[0])
            return []

    found = CachedRetriever(Counted(), layer, corpus="kb", vary=[lambda: place[0]])
    for place[0] in ("here", "there", "here"):
        found.invoke("q")
    assert calls == ["here", "there"]


def test_a_cached_retriever_is_traced_as_the_one_behind_it(layer: CacheLayer) -> None:
    inner = Five(tags=["kb"], metadata={"team": "help"})
    cached = CachedRetriever(inner, layer, corpus="kb")
    assert (cached.tags, cached.metadata) == (["kb"], {"team": "help"})


def test_what_a_call_says_beside_its_input_is_part_of_the_key(layer: CacheLayer) -> None:
    def shout(text: str, mark: str = "!") -> str:
        return text.upper() + mark

    step = CachedRunnable(RunnableLambda(shout), layer, name="shout")
    assert [step.invoke("a", mark=mark) for mark in "!?!"] == ["A!", "A?", "A!"]


def test_a_step_that_is_explained_within_a_run_is_explained_by_its_config(layer: CacheLayer) -> None:
    step = CachedRunnable(RunnableLambda(str.upper), layer, name="shout")

    def run(text: str, config: RunnableConfig) -> str:
        told = str(step.explain(text).verdict)
        step.invoke(text, config)
        return told

    chain = RunnableLambda(run)
    users: list[RunnableConfig] = [{"configurable": {"user": name}} for name in ("ann", "bob", "ann")]
    assert [chain.invoke("a", user) for user in users] == ["miss", "miss", "exact hit"]


def test_whoever_traces_or_debugs_listens_to_every_run() -> None:
    assert not heard({})
    with tracing_context(enabled=True):
        assert heard({})
    set_debug(True)
    try:
        assert heard({})
    finally:
        set_debug(False)


def test_what_the_owner_varies_by_counts_beside_the_config_of_a_tool(layer: CacheLayer) -> None:
    place, calls = ["here"], []

    @tool
    def price(item: str, config: RunnableConfig) -> int:
        """Look up a price."""
        calls.append(place[0])
        return len(item)

    look = cached_tool(price, layer, keep="10m", vary=[lambda: place[0]])
    for place[0] in ("here", "there", "here"):
        look.invoke({"item": "lamp"})
    assert calls == ["here", "there"]


async def test_a_text_that_recurs_in_a_batch_is_looked_up_once(layer: CacheLayer) -> None:
    embeddings = CachedEmbeddings(DeterministicFakeEmbedding(size=4), layer, name="fake")
    one, two, again = embeddings.embed_documents(["a", "b", "a"])
    assert one == again != two
    assert layer.stats()["functions"]["embeddings:fake"]["requests"] == 2
    assert await embeddings.aembed_documents(["a", "b", "a"]) == [one, two, one]
    assert layer.stats()["functions"]["embeddings:fake"]["requests"] == 4


@pytest.mark.parametrize("text", ["[]", "[ ]", '["a"]', "{}", "hello"])
def test_a_prompt_that_is_text_is_compared_as_it_is_whatever_it_spells(text: str) -> None:
    assert messages_of(text) == text


async def test_texts_that_spell_the_same_json_are_two_prompts(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    cache.update("[]", "m", [Generation(text="none")])
    assert cache.lookup("[]", "m") and cache.lookup("[ ]", "m") is None


def test_what_holds_a_secret_leaves_the_process_for_nobody() -> None:
    class Key(Serializable):
        value: str = "s3cret"

        @property
        def lc_secrets(self) -> dict[str, str]:
            return {"value": "KEY"}

        @classmethod
        def is_lc_serializable(cls) -> bool:
            return True

    with pytest.raises(ForeignClass):
        LangChainCodec([Key]).encode(Key())


def test_lookups_that_nobody_answers_are_forgotten_the_oldest_first(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    for number in range(WAITING + 10):
        assert cache.lookup(f"q{number}", "m") is None
    assert len(cache._waiting._held) == WAITING


def test_what_a_call_says_counts_before_what_is_bound_where_it_is_explained(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    bound = Counting(cache=cache).bind(stop=["a"])
    bound.invoke("q", stop=["b"])
    assert cache.explain(bound, "q", stop=["b"]).verdict == "exact hit"
    assert cache.explain(bound, "q").verdict == "miss"
