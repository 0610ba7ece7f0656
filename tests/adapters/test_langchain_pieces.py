"""Whom a cached model asks, whom it tells, and what of a stream's pieces is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cachelayer.adapters.langchain import CachedChatModel, CacheLayerCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda, RunnableSequence
from langchain_core.tracers import _streaming as tracers
from langchain_models import Counting

from cachelayer import CacheLayer, ConfigurationError


class Calling(Counting):
    """Streams a call of a tool whose arguments are these."""

    args: str = '{"item": "lamp"}'

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.calls += 1
        for name, piece in (("stock", self.args[:5]), (None, self.args[5:])):
            call = tool_call_chunk(name=name, args=piece, id="c1" if name else None, index=0)
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[call]))
        end = AIMessageChunk("", response_metadata={"finish_reason": "tool_calls"})
        yield ChatGenerationChunk(message=end)


@pytest.mark.skipif(not hasattr(tracers, "_V2StreamingCallbackHandler"), reason="an older langchain-core")
async def test_who_hears_events_of_the_newest_version_hears_no_tokens_beside(layer: CacheLayer) -> None:
    heard: list[str] = []

    class Listening(
        tracers._V2StreamingCallbackHandler,
        tracers._StreamingCallbackHandler,  # type: ignore[type-arg]
        BaseCallbackHandler,
    ):
        def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
            heard.append("token")

        def on_stream_event(self, event: Any, **kwargs: Any) -> None:
            heard.append(event["event"])

        def tap_output_iter(self, run_id: Any, output: Any) -> Any:
            return output

        def tap_output_aiter(self, run_id: Any, output: Any) -> Any:
            return output

    cached = CachedChatModel(model=Counting(), cache=CacheLayerCache(layer))
    for _ in range(2):
        heard.clear()
        cached.invoke("a", {"callbacks": [Listening()]})
        await cached.ainvoke("b", {"callbacks": [Listening()]})
        assert heard.count("message-finish") == 2 and "token" not in heard


@pytest.mark.parametrize("version", ["v0", "v1"])
def test_what_a_plain_stream_brought_is_kept_as_it_came(layer: CacheLayer, version: str) -> None:
    cached = CachedChatModel(model=Calling(output_version=version), cache=CacheLayerCache(layer))
    call = {"type": "tool_call", "name": "stock", "args": {"item": "lamp"}, "id": "c1"}
    list(cached.stream("a"))
    kept = cached.invoke("a")
    assert kept.tool_calls == [call] and kept.content == ([call] if version == "v1" else "")
    told = CachedChatModel(model=Counting(output_version=version), cache=cached.cache)
    list(told.stream("b"))
    text = "answer 1"
    assert told.invoke("b").content == ([{"type": "text", "text": text}] if version == "v1" else text)


def test_a_call_that_streams_in_blocks_is_kept_as_a_call(layer: CacheLayer) -> None:
    class Blocks(Calling):
        def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
            for chunk in super()._stream():
                calls = chunk.message.tool_call_chunks  # type: ignore[attr-defined]
                content = [{"type": "tool_call_chunk", **call} for call in calls]
                told = {**chunk.message.response_metadata, "output_version": "v1"}
                message = AIMessageChunk(content, tool_call_chunks=calls, response_metadata=told)  # type: ignore[arg-type]
                yield ChatGenerationChunk(message=message)

    plain, cached = (
        Blocks(output_version="v1"),
        CachedChatModel(model=Blocks(output_version="v1"), cache=CacheLayerCache(layer)),
    )
    whole: Any = None
    for piece in plain.stream("a"):
        whole = piece if whole is None else whole + piece
    list(cached.stream("a"))
    kinds = [block["type"] for block in cached.invoke("a").content]  # type: ignore[index]
    assert kinds == [block["type"] for block in whole.content] == ["tool_call"]


def test_each_call_of_a_streamed_hit_has_a_place_of_its_own(layer: CacheLayer) -> None:
    class Odd(Counting):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            well = {"name": "f", "args": {}, "id": "1"}
            ill = {"name": "f", "args": "no json", "id": "2", "error": None}
            message = AIMessage("", tool_calls=[well], invalid_tool_calls=[ill])
            return ChatResult(generations=[ChatGeneration(message=message)])

    cached = CachedChatModel(model=Odd(), cache=CacheLayerCache(layer))
    cached.invoke("a")
    (hit,) = cached.stream("a")
    assert [call["index"] for call in hit.tool_call_chunks] == [0, 1]


async def test_without_a_cache_of_ours_an_awaited_model_says_so_too() -> None:
    with pytest.raises(ConfigurationError, match="give CachedChatModel a CacheLayerCache"):
        await CachedChatModel(model=Counting()).ainvoke("a")


def test_a_model_that_is_told_to_cache_asks_the_global_one(layer: CacheLayer) -> None:
    cached = CachedChatModel(model=Counting(), cache=True)
    set_llm_cache(CacheLayerCache(layer))
    try:
        assert {"".join(str(piece.content) for piece in cached.stream("a")) for _ in range(2)} == {"answer 1"}
    finally:
        set_llm_cache(None)


def test_a_model_that_another_one_streams_asks_its_own_cache(layer: CacheLayer) -> None:
    inner = CachedChatModel(model=Counting(), cache=CacheLayerCache(layer))

    class Asking(Counting):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            whole = "".join(str(piece.content) for piece in inner.stream("the same"))
            return ChatResult(generations=[ChatGeneration(message=AIMessage(whole))])

    outer = CachedChatModel(model=Asking(), cache=CacheLayerCache(layer, name="outer"))
    assert [outer.invoke(question).content for question in ("a", "b")] == ["answer 1"] * 2


def test_a_chain_of_structured_output_keeps_its_name(layer: CacheLayer) -> None:
    class Naming(Counting):
        def with_structured_output(self, *args: Any, **kwargs: Any) -> Runnable[Any, Any]:
            return RunnableSequence(self, RunnableLambda(lambda said: said.content), name="told")

    cached = CachedChatModel(model=Naming(), cache=CacheLayerCache(layer))
    assert cached.with_structured_output({}).get_name() == "told"


def test_settings_and_prompt_are_told_apart_wherever_one_ends(layer: CacheLayer) -> None:
    cache = CacheLayerCache(layer)
    for settings, prompt in (("ab", "c"), ("a", "bc")):
        assert cache.lookup(prompt, settings) is None
        cache.update(prompt, settings, [ChatGeneration(message=AIMessage(prompt))])
        for _ in range(2):
            (found,) = cache.lookup(prompt, settings) or ()
            assert found.text == prompt
