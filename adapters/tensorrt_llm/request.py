"""An OpenAI-style call as the transports take it: checked once, foreign fields named."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import RequestRejected

COMMON = frozenset(
    (
        "max_tokens temperature top_p n best_of stop seed presence_penalty frequency_penalty logprobs"
        " logit_bias response_format user lora_request top_k top_p_min min_p repetition_penalty"
        " length_penalty early_stopping use_beam_search stop_token_ids include_stop_str_in_output"
        " ignore_eos min_tokens skip_special_tokens spaces_between_special_tokens truncate_prompt_tokens"
        " prompt_ignore_length add_special_tokens"
    ).split()
)
CHAT = COMMON | frozenset(
    (
        "max_completion_tokens top_logprobs tools tool_choice parallel_tool_calls add_generation_prompt"
        " documents chat_template chat_template_kwargs reasoning_effort prompt_token_ids agent_hierarchy"
        " thinking_token_budget"
    ).split()
)
COMPLETION = COMMON | frozenset(("detokenize", "echo", "suffix"))
INERT = frozenset(
    (
        "metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention stream_options"
    ).split()
)
"""OpenAI fields that change no output; TensorRT-LLM answers 400 to them, so they stay here."""


@dataclass(slots=True)
class Request:
    """One checked call. Exactly one of `messages` and `prompt` is given."""

    model: str | None
    messages: Sequence[Mapping[str, Any]] | None
    prompt: str | Sequence[int] | None
    stream: bool
    usage: bool
    """The caller wants a usage chunk at the end of a stream."""
    params: dict[str, Any]
    """Sampling and template fields as the caller gave them, without None."""
    salt: str | None = None
    deadline: float | None = None
    """Event-loop time (`loop.time()`), None for none."""
    priority: float = 0.5
    """0 (least) to 1 (most urgent), as in TensorRT-LLM."""
    lane: str = "interactive"
    session: str | None = None
    retention: Sequence[tuple[int, int | None, int, float | None]] = ()
    """(token start, token end, priority 0..100, seconds or None): KV blocks worth keeping."""
    id: str = field(default_factory=lambda: os.urandom(16).hex())

    @property
    def choices(self) -> int:
        return int(self.params.get("n", 1))

    @property
    def max_tokens(self) -> int | None:
        value = self.params.get("max_completion_tokens", self.params.get("max_tokens"))
        return None if value is None else int(value)


def parse(arguments: Mapping[str, Any], now: float, salt: str | None = None) -> Request:
    """Check OpenAI-style keyword arguments.

    Beside OpenAI's and TensorRT-LLM's fields: `timeout` (seconds), `cache_salt`, `priority`, `lane`,
    `session`, `retention`. Raises RequestRejected naming the field."""
    rest = {name: value for name, value in arguments.items() if value is not None and name not in INERT}
    messages, prompt = rest.pop("messages", None), rest.pop("prompt", None)
    if (messages is None) == (prompt is None):
        raise RequestRejected("exactly one of messages and prompt must be given")
    options = arguments.get("stream_options") or {}
    request = Request(
        model=rest.pop("model", None),
        messages=messages,
        prompt=prompt,
        stream=bool(rest.pop("stream", False)),
        usage=bool(options.get("include_usage", False)),
        params=rest,
        salt=rest.pop("cache_salt", salt),
        deadline=_deadline(rest.pop("timeout", None), now),
        priority=float(rest.pop("priority", 0.5)),
        lane=str(rest.pop("lane", "interactive")),
        session=rest.pop("session", None),
        retention=rest.pop("retention", ()),
    )
    if options and not request.stream:
        raise RequestRejected("stream_options needs stream=True")
    if request.salt is not None and not str(request.salt).strip():
        raise RequestRejected("cache_salt must not be blank")
    if not 0.0 <= request.priority <= 1.0:
        raise RequestRejected(f"priority={request.priority}: give 0 (least) to 1 (most urgent)")
    foreign = rest.keys() - (CHAT if messages is not None else COMPLETION)
    if foreign:
        raise RequestRejected(f"unknown request fields: {', '.join(sorted(foreign))}")
    return request


def _deadline(timeout: Any, now: float) -> float | None:
    if timeout is None:
        return None
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise RequestRejected(f"timeout={timeout!r}: give seconds > 0")
    return now + timeout
