"""What a run's config makes configurable belongs to the key, wherever the config comes from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedRetriever, CachedRunnable, cached_tool
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool, tool
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import BaseModel

from cachelayer import CacheLayer, ConfigurationError

ANN: RunnableConfig = {"configurable": {"user": "ann"}}
BOB: RunnableConfig = {"configurable": {"user": "bob"}}


def who(item: Any, config: RunnableConfig) -> str:
    """Orders of the user."""
    return f"{item} of {config['configurable'].get('user')}"


async def test_a_step_that_inherits_its_config_is_keyed_by_it(layer: CacheLayer) -> None:
    step = CachedRunnable(RunnableLambda(who), layer, name="orders")

    async def later(item: str) -> str:
        return await step.ainvoke(item)

    for node in (RunnableLambda(lambda item: step.invoke(item)), RunnableLambda(later)):
        assert await node.ainvoke("lamp", ANN) == "lamp of ann"
        assert await node.ainvoke("lamp", BOB) == "lamp of bob"


def test_a_step_says_what_it_takes_and_gives_as_the_runnable_behind_it(layer: CacheLayer) -> None:
    plain = PromptTemplate.from_template("{topic}").configurable_fields(
        template=ConfigurableField(id="template")
    )
    step = CachedRunnable(plain, layer, name="prompt")
    for name in ("InputType", "OutputType", "config_specs"):
        assert getattr(step, name) == getattr(plain, name)
    chosen: RunnableConfig = {"configurable": {"template": "{who} of {topic}"}}
    for config in (None, chosen):
        assert step.get_input_jsonschema(config) == plain.get_input_jsonschema(config)
        assert step.get_output_jsonschema(config) == plain.get_output_jsonschema(config)


async def test_a_graphs_own_values_do_not_count(layer: CacheLayer) -> None:
    step = CachedRunnable(RunnableLambda(who), layer, name="orders")
    for run in ("1", "2"):
        graph = {"__pregel_send": lambda: None, "checkpoint_ns": f"n:{run}", "checkpoint_map": {"": run}}
        config: RunnableConfig = {"configurable": {**graph, "user": "ann"}}
        assert step.invoke("lamp", config) == "lamp of ann"
    assert layer.stats()["entries"] == 1


def runs_for(user: str) -> RunnableConfig:
    """As LangGraph runs a node of a graph that was given a `context`."""
    runtime = SimpleNamespace(context={"user": user}, stream_writer=print)
    return {"configurable": {"__pregel_runtime": runtime}}


async def test_the_context_of_a_graphs_run_is_in_the_key(layer: CacheLayer) -> None:
    """Bob was answered with what Ann's context had given."""

    def mine(item: str, config: RunnableConfig) -> str:
        return f"{item} of {config['configurable']['__pregel_runtime'].context['user']}"

    step = CachedRunnable(RunnableLambda(mine), layer, name="mine")
    look = cached_tool(tool(description="Look up an item.")(mine), layer, keep="1h")
    for user in ("ann", "bob", "ann"):
        told = [step.invoke("lamp", runs_for(user)), await step.ainvoke("lamp", runs_for(user))]
        told.append(await look.ainvoke({"item": "lamp"}, runs_for(user)))
        assert told == [f"lamp of {user}"] * 3
    assert layer.stats()["entries"] == 4


class Caller:
    """As LangGraph's server hands on whoever is logged in."""

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def model_dump(self) -> dict[str, str]:
        return {"identity": self.identity}


async def test_behind_langgraphs_server_equal_requests_of_one_user_hit(layer: CacheLayer) -> None:
    """Each had a key of its own, and with users none had one."""

    def mine(item: str, config: RunnableConfig) -> str:
        return f"{item} of {config['configurable']['langgraph_auth_user'].identity}"

    step = CachedRunnable(RunnableLambda(mine), layer, name="mine")
    for number, user in enumerate(("ann", "bob", "ann")):
        told = {"langgraph_request_id": str(number), "langgraph_auth_user": Caller(user)}
        assert step.invoke("lamp", {"configurable": told}) == f"lamp of {user}"
    assert layer.stats()["entries"] == 2


class Item(BaseModel):
    item: str


class Orders(BaseTool):
    name: str = "own"
    description: str = "Orders of the user."
    args_schema: type[BaseModel] = Item

    def _run(self, item: str, config: RunnableConfig) -> str:
        return who(item, config)


@pytest.mark.parametrize("orders", [tool(who), Orders()])
async def test_a_tool_that_asks_for_the_config_is_given_it_and_keyed_by_it(
    layer: CacheLayer, orders: BaseTool
) -> None:
    cached = cached_tool(orders, layer, keep="1h")
    for config, user in ((ANN, "ann"), (BOB, "bob"), (ANN, "ann")):
        assert cached.invoke({"item": "lamp"}, config) == f"lamp of {user}"
        assert await cached.ainvoke({"item": "lamp"}, config) == f"lamp of {user}"
    assert layer.stats()["entries"] == 2


async def test_a_tool_that_does_not_ask_for_the_config_is_shared(layer: CacheLayer) -> None:
    @tool
    def price(item: str) -> int:
        """Look up a price."""
        return len(item)

    cached = cached_tool(price, layer, keep="1h")
    assert cached.invoke({"item": "lamp"}, ANN) == cached.invoke({"item": "lamp"}, BOB) == 4
    assert layer.stats()["entries"] == 1


def test_a_retriever_that_reads_the_config_is_refused(layer: CacheLayer) -> None:
    plain = InMemoryVectorStore(DeterministicFakeEmbedding(size=4)).as_retriever()
    chosen = plain.configurable_fields(search_kwargs=ConfigurableField(id="search_kwargs"))
    with pytest.raises(ConfigurationError, match="CachedRunnable"):
        CachedRetriever(chosen, layer, corpus="kb")  # type: ignore[arg-type]


async def test_retrievers_that_search_otherwise_share_nothing(layer: CacheLayer) -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    store.add_texts(["one", "two", "three"], ids=["1", "2", "3"])
    inner = store.as_retriever(search_kwargs={"k": 1})
    found = CachedRetriever(inner, layer, corpus="kb")
    assert [len(await found.ainvoke("one")) for _ in range(2)] == [1, 1]
    inner.search_kwargs = {"k": 2}
    assert len(await found.ainvoke("one")) == 2 == len(found.invoke("one"))


async def test_a_retriever_that_wants_more_from_now_on_gets_more(layer: CacheLayer) -> None:
    class Numbered(BaseRetriever):
        k: int = 1

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(query, id=str(n)) for n in range(self.k)]

    inner = Numbered()
    found = CachedRetriever(inner, layer, corpus="kb")
    for inner.k in (1, 3, 2):
        assert len(await found.ainvoke("one")) == inner.k == len(found.invoke("one"))


def test_a_filter_that_cannot_be_compared_asks_for_a_name(layer: CacheLayer) -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    mine = store.as_retriever(search_kwargs={"filter": lambda document: document.id == "1"})
    with pytest.raises(ConfigurationError, match="give a name="):
        CachedRetriever(mine, layer, corpus="kb")
    assert CachedRetriever(mine, layer, corpus="kb", name="first").invoke("one") == []


async def test_what_an_owner_ignores_is_beside_what_is_never_part_of_a_key(layer: CacheLayer) -> None:
    step = CachedRunnable(RunnableLambda(who), layer, name="orders", ignore=["configurable"])
    assert step.invoke("lamp", ANN) == await step.ainvoke("lamp", BOB) == "lamp of ann"
    asked = []

    class Shelf(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any, **how: Any) -> list[Document]:
            asked.append(query)
            return [Document(query, id=query)]

    retriever = CachedRetriever(Shelf(), layer, corpus="shelf", ignore=["kwargs"])
    assert retriever.invoke("lamps", trace=1) == await retriever.ainvoke("lamps", trace=2)
    assert asked == ["lamps"]
