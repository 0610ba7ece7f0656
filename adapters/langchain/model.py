"""`CachedChatModel`: a chat model whose streams hit, too. LangChain itself asks no cache in `stream` and `astream`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.tools import BaseTool

from .cache import CacheLayerCache


class CachedChatModel(BaseChatModel):
    """`CachedChatModel(model=..., cache=CacheLayerCache(layer))`: `invoke`, `stream`, `batch` and their twins.

    What one of them answered the others serve, and so does the plain model with the same cache. A hit is streamed
    as one chunk. A stream is kept when it ended well.
    """

    model: BaseChatModel

    @property
    def _llm_type(self) -> str:
        return self.model._llm_type

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        return self.model._get_llm_string(stop=stop, **kwargs)

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return self.model._get_ls_params(stop=stop, **kwargs)

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The model with tools, which become part of what identifies an answer."""
        bound = self.model.bind_tools(tools, **kwargs)
        if not isinstance(bound, RunnableBinding):
            raise NotImplementedError(f"{type(self.model).__name__}.bind_tools does not return a binding")
        return self.bind(**bound.kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self.model._generate(messages, stop=stop, run_manager=run_manager, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await self.model._agenerate(messages, stop=stop, run_manager=run_manager, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        store, prompt, llm = self._store(), _prompt(messages), self._get_llm_string(stop=stop, **kwargs)
        found = store.lookup(prompt, llm)
        if found is not None:
            yield _chunk(found[0])
            return
        chunks = []
        if not _streams(self.model):
            yield _chunk(
                self._keep(store, prompt, llm, self.model._generate(messages, stop, run_manager, **kwargs))
            )
            return
        for chunk in self.model._stream(messages, stop=stop, run_manager=run_manager, **kwargs):
            chunks.append(chunk)
            yield chunk
        self._keep(store, prompt, llm, generate_from_stream(iter(chunks)))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        store, prompt, llm = self._store(), _prompt(messages), self._get_llm_string(stop=stop, **kwargs)
        found = await store.alookup(prompt, llm)
        if found is not None:
            yield _chunk(found[0])
            return
        chunks = []
        if not _streams(self.model):
            made = await self.model._agenerate(messages, stop, run_manager, **kwargs)
            yield _chunk(self._keep(store, prompt, llm, made))
            return
        async for chunk in self.model._astream(messages, stop=stop, run_manager=run_manager, **kwargs):
            chunks.append(chunk)
            yield chunk
        self._keep(store, prompt, llm, generate_from_stream(iter(chunks)))

    def _store(self) -> CacheLayerCache:
        if not isinstance(self.cache, CacheLayerCache):
            raise TypeError("CachedChatModel needs cache=CacheLayerCache(layer)")
        return self.cache

    @staticmethod
    def _keep(store: CacheLayerCache, prompt: str, llm: str, made: ChatResult) -> ChatGeneration:
        store.update(prompt, llm, made.generations)
        return made.generations[0]


def _streams(model: BaseChatModel) -> bool:
    return type(model)._stream != BaseChatModel._stream or type(model)._astream != BaseChatModel._astream


def _prompt(messages: list[BaseMessage]) -> str:
    """The prompt as LangChain hands it to caches."""
    return dumps([m if m.id is None else m.model_copy(update={"id": None}) for m in messages])


def _chunk(generation: Any) -> ChatGenerationChunk:
    """A whole answer as the only chunk of a stream."""
    message = generation.message
    told = {
        name: getattr(message, name) for name in ("content", "additional_kwargs", "response_metadata", "id")
    }
    calls = [
        tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=place)
        for place, call in enumerate(message.tool_calls)
    ]
    usage = message.usage_metadata
    chunk = AIMessageChunk(**told, tool_call_chunks=calls, usage_metadata=usage, chunk_position="last")
    return ChatGenerationChunk(message=chunk, generation_info=generation.generation_info)
