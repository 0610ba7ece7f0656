"""Structured output: by the model's own method, whoever stands before it, and from every tier."""

from __future__ import annotations

from datetime import date
from operator import itemgetter
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedChatModel, CacheLayerCache
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_models import Counting
from pydantic import BaseModel, Field, field_validator
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy


class Step(BaseModel):
    day: date
    text: str = Field(alias="what")


class Doubling(BaseModel):
    """No data makes it again."""

    n: int

    @field_validator("n")
    @classmethod
    def twice(cls, n: int) -> int:
        return 2 * n


class Structured(Counting):
    """Answers in the form that `with_structured_output` binds, and keeps the object beside it, as ChatOpenAI does."""

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self.calls += 1
        schema = kwargs["form"]
        told = '{"n":1}' if schema is Doubling else '{"day":"2026-11-23","what":"pack"}'
        beside = {"parsed": schema.model_validate_json(told)} if kwargs["method"] == "schema" else {}
        message = AIMessage(told, additional_kwargs=beside, response_metadata={"finish_reason": "stop"})
        return ChatResult(generations=[ChatGeneration(message=message)])

    def with_structured_output(
        self, schema: Any, *, include_raw: bool = False, method: str = "schema", **kwargs: Any
    ) -> Runnable[Any, Any]:
        def parsed(message: AIMessage) -> Any:
            made = message.additional_kwargs.get("parsed")
            if made is None:
                return schema.model_validate_json(message.content)
            return schema(**made) if isinstance(made, dict) else made

        asked = self.bind(form=schema, method=method, **kwargs)
        if not include_raw:
            return asked | RunnableLambda(parsed)
        return RunnableParallel(raw=asked) | RunnablePassthrough.assign(
            parsed=itemgetter("raw") | RunnableLambda(parsed)
        )


class Hiding(Counting):
    """Its structured output does not show whom it asks."""

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[Any, Any]:
        return RunnableLambda(lambda asked: self.invoke(asked))


PACK = Step(day=date(2026, 11, 23), what="pack")


@pytest.mark.parametrize("method", ["schema", "mode"])
@pytest.mark.parametrize("include_raw", [False, True])
async def test_a_cached_models_structured_output_is_the_models_own(
    layer: CacheLayer, method: str, include_raw: bool
) -> None:
    model = Structured()
    cached = CachedChatModel(model=model, cache=CacheLayerCache(layer))
    chain = cached.with_structured_output(Step, method=method, include_raw=include_raw)
    for _ in range(2):
        for told in (await chain.ainvoke("what next?"), chain.invoke("what next?")):
            assert (told["parsed"] if include_raw else told) == PACK
    assert model.calls == 1


def test_a_model_that_hides_whom_its_structured_output_asks_says_so(layer: CacheLayer) -> None:
    with pytest.raises(NotImplementedError, match="Hiding"):
        CachedChatModel(model=Hiding(), cache=CacheLayerCache(layer)).with_structured_output(Step)


@pytest.mark.parametrize(
    ("schema", "expected", "calls"), [(Step, PACK, [1, 0]), (Doubling, Doubling(n=1), [1, 1])]
)
async def test_a_structured_answer_travels_through_redis_where_data_gives_the_same_object(
    redis_server: Server, schema: Any, expected: Any, calls: list[int]
) -> None:
    policy = Policy(budgets=Budgets(store="2s"))
    for wanted in calls:
        async with CacheLayer(semantic=False, policy=policy, store=redis_server.url) as layer:
            model = Structured(cache=CacheLayerCache(layer))
            assert await model.with_structured_output(schema).ainvoke("what next?") == expected
            await layer.flush()
            assert model.calls == wanted


async def test_what_a_model_says_beside_its_answers_is_said_by_a_cached_one(layer: CacheLayer) -> None:
    class Telling(Counting):
        def _combine_llm_outputs(self, llm_outputs: list[Any]) -> dict[str, Any]:
            return {"model_name": "told"}

    cached = CachedChatModel(model=Telling(), cache=CacheLayerCache(layer))
    assert (await cached.agenerate([[AIMessage("x")]])).llm_output == {"model_name": "told"}


class Learning(Counting):
    """Calls the tool that it is given rightly from the third time on."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[{"name": tool.__name__} for tool in tools])

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.calls += 1
        given = {"n": self.calls if self.calls > 2 else "no number"}
        message = AIMessage("", tool_calls=[{"name": "Doubling", "args": given, "id": "1"}])
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.mark.parametrize("awaited", [False, True])
async def test_what_does_not_fit_is_asked_for_again(layer: CacheLayer, awaited: bool) -> None:
    """Whoever tried again was given the same answer for as long as it lived."""

    async def asked(chain: Runnable[Any, Any], question: Any) -> Any:
        return await chain.ainvoke(question) if awaited else chain.invoke(question)

    cache = CacheLayerCache(layer)
    for retried in (True, False):
        chain = CachedChatModel(model=Learning(), cache=cache).with_structured_output(Doubling)
        chain = chain.with_retry(wait_exponential_jitter=False) if retried else chain
        question = f"how many? {retried}"
        for _ in range(0 if retried else 2):
            with pytest.raises(ValueError, match="n"):
                await asked(chain, question)
        for _ in range(2):
            assert await asked(RunnableLambda(str) | chain, question) == Doubling(n=3)
    cache = CacheLayerCache(layer, name="raw")
    raw = CachedChatModel(model=Learning(), cache=cache).with_structured_output(Doubling, include_raw=True)
    found = [await asked(raw, "how many?") for _ in range(4)]
    assert [told["parsed"] and told["parsed"].n for told in found] == [None, None, 6, 6]
    uncached = CachedChatModel(model=Learning(), cache=False).with_structured_output(Doubling)
    with pytest.raises(ValueError, match="n"):
        await asked(uncached, "how many?")
