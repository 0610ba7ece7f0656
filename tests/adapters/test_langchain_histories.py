"""Runnables that go by what was said before: a hit would answer the same again, and leave it out of the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedRunnable
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from cachelayer import CacheLayer, ConfigurationError

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated")
COUNT = RunnableLambda(lambda messages: AIMessage(f"{len(messages)} messages"))


def chat(runnable: Runnable[Any, Any]) -> RunnableWithMessageHistory:
    kept: dict[str, InMemoryChatMessageHistory] = {}
    return RunnableWithMessageHistory(
        runnable, lambda session_id: kept.setdefault(session_id, InMemoryChatMessageHistory())
    )


class Graph(Runnable[Any, Any]):
    """As LangGraph compiles one."""

    def __init__(self, checkpointer: object) -> None:
        self.checkpointer = checkpointer

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return f"after {input}"


@pytest.mark.parametrize(
    "make",
    [
        lambda: chat(COUNT),
        lambda: chat(COUNT).with_config(tags=["a"]),
        lambda: RunnableLambda(str) | chat(COUNT),
        lambda: Graph(object()),
    ],
)
def test_what_keeps_a_history_is_not_cached_as_a_whole(make: Callable[[], Runnable[Any, Any]]) -> None:
    layer = CacheLayer(semantic=False)
    with pytest.raises(ConfigurationError, match=r"cache what it runs, as in .* or say by vary="):
        CachedRunnable(make(), layer, name="chat")
    CachedRunnable(make(), layer, name="said", vary=[lambda: "what counts"])


async def test_within_a_history_a_runnable_is_cached_by_all_that_was_said() -> None:
    cached = chat(CachedRunnable(COUNT, CacheLayer(semantic=False), name="count"))
    config: RunnableConfig = {"configurable": {"session_id": "ann"}}
    more: list[BaseMessage] = [HumanMessage("more")]
    assert [(await cached.ainvoke(more, config)).content for _ in range(3)] == [
        "1 messages",
        "3 messages",
        "5 messages",
    ]


def test_a_graph_without_checkpoints_is_cached() -> None:
    step = CachedRunnable(Graph(None), CacheLayer(semantic=False), name="graph")
    assert step.invoke("a") == step.invoke("a") == "after a"
