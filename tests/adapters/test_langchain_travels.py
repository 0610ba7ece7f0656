"""LangChain's answers beyond the process: what comes back from a store is what was answered, or is not kept there."""

from __future__ import annotations

import asyncio
import enum
from datetime import date
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedEmbeddings, CacheLayerCache, cached_tool
from cachelayer.adapters.langchain.serial import LangChainCodec
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import PromptTemplate
from langchain_core.tools import tool
from langchain_models import Counting
from redis_servers import Server
from shelf import Shelf

from cachelayer import Budgets, CacheLayer, Policy
from cachelayer.exact.wire.codec import ForeignClass

TURNS = [SystemMessage("be short"), HumanMessage("how do I return it", id="m1")]
LAMP = Document("lamps last", id="lamps", metadata={"box": (0, 0.5), 1: date(2026, 1, 2), "raw": b"\xff"})
LIKE = {"lc": 1, "type": "constructor", "id": ["os", "x"], "kwargs": {}}


class Color(enum.StrEnum):
    RED = "red"


async def test_answers_travel_through_redis(redis_server: Server) -> None:
    policy = Policy(budgets=Budgets(store="2s"))
    for expected in (1, 0):
        async with CacheLayer(semantic=False, policy=policy, store=redis_server.url) as layer:
            model = Counting(cache=CacheLayerCache(layer))
            told = await model.ainvoke(TURNS)
            assert told.content == "answer 1" and isinstance(told, AIMessage) and model.calls == expected
            await layer.flush()


async def test_a_tool_that_tells_more_than_the_model_is_shown_tells_it_from_redis_too(
    redis_server: Server,
) -> None:
    runs = []

    @tool(response_format="content_and_artifact")
    def find(query: str) -> tuple[str, list[Document]]:
        """Find documents."""
        runs.append(query)
        return "lamps last", [LAMP]

    policy = Policy(budgets=Budgets(store="2s"))
    call: Any = {"type": "tool_call", "name": "find", "id": "call_1", "args": {"query": "lamps"}}
    for _ in range(2):
        async with CacheLayer(semantic=False, policy=policy, store=redis_server.url) as layer:
            told = await cached_tool(find, layer, keep="10m").ainvoke(call)
            assert told == ToolMessage("lamps last", name="find", tool_call_id="call_1", artifact=[LAMP])
            await layer.flush()
    assert runs == ["lamps"]


class Lengths(Embeddings):
    """Embeds a text as its length; notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        return [[float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


async def test_of_a_batch_only_those_texts_are_embedded_that_no_process_knows() -> None:
    shelf = Shelf()
    for known, texts in (([], ["a", "bb"]), (["a", "bb"], ["bb", "ccc", "a"])):
        async with CacheLayer(semantic=False, store=shelf) as layer:
            inner = Lengths()
            cached = CachedEmbeddings(inner, layer, name="lengths")
            assert await cached.aembed_documents(texts) == [[float(len(text))] for text in texts]
            assert inner.asked == [text for text in texts if text not in known]
            made = await asyncio.to_thread(cached.embed_documents, texts)
            assert made == [[float(len(text))] for text in texts] and len(inner.asked) <= 2
            await layer.flush()


@pytest.mark.parametrize(
    "answer",
    [
        ("shown", [LAMP]),
        [(LAMP, 0.5)],
        {1: LAMP},
        [ChatGeneration(message=AIMessage("x", additional_kwargs={"inner": LIKE}))],
        ToolMessage("x", tool_call_id="call_1", artifact=(LAMP, {2})),
    ],
    ids=repr,
)
def test_what_is_read_back_is_what_was_written(answer: Any) -> None:
    codec = LangChainCodec()
    assert codec.decode(codec.encode(answer)) == answer


@pytest.mark.parametrize(
    "answer",
    [
        ChatPromptValue(messages=[]),
        [Document("x", metadata={"color": Color.RED})],
        {"\0class": "/".join(Document.lc_id()), "page_content": "x"},
    ],
    ids=[
        "a class that is not read back",
        "an enum, of which its value came back",
        "what looks like an object",
    ],
)
def test_what_would_come_back_otherwise_or_not_at_all_stays_in_memory(answer: Any) -> None:
    with pytest.raises(ForeignClass):
        LangChainCodec().encode(answer)


def test_a_payload_that_names_another_class_is_refused() -> None:
    prompt = PromptTemplate.from_template("{secret}")
    payload = LangChainCodec([PromptTemplate]).encode(prompt)
    assert LangChainCodec([PromptTemplate]).decode(payload) == prompt
    with pytest.raises(ForeignClass):
        LangChainCodec().decode(payload)
