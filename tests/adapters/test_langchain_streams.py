"""Answers of models that stream: one request each, kept as whole as `invoke` has them, and hit in later turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedChatModel, CachedRunnable, CacheLayerCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tracers import _streaming as tracers
from langchain_models import Counting

from cachelayer import CacheLayer


class Streaming(Counting):
    """Cannot do otherwise, as OpenAI's model with `streaming=True`."""

    streaming: bool = True

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("asked for a whole answer")


class Calling(Counting):
    """Streams a text and two calls of a tool, and says only beside the last chunk why it ended."""

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.calls += 1
        yield ChatGenerationChunk(message=AIMessageChunk("let me see"))
        for place in range(2):
            for name, args in (("stock", '{"item"'), (None, ': "lamp"}')):
                id = f"c{place}" if name else None
                piece = tool_call_chunk(name=name, args=args, id=id, index=place)
                yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[piece]))
        ended = {"finish_reason": "tool_calls", "model_name": "small"}
        yield ChatGenerationChunk(message=AIMessageChunk(""), generation_info=ended)


async def joined(model: CachedChatModel, asked: Any) -> AIMessageChunk:
    whole: Any = None
    async for chunk in model.astream(asked):
        whole = chunk if whole is None else whole + chunk
    assert isinstance(whole, AIMessageChunk)
    return whole


async def test_a_model_that_always_streams_is_asked_for_a_stream(layer: CacheLayer) -> None:
    model = CachedChatModel(model=Streaming(streaming=True), cache=CacheLayerCache(layer))
    assert model.invoke("a").content == (await model.ainvoke("a")).content == "answer 1"
    assert (await model.ainvoke("b")).content == model.invoke("b").content == "answer 2"
    still = CachedChatModel(model=Streaming(streaming=True), cache=model.cache, disable_streaming=True)
    with pytest.raises(AssertionError, match="whole"):
        still.invoke("c")


async def test_a_call_whose_listener_wants_the_pieces_is_one_request(layer: CacheLayer) -> None:
    """It was looked up, counted and kept twice: once by LangChain, once as a stream."""
    model = CachedChatModel(model=Counting(), cache=CacheLayerCache(layer))

    async def later(text: str, config: RunnableConfig) -> BaseMessage:
        return await model.ainvoke(text, config)

    def now(text: str, config: RunnableConfig) -> BaseMessage:
        return model.invoke(text, config)

    for number, node in enumerate((RunnableLambda(later), RunnableLambda(now)), 1):
        events = [event async for event in node.astream_events(f"q{number}", version="v2")]
        assert len([one for one in events if one["event"] == "on_chat_model_stream"]) > 2
        counted = layer.stats()["functions"]["langchain"]
        assert (counted["requests"], counted["backend_calls"]) == (2 * number - 1, number)
        assert (await model.ainvoke(f"q{number}")).content == f"answer {number}"


class Whole(Counting):
    """Does not stream."""

    _stream = BaseChatModel._stream


@pytest.mark.parametrize("model", [Counting(), Streaming(streaming=True)])
async def test_who_listens_to_a_call_is_told_what_comes_from_the_cache(
    model: Counting, layer: CacheLayer
) -> None:
    """An agent invokes its model, and an app shows what of that streams: of a hit it showed nothing."""
    cached = CachedChatModel(model=model, cache=CacheLayerCache(layer))

    async def later(text: str, config: RunnableConfig) -> BaseMessage:
        return await cached.ainvoke(text, config)

    def now(text: str, config: RunnableConfig) -> BaseMessage:
        return cached.invoke(text, config)

    for node in (RunnableLambda(later), RunnableLambda(now)) * 2:
        events = [event async for event in node.astream_events("q", version="v2")]
        told = [one["data"]["chunk"] for one in events if one["event"] == "on_chat_model_stream"]
        assert "".join(one.content for one in told) == "answer 1"
        assert {one.id for one in told} == {events[-1]["data"]["output"].id} != {None}
    assert len(told) == 1 and told[0].chunk_position == "last"


async def test_who_hears_a_model_that_does_not_stream_hears_no_pieces(layer: CacheLayer) -> None:
    """Where an agent was asked for events of version v3, this failed."""
    cached = CachedChatModel(model=Whole(), cache=CacheLayerCache(layer))
    heard: list[Any] = []
    newer = getattr(tracers, "_V2StreamingCallbackHandler", tracers._StreamingCallbackHandler)
    for kind in (tracers._StreamingCallbackHandler, newer):

        class Listening(kind, BaseCallbackHandler):  # type: ignore[misc, valid-type]
            def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
                heard.append(token)

            def on_stream_event(self, event: Any, **kwargs: Any) -> None:
                heard.append(event)

        said = {"callbacks": [Listening()]}
        for _ in range(2):
            assert cached.invoke("q", said).content == (await cached.ainvoke("q", said)).content == "answer 1"
    assert heard == []


@pytest.mark.parametrize("version", ["v0", "v1"])
async def test_what_a_stream_brought_is_kept_as_a_whole_answer(layer: CacheLayer, version: str) -> None:
    """Its calls of tools were kept as pieces, and who answered was missing where only the end of the stream told it."""
    inner = Calling(output_version=version)
    model = CachedChatModel(model=inner, cache=CacheLayerCache(layer))
    calls = [
        {"type": "tool_call", "name": "stock", "args": {"item": "lamp"}, "id": f"c{n}"} for n in range(2)
    ]
    for asked in ("a", "b"):  # where it makes events of them, LangChain leaves the chunks as they came
        await joined(model, asked) if asked == "a" else list(model._stream([HumanMessage(asked)]))
        told = await model.ainvoke(asked)
        assert type(told) is AIMessage and told.tool_calls == calls
        text = {"type": "text", "text": "let me see"}
        assert told.content == ([text, *calls] if version == "v1" else "let me see")
        assert told.response_metadata["model_name"] == "small"
    assert inner.calls == 2


async def test_an_answer_without_usage_can_be_read_back_from_a_history(layer: CacheLayer) -> None:
    """LangChain adds to a hit's usage that it cost nothing; of a usage that held nothing else no message was made."""
    model = CachedChatModel(model=Counting(), cache=CacheLayerCache(layer))
    for _ in range(2):
        told = [await model.ainvoke("a"), model.invoke("a")]
        assert messages_from_dict(messages_to_dict(told)) == told
    assert told[0].usage_metadata["total_tokens"] == 0
    assert (await joined(model, "a")).usage_metadata is None


async def test_later_turns_hit_whether_earlier_answers_were_streamed_or_not(layer: CacheLayer) -> None:
    """A chat that keeps the joined chunks of a stream had keys of its own in every later turn."""

    def turns(answer: BaseMessage) -> list[BaseMessage]:
        return [HumanMessage("hello"), answer, HumanMessage("and now")]

    call = {"name": "stock", "args": {"item": "lamp"}, "id": "c1"}
    whole = AIMessage("yes", tool_calls=[call], additional_kwargs={"refusal": None})
    piece = tool_call_chunk(name="stock", args='{"item":  "lamp"}', id="c1", index=0)
    streamed = AIMessageChunk("yes", tool_call_chunks=[piece], chunk_position="last")
    blocks = AIMessage([{"type": "text", "text": "yes", "annotations": []}])
    placed = AIMessageChunk([{"type": "text", "text": "yes", "index": 0}])
    model = Counting(cache=CacheLayerCache(layer))
    step = CachedRunnable(Counting(), layer, name="step")
    for number, (one, other) in enumerate(((whole, streamed), (blocks, placed)), 1):
        assert model.invoke(turns(one)).content == model.invoke(turns(other)).content == f"answer {number}"
    assert step.invoke(turns(AIMessage("yes"))).content == step.invoke(turns(AIMessageChunk("yes"))).content
    assert model.invoke(turns(AIMessage("no"))).content == "answer 3"
