"""`CachedChatModel`: a chat model whose streams hit, too. LangChain itself asks no cache in `stream` and `astream`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import LC_ID_PREFIX, AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.tools import BaseTool

from cachelayer.errors import ConfigurationError
from cachelayer.partial.shelf import Absent

from .cache import CacheLayerCache
from .pieces import chunk_of, whole_of
from .serial import prompt_of
from .structured import Structured, replaced

_TAKEN_OVER = ("callbacks", "tags", "metadata", "verbose", "output_version", "profile")
_ASKED: ContextVar[object] = ContextVar("cachelayer_langchain_asked", default=None)
"""The model for whose call LangChain asks the cache itself, and keeps the answer there."""


class CachedChatModel(BaseChatModel):
    """`CachedChatModel(model=..., cache=CacheLayerCache(layer))`: `invoke`, `stream`, `batch` and their twins.

    What one of them answered the others serve, and so does the plain model with the same cache. A hit is streamed
    as one chunk, and waits for no rate limiter. A stream is kept when it ended well. Without `cache=` the global one
    counts, as for every model; `cache=False` keeps nothing. Callbacks, tags, metadata and the form of answers are
    the model's own where they are not given. Raises ConfigurationError if the cache is another one or none.
    """

    model: BaseChatModel

    def model_post_init(self, context: Any) -> None:
        """Take over what LangChain reads of the model that is called, which is this one."""
        given = frozenset(self.model_fields_set)  # LangChain itself notes its version in the metadata
        super().model_post_init(context)
        for name in _TAKEN_OVER:
            if name not in given:
                setattr(self, name, getattr(self.model, name))

    @property
    def _llm_type(self) -> str:
        return self.model._llm_type

    @property
    def model_name(self) -> str:
        """The model's own name, by which agents know what it can do; they would take `model` for it."""
        named = (getattr(self.model, name, None) for name in ("model_name", "model", "model_id"))
        return next((name for name in named if name and isinstance(name, str)), self._llm_type)

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        return self.model._get_llm_string(stop=stop, **kwargs)

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return self.model._identifying_params

    @cached_property
    def _serialized(self) -> dict[str, Any]:
        return self.model._serialized

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        return self.model._get_invocation_params(stop=stop, **kwargs)

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return self.model._get_ls_params(stop=stop, **kwargs)

    def _get_ls_params_with_defaults(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return self.model._get_ls_params_with_defaults(stop=stop, **kwargs)

    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        """Where the model does not stream, LangChain invokes this one, which hits as well."""
        asked = {"async_api": async_api, "run_manager": run_manager, **kwargs}
        allowed: bool = super()._should_stream(**{"stream": True, **asked})
        return allowed and self.model._should_stream(**asked)

    def _should_use_protocol_streaming(self, **asked: Any) -> bool:
        """The same of events of version v3, which older releases of LangChain do not have."""
        allowed = getattr(super(), "_should_use_protocol_streaming", None)
        return bool(allowed and allowed(**asked) and self.model._should_use_protocol_streaming(**asked))

    def _combine_llm_outputs(self, llm_outputs: list[dict[str, Any] | None]) -> dict[str, Any]:
        return self.model._combine_llm_outputs(llm_outputs)

    def get_token_ids(self, text: str) -> list[int]:
        """The text's tokens, as the model counts them."""
        return self.model.get_token_ids(text)

    def get_num_tokens(self, text: str) -> int:
        """How many tokens a text has, as the model counts them."""
        return self.model.get_num_tokens(text)

    def get_num_tokens_from_messages(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> int:
        """How many tokens messages have, as the model counts them."""
        return self.model.get_num_tokens_from_messages(messages, *args, **kwargs)

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The model with tools, which become part of what identifies an answer."""
        bound = self.model.bind_tools(tools, **kwargs)
        if not isinstance(bound, RunnableBinding):
            raise NotImplementedError(f"{type(self.model).__name__}.bind_tools does not return a binding")
        return self.bind(**bound.kwargs)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[Any, Any]:
        """What the model makes of it, by its own methods, with this one in its place. An answer that does not fit is
        not kept."""
        made = self.model.with_structured_output(schema, include_raw=include_raw, **kwargs)
        chain: Runnable[Any, Any] = replaced(made, self.model, self)
        if chain is made:
            raise NotImplementedError(f"{type(self.model).__name__}.with_structured_output hides the model")
        return Structured(bound=chain)

    def _generate_with_cache(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        token = _ASKED.set(self)
        try:
            result = super()._generate_with_cache(messages, stop, run_manager, **kwargs)
        finally:
            _ASKED.reset(token)
        if run_manager:
            for chunk in self._told(result, async_api=False, run_manager=run_manager, **kwargs):
                run_manager.on_llm_new_token(cast(str, chunk.message.content), chunk=chunk)
        return result

    async def _agenerate_with_cache(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        token = _ASKED.set(self)
        try:
            result = await super()._agenerate_with_cache(messages, stop, run_manager, **kwargs)
        finally:
            _ASKED.reset(token)
        if run_manager:
            for chunk in self._told(result, async_api=True, run_manager=run_manager, **kwargs):
                await run_manager.on_llm_new_token(cast(str, chunk.message.content), chunk=chunk)
        return result

    def _told(self, result: ChatResult, **asked: Any) -> Iterator[ChatGenerationChunk]:
        """What comes from the cache, for those who listen to a model that streams: they see no difference to an answer
        that was made, whose message has the id of its run. Events of version v3 are made by LangChain itself."""
        hits = [made for made in result.generations if made.message.id is None]
        if hits and not self._should_use_protocol_streaming(**asked) and self._should_stream(**asked):
            for made in hits:
                made.message.id = f"{LC_ID_PREFIX}-{asked['run_manager'].run_id}"
                yield chunk_of(made)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._store()
        if self.model.rate_limiter:
            self.model.rate_limiter.acquire()
        return self.model._generate(messages, stop=stop, run_manager=run_manager, **kwargs)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._store()
        if self.model.rate_limiter:
            await self.model.rate_limiter.aacquire()
        return await self.model._agenerate(messages, stop=stop, run_manager=run_manager, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        store = self._asks()
        found = store.seek(*self._request(messages, stop, kwargs)) if store else None
        if found and not isinstance(found, Absent):
            yield chunk_of(found[0])
            return
        if self.model.rate_limiter:
            self.model.rate_limiter.acquire()
        chunks = []
        for chunk in self.model._stream(messages, stop=stop, run_manager=run_manager, **kwargs):
            chunks.append(chunk.model_copy())  # LangChain puts another message in the one that it is given
            yield chunk
        if store and chunks and isinstance(found, Absent):
            store.keep(found, whole_of(chunks, self.output_version))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        store = self._asks()
        found = await store.aseek(*self._request(messages, stop, kwargs)) if store else None
        if found and not isinstance(found, Absent):
            yield chunk_of(found[0])
            return
        if self.model.rate_limiter:
            await self.model.rate_limiter.aacquire()
        chunks = []
        async for chunk in self.model._astream(messages, stop=stop, run_manager=run_manager, **kwargs):
            chunks.append(chunk.model_copy())  # LangChain puts another message in the one that it is given
            yield chunk
        if store and chunks and isinstance(found, Absent):
            store.keep(found, whole_of(chunks, self.output_version))

    def _asks(self) -> CacheLayerCache | None:
        """The cache that a stream asks; None where LangChain asked it already, or the owner wants none."""
        store = self._store()
        return None if _ASKED.get() is self else store

    def _request(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> tuple[str, str]:
        return prompt_of(messages), self._get_llm_string(stop=stop, **kwargs)

    def _store(self) -> CacheLayerCache | None:
        """The cache to ask; None if the owner wants none."""
        store = get_llm_cache() if self.cache is None or self.cache is True else self.cache
        if store is False or isinstance(store, CacheLayerCache):
            return store or None
        raise ConfigurationError("cache", store, "give CachedChatModel a CacheLayerCache(layer)")
