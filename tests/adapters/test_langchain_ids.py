"""What a cached step before a model takes for the same question: ids and usage of messages are no part of it."""

from __future__ import annotations

import pytest
from cachelayer.adapters.langchain import CachedRunnable
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import RunnableLambda
from langchain_models import Counting

from cachelayer import CacheLayer


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


async def test_a_step_that_is_no_model_is_keyed_by_ids_and_given_its_messages_whole() -> None:
    async with CacheLayer(semantic=False) as layer:
        step = CachedRunnable(RunnableLambda(lambda messages: messages[0].id), layer, name="first")
        assert [await step.ainvoke(turns(mark, 5)) for mark in "121"] == ["1", "2", "1"]
