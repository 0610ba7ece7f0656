"""Stand-in for the package tensorrt_llm: signatures of its LLM API (1.x), a scripted model, no GPU.

`TOKENS_PER_STEP` tokens come with one iteration step, as with speculative decoding or `stream_interval`. With the key
`stagger` the first choice ends before the others, and what it said last stands there to the end, as the engine
leaves it.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import types
from collections.abc import AsyncIterator, Generator
from functools import partial
from typing import Any

import documented
from script import Script, parse
from until import until

__version__ = "1.2.1-standin"
SAMPLING_FIELDS = frozenset(
    "max_tokens temperature top_p top_k min_p seed stop n best_of min_tokens ignore_eos presence_penalty"
    " frequency_penalty repetition_penalty return_perf_metrics".split()
)


class RequestError(RuntimeError):
    pass


class SamplingParams:
    def __init__(self, **fields: Any) -> None:
        unknown = fields.keys() - SAMPLING_FIELDS
        if unknown:
            raise TypeError(f"unexpected keyword arguments {sorted(unknown)}")
        self.max_tokens = fields.get("max_tokens", 32)
        self.n = fields.get("n", 1)


class Tokenizer:
    """A token id is a character."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        assert len(text) <= 1024 or threading.current_thread() is not threading.main_thread(), (
            "blocks the loop"
        )
        return [ord(c) for c in text]

    def apply_chat_template(self, messages: list[dict[str, Any]], tokenize: bool = True, **_: Any) -> str:
        assert not tokenize
        return str(messages[-1]["content"])


class CompletionOutput:
    def __init__(self, index: int) -> None:
        self.index = index
        self.text, self._last_text = "", ""
        self.token_ids: list[int] = []
        self.finish_reason: str | None = None
        self.stop_reason: str | int | None = None

    @property
    def text_diff(self) -> str:
        return self.text[len(self._last_text) :]


class RequestOutput:
    """Awaitable and asynchronously iterable; iteration yields this same object, changed in place."""

    def __init__(self, llm: LLM, prompt: str, ids: list[int], script: Script, params: SamplingParams) -> None:
        self.request_id = id(self)
        self.prompt, self.prompt_token_ids = None, ids
        self.outputs = [CompletionOutput(i) for i in range(params.n)]
        self.finished = False
        self.cached_tokens = min(32, len(ids))
        self.aborted = False
        self._llm, self._script, self._limit = llm, script, params.max_tokens
        llm.running.add(self)

    def abort(self) -> None:
        self.aborted = True
        self._llm.running.discard(self)

    def __await__(self) -> Generator[Any, None, RequestOutput]:
        return self._run_all().__await__()

    async def _run_all(self) -> RequestOutput:
        async for _ in self._steps():
            pass
        return self

    def __aiter__(self) -> AsyncIterator[RequestOutput]:
        return self._steps()

    async def _steps(self) -> AsyncIterator[RequestOutput]:
        tokens = self._script.tokens(self._limit)
        if self._llm.prefill:
            await asyncio.sleep(self._llm.prefill)
        yield self  # the first step may bring no text
        position = 0
        while position < len(tokens):
            await until(partial(self._free, position))
            if self.aborted:
                break
            if self._script.fail_after is not None and position >= self._script.fail_after:
                self._llm.running.discard(self)
                raise RequestError("the engine failed")
            end = position + self._llm.tokens_per_step
            step = tokens[position : min(end, self._script.fail_after or end)]
            position += len(step)
            self._advance(step, position >= len(tokens))
            yield self
            await asyncio.sleep(0)
        if self.aborted:
            self._advance([], True)
            yield self

    def _free(self, position: int) -> bool:
        return self.aborted or not self._script.held(position)

    def _advance(self, step: list[str], last: bool) -> None:
        for output in self.outputs:
            if output.finish_reason is not None:
                continue
            output._last_text = output.text
            output.text += "".join(step)
            output.token_ids.extend(range(len(step)))
            if last or (self._script.rest.get("stagger") and output.index == 0 and output.text):
                finish = self._script.rest.get("finish", self._script.finish(self._limit))
                output.finish_reason = "cancelled" if self.aborted else finish
        self.finished = last
        if last:
            self._llm.running.discard(self)


class LLM:
    tokens_per_step = 2
    prefill = 0.0
    """Seconds to the first token."""

    def __init__(self, model: str, tokenizer: Any = None, **fields: Any) -> None:
        faults = documented.faults(fields, "1.2")
        if faults:
            raise ValueError(f"extra fields not permitted: {faults}")
        self.tokenizer = Tokenizer()
        self.running: set[RequestOutput] = set()
        self.calls: list[dict[str, Any]] = []
        self._down = False

    def generate_async(
        self,
        inputs: Any,
        sampling_params: SamplingParams | None = None,
        lora_request: Any = None,
        prompt_adapter_request: Any = None,
        streaming: bool = False,
        kv_cache_retention_config: Any = None,
        disaggregated_params: Any = None,
        trace_headers: Any = None,
        _postproc_params: Any = None,
        scheduling_params: Any = None,
        cache_salt: str | None = None,
    ) -> RequestOutput:
        extras = {"cache_salt": cache_salt, "retention": kv_cache_retention_config}
        return self._submit(inputs, sampling_params or SamplingParams(), extras)

    def _submit(self, inputs: Any, params: SamplingParams, extras: dict[str, Any]) -> RequestOutput:
        if self._down:
            raise RuntimeError("LLM is shutting down")
        ids = inputs["prompt_token_ids"]
        prompt = "".join(map(chr, ids))
        if len(ids) > 4096:
            raise ValueError("the prompt is too long")
        self.calls.append(extras)
        return RequestOutput(self, prompt, ids, parse(prompt), params)

    def get_stats(self, timeout: float = 2) -> list[dict[str, Any]]:
        return []

    def shutdown(self) -> None:
        self._down = True


class OldLLM(LLM):
    """0.20: no salt, no scheduling parameters."""

    def generate_async(  # type: ignore[override]
        self,
        inputs: Any,
        sampling_params: SamplingParams | None = None,
        lora_request: Any = None,
        prompt_adapter_request: Any = None,
        streaming: bool = False,
        kv_cache_retention_config: Any = None,
        disaggregated_params: Any = None,
        _postproc_params: Any = None,
    ) -> RequestOutput:
        return self._submit(inputs, sampling_params or SamplingParams(), {})


class TokenRangeRetentionConfig:
    def __init__(
        self, token_start: int, token_end: int | None = None, priority: int = 35, duration_ms: Any = None
    ):
        self.range = (token_start, token_end, priority, duration_ms)


class KvCacheRetentionConfig:
    def __init__(self, token_range_retention_configs: list[TokenRangeRetentionConfig]) -> None:
        self.ranges = [c.range for c in token_range_retention_configs]


llmapi = types.ModuleType(f"{__name__}.llmapi")
sys.modules[llmapi.__name__] = llmapi
llmapi.KvCacheRetentionConfig = KvCacheRetentionConfig  # type: ignore[attr-defined]
llmapi.TokenRangeRetentionConfig = TokenRangeRetentionConfig  # type: ignore[attr-defined]
