"""What is taken for the same question to a model: ids, usage and artifacts of messages are no part of it."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from cachelayer.adapters.langchain import CachedChatModel, CachedRunnable, CacheLayerCache
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import RunnableLambda
from langchain_models import Counting

from cachelayer import CacheLayer, Policy
from cachelayer.testing import ManualClock


def turns(mark: str, tokens: int) -> list[HumanMessage | AIMessage]:
    usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
    return [
        HumanMessage("hi", id=mark),
        AIMessage("hello", id=f"run-{mark}", usage_metadata=usage),
        HumanMessage("why?"),
    ]


@pytest.mark.parametrize("bound", [{}, {"stop": ["x"]}])
@pytest.mark.parametrize("form", [list, lambda messages: ChatPromptValue(messages=messages)])
async def test_messages_that_differ_in_ids_and_usage_are_one_question_to_a_model(
    bound: dict, form: type
) -> None:
    async with CacheLayer(semantic=False) as layer:
        model = Counting()
        step = CachedRunnable(model.bind(**bound) if bound else model, layer, name="model")
        first = await step.ainvoke(form(turns("1", 5)))
        again = await step.ainvoke(form(turns("2", 6)))
        assert first.content == again.content == step.invoke(form(turns("3", 7))).content
        assert (await step.ainvoke(form([*turns("1", 5), HumanMessage("else")]))).content != first.content


class Found:
    """What a tool gives whoever runs the agent, beside what it tells the model."""


async def test_what_a_tool_tells_beside_what_the_model_is_shown_is_no_part_of_a_question() -> None:
    async with CacheLayer(semantic=False) as layer:
        model = Counting(cache=CacheLayerCache(layer))
        step = CachedRunnable(Counting(), layer, name="model")
        for asked in (model, step, CachedChatModel(model=Counting(), cache=model.cache)):
            told = [
                (
                    await asked.ainvoke(
                        [HumanMessage("q"), ToolMessage("30 days", tool_call_id="c", artifact=beside)]
                    )
                ).content
                for beside in ({"score": 0.1}, {"score": 0.2}, Found(), Found(), None)
            ]
            assert told == ["answer 1"] * 5
        other = [HumanMessage("q"), ToolMessage("60 days", tool_call_id="c")]
        assert (await model.ainvoke(other)).content == (await step.ainvoke(other)).content == "answer 2"


async def test_a_step_that_is_no_model_is_keyed_by_ids_and_given_its_messages_whole() -> None:
    async with CacheLayer(semantic=False) as layer:
        step = CachedRunnable(RunnableLambda(lambda messages: messages[0].id), layer, name="first")
        assert [await step.ainvoke(turns(mark, 5)) for mark in "121"] == ["1", "2", "1"]


@pytest.mark.parametrize("awaited", [False, True])
async def test_messages_in_what_a_graph_answers_are_others_in_a_hit_but_for_those_it_was_given(
    awaited: bool,
) -> None:
    """LangGraph would put them in the place of those of the first call, and an edit beside what it edits."""

    def agent(state: dict) -> dict:
        edited, gone = HumanMessage("why, please?", id=state["messages"][-1].id), RemoveMessage("old")
        return {
            "messages": [edited, gone, AIMessage("so", id="run-1")],
            "inner": {"last": AIMessage("x", id="y")},
        }

    async with CacheLayer(semantic=False) as layer:
        step, state = (
            CachedRunnable(agent, layer, name="agent"),
            {"messages": [HumanMessage("why?", id="m1")]},
        )
        told = [await step.ainvoke(state) if awaited else step.invoke(state) for _ in range(2)]
        ids = [[message.id for message in (*one["messages"], one["inner"]["last"])] for one in told]
        assert ids == [["m1", "old", "run-1", "y"], ["m1", "old", None, None]]


async def test_a_refresh_asks_the_messages_that_were_asked_though_the_chat_goes_on() -> None:
    clock, asked = ManualClock(), []

    class Noting(Counting):
        def _generate(self, messages, *args, **kwargs):
            asked.append([one.content for one in messages])
            return super()._generate(messages, *args, **kwargs)

    policy = Policy(ttl=10, ttl_jitter=0, stale_while_revalidate=60)
    async with CacheLayer(semantic=False, policy=policy, clock=clock) as layer:
        step = CachedRunnable(Noting(), layer, name="model")
        await step.ainvoke([HumanMessage("hello")])
        clock.advance(30)
        messages = [HumanMessage("hello")]
        messages.append(await step.ainvoke(messages))
        messages.append(HumanMessage("and then?"))
        while (await step.ainvoke([HumanMessage("hello")])).content == "answer 1":
            await asyncio.sleep(0)
    assert asked == [["hello"], ["hello"]]


class Picture:
    def __init__(self, color: str) -> None:
        self.color = color

    def __repr__(self) -> str:
        return "<Picture of 64 x 64>"


def showing(shown: Any) -> list[HumanMessage]:
    return [HumanMessage([{"type": "text", "text": "what is it?"}, {"type": "image", "image": shown}])]


@pytest.mark.parametrize(
    ("one", "other"), [(Picture("red"), Picture("blue")), (np.zeros(5000), np.eye(1, 5000, 2500)[0])]
)
def test_messages_that_langchain_writes_by_the_repr_of_what_they_hold_are_not_kept(
    one: Any, other: Any
) -> None:
    """One picture was answered for another that took its address, and one array for another of its size."""
    cache = CacheLayerCache(CacheLayer(semantic=False))
    model = Counting(cache=cache)
    assert model.invoke(showing(one)).content != model.invoke(showing(other)).content
    streaming = CachedChatModel(model=model, cache=cache)
    assert next(streaming.stream(showing(one))).content not in ("answer 1", "answer 2")
    explained = cache.explain(model, showing(one))
    assert explained.verdict == "bypass" and "Unserialized" in str(explained.why)
    assert model.invoke(showing(b"1")).content == model.invoke(showing(b"1")).content  # whose repr says all
    assert model.invoke(showing(b"1")).content != model.invoke(showing(b"2")).content
