"""The LLM API in this process: `tensorrt_llm.LLM`, imported when it starts and not before."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any

from cachelayer.errors import ConfigurationError

from .errors import RequestRejected, Unavailable
from .events import Capabilities, Delta, End, Event, Start, Usage
from .request import Request

SAMPLING = (
    "temperature top_p top_k min_p seed stop stop_token_ids presence_penalty frequency_penalty"
    " repetition_penalty length_penalty n best_of min_tokens ignore_eos skip_special_tokens"
    " include_stop_str_in_output spaces_between_special_tokens truncate_prompt_tokens use_beam_search"
    " early_stopping top_p_min"
).split()
CHAT_ONLY = frozenset(
    ("tools", "documents", "chat_template", "chat_template_kwargs", "add_generation_prompt")
)
HANDLED = frozenset((*SAMPLING, "max_tokens", "max_completion_tokens", "user", *CHAT_ONLY))

INLINE = 1024
"""Characters of a prompt that is tokenized on the loop: 0.3 ms at most, where a thread costs 0.1 to 0.2."""
Template = Callable[[Sequence[Mapping[str, Any]]], str]


class LocalTransport:
    """A model in this process.

    `llm` may be a running `tensorrt_llm.LLM` (which stays its owner's to shut down); else `model` and the
    keyword arguments construct one at `start`, in a thread. Long prompts and chats are tokenized in a thread as
    well. What a version does not know (salt, priority, retention) is found by signature and never sent."""

    def __init__(
        self,
        model: str,
        *,
        llm: Any = None,
        template: Template | None = None,
        module: str = "tensorrt_llm",
        **options: Any,
    ) -> None:
        self.name = f"local:{model}"
        self.capabilities = Capabilities("local", models=(model,))
        self._model, self._llm, self._owned = model, llm, llm is None
        self._template, self._module_name, self._options = template, module, options
        self._module: ModuleType | None = None
        self._accepts: frozenset[str] = frozenset()

    async def start(self) -> Capabilities:
        self._module = await asyncio.to_thread(self._import)
        if self._llm is None:
            try:
                self._llm = await asyncio.to_thread(self._module.LLM, self._model, **self._options)
            except (TypeError, ValueError) as error:
                raise ConfigurationError("LLM arguments", sorted(self._options), str(error)) from error
        self._accepts = frozenset(inspect.signature(self._llm.generate_async).parameters)
        tokenizer = getattr(self._llm, "tokenizer", None)
        self.capabilities = Capabilities(
            kind="local",
            version=str(getattr(self._module, "__version__", "")),
            models=(self._model,),
            chat=self._template is not None or hasattr(tokenizer, "apply_chat_template"),
            salt="cache_salt" in self._accepts,
            retention="kv_cache_retention_config" in self._accepts,
            priority="priority" in self._accepts,
            usage=True,
        )
        return self.capabilities

    def _import(self) -> ModuleType:
        try:
            return importlib.import_module(self._module_name)
        except ImportError:
            remedy = "install TensorRT-LLM as NVIDIA's documentation says; it is in no extra of this package"
            raise ConfigurationError("local:", self._module_name, remedy) from None

    async def healthy(self) -> bool:
        return self._llm is not None

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """See `Transport.events`. The promise is aborted whenever the consumer leaves before the end."""
        if self._module is None:
            await self.start()
        short = isinstance(request.prompt, str) and len(request.prompt) <= INLINE
        inputs = self._inputs(request) if short else await asyncio.to_thread(self._inputs, request)
        promise = self._submit(inputs, request)
        finished, ended = False, set[int]()
        try:
            start: Start | None = Start(request.id, request.model or self._model, int(time.time()))
            async for output in promise if request.stream else _once(promise):
                if start is not None:
                    yield start
                    start = None
                for delta in _deltas(output, ended) if request.stream else _whole(output):
                    yield delta
                if output.finished:
                    break
            finished = True
            yield _usage(promise)
            yield End("stop")
        except RuntimeError as error:
            # tensorrt_llm's RequestError moved between modules, so it is known by its name
            kind = RequestRejected if type(error).__name__ == "RequestError" else Unavailable
            raise kind(f"the engine failed the request: {error}") from error
        finally:
            if not finished:
                promise.abort()

    def _inputs(self, request: Request) -> dict[str, Any]:
        """Runs in a thread where it may take milliseconds: template and tokenizer are Python and Rust code."""
        prompt = self._prompt(request)
        if not isinstance(prompt, str):
            return {"prompt_token_ids": list(prompt)}
        tokenizer = getattr(self._llm, "tokenizer", None)
        if tokenizer is None:
            return {"prompt": prompt}
        special = request.messages is None
        return {"prompt_token_ids": list(tokenizer.encode(prompt, add_special_tokens=special))}

    def _prompt(self, request: Request) -> str | Sequence[int]:
        if request.messages is None:
            return request.prompt or ""
        if self._template is not None:
            return self._template(request.messages)
        if not self.capabilities.chat:
            raise RequestRejected("messages need a chat template: the tokenizer has none, give template=")
        options = {k: v for k, v in request.params.items() if k in CHAT_ONLY and k != "chat_template_kwargs"}
        options = {"add_generation_prompt": True} | options | request.params.get("chat_template_kwargs", {})
        return str(self._llm.tokenizer.apply_chat_template(list(request.messages), tokenize=False, **options))

    def _submit(self, inputs: dict[str, Any], request: Request) -> Any:
        foreign = request.params.keys() - HANDLED
        if foreign:
            raise RequestRejected(f"the in-process engine does not take {', '.join(sorted(foreign))}")
        extras: dict[str, Any] = {}
        if request.salt is not None and "cache_salt" in self._accepts:
            extras["cache_salt"] = request.salt
        if "priority" in self._accepts:
            extras["priority"] = request.priority
        if request.retention and "kv_cache_retention_config" in self._accepts:
            extras["kv_cache_retention_config"] = self._retention(request)
        sampling = {name: request.params[name] for name in SAMPLING if name in request.params}
        if request.max_tokens is not None:
            sampling["max_tokens"] = request.max_tokens
        assert self._module is not None
        try:
            parameters = self._module.SamplingParams(**sampling)
            return self._llm.generate_async(
                inputs, sampling_params=parameters, streaming=request.stream, **extras
            )
        except (TypeError, ValueError) as error:
            raise RequestRejected(str(error)) from error
        except RuntimeError as error:
            raise Unavailable(str(error)) from error

    def _retention(self, request: Request) -> Any:
        api = importlib.import_module(f"{self._module_name}.llmapi")
        config = api.KvCacheRetentionConfig
        token_range = getattr(config, "TokenRangeRetentionConfig", None) or api.TokenRangeRetentionConfig
        return config(
            [
                token_range(start, end, priority, None if seconds is None else timedelta(seconds=seconds))
                for start, end, priority, seconds in request.retention
            ]
        )

    async def aclose(self) -> None:
        llm, self._llm = self._llm, None
        if llm is not None and self._owned:
            await asyncio.to_thread(llm.shutdown)


async def _once(promise: Any) -> AsyncGenerator[Any, None]:
    await promise
    yield promise


def _deltas(output: Any, ended: set[int]) -> list[Delta]:
    """The engine yields one object that it changes in place: everything is copied out at once.

    What a choice said last may stand there again while others go on, so it is not read after its end."""
    deltas = []
    for part in output.outputs:
        text, finish = part.text_diff, part.finish_reason
        if (text or finish) and part.index not in ended:
            if finish:
                ended.add(part.index)
            deltas.append(Delta(part.index, text, finish_reason=finish, stop_reason=part.stop_reason))
    return deltas


def _whole(output: Any) -> list[Delta]:
    return [
        Delta(p.index, p.text, finish_reason=p.finish_reason, stop_reason=p.stop_reason)
        for p in output.outputs
    ]


def _usage(output: Any) -> Usage:
    """Counts from token ids, never from chunks: one iteration may emit several tokens."""
    metrics = getattr(output.outputs[0], "request_perf_metrics", None) if output.outputs else None
    queue = None
    if metrics is not None:
        timing = metrics.timing_metrics
        queue = (timing.first_scheduled_time - timing.arrival_time).total_seconds()
    return Usage(
        prompt_tokens=len(output.prompt_token_ids) if output.prompt_token_ids is not None else None,
        completion_tokens=sum(len(part.token_ids) for part in output.outputs),
        cached_tokens=getattr(output, "cached_tokens", None),
        queue_seconds=queue,
    )
