"""Who listens to a chain is told of its cached steps, too."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedRetriever, CachedRunnable
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tracers.context import collect_runs

from cachelayer import CacheLayer


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.told: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.told.append(f"{kwargs['name']} of {inputs}, {'below' if kwargs['parent_run_id'] else 'first'}")

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.told.append(f"told {outputs}")

    def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        self.told.append(type(error).__name__)


def shout(text: str) -> str:
    return text.upper()


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_hit_is_a_run_as_a_miss_is(layer: CacheLayer, awaited: bool) -> None:
    step = CachedRunnable(RunnableLambda(shout), layer, name="loud")
    told = []
    for _ in range(2):
        heard = Heard()
        config: Any = {"callbacks": [heard]}
        assert (await step.ainvoke("a", config) if awaited else step.invoke("a", config)) == "A"
        told.append(heard.told)
    assert told[0] == ["loud of a, first", "shout of a, below", "told A", "told A"]
    assert told[1] == ["loud of a, first", "told A"]


class Sought(BaseCallbackHandler):
    def __init__(self) -> None:
        self.runs: list[tuple[str, Any, Any]] = []

    def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.runs.append((kwargs["name"], kwargs["run_id"], kwargs["parent_run_id"]))


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("within", [False, True])
async def test_what_a_cached_retriever_asks_is_a_run_below_its_own(
    layer: CacheLayer, awaited: bool, within: bool
) -> None:
    class Library(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(query, id="1")]

    cached = CachedRetriever(Library(), layer, corpus="kb")
    asked = RunnableLambda(shout) | cached if within else cached
    told = []
    for _ in range(2):
        heard = Sought()
        config: Any = {"callbacks": [heard]}
        await asked.ainvoke("a", config) if awaited else asked.invoke("a", config)
        told.append(heard.runs)
    (own, below), (hit,) = told
    assert [own[0], below[0], hit[0]] == ["CachedRetriever", "Library", "CachedRetriever"]
    assert below[2] == own[1] and (hit[2] is not None) == (own[2] is not None) == within


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_run_that_fails_is_told_of(layer: CacheLayer, awaited: bool) -> None:
    def broken(text: str) -> str:
        raise ZeroDivisionError

    step, heard = CachedRunnable(RunnableLambda(broken), layer, name="loud"), Heard()
    config: Any = {"callbacks": [heard], "run_name": "mine"}
    with pytest.raises(ZeroDivisionError):
        await step.ainvoke("a", config) if awaited else step.invoke("a", config)
    assert heard.told == ["mine of a, first", "broken of a, below", *["ZeroDivisionError"] * 2]


async def test_events_of_a_hit_bring_the_answer(layer: CacheLayer) -> None:
    """They brought nothing at all: who shows what the events say showed nothing."""
    step = CachedRunnable(RunnableLambda(shout), layer, name="loud")
    chain: Runnable[Any, Any] = RunnableLambda(str) | step
    for one, name in ((step, "loud"), (step, "loud"), (chain, "loud"), (chain, "RunnableSequence")):
        events = [event async for event in one.astream_events("a", version="v2")]
        ends = [event["data"]["output"] for event in events if event["event"] == "on_chain_end"]
        assert name in [event["name"] for event in events] and ends[-1] == "A"


@pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20")  # of langchain-core 1.2's collector
def test_runs_that_are_collected_have_the_id_that_was_asked_for(layer: CacheLayer) -> None:
    step, id = CachedRunnable(RunnableLambda(shout), layer, name="loud"), uuid.uuid4()
    step.invoke("a")
    with collect_runs() as collected:
        step.invoke("a", {"run_id": id})
    assert [(run.name, run.id) for run in collected.traced_runs] == [("loud", id)]
