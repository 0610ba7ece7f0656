"""An OpenAI-style call as the transports take it: checked once, foreign fields named."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
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

UNHEARD = frozenset(("timeout", "priority", "lane", "session", "retention", "user", *INERT)) - {
    "stream_options"
}
"""Fields that change how an answer comes about and not what it says."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0


FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "messages": (lambda v: _is_list(v) and all(isinstance(m, Mapping) for m in v), "a list of messages"),
    "prompt": (lambda v: isinstance(v, str) or _is_list(v), "a text, or token ids"),
    "model": (lambda v: isinstance(v, str), "a name"),
    "n": (lambda v: _is_count(v) and v > 0, "a whole number of at least 1"),
    "max_tokens": (_is_count, "a whole number"),
    "max_completion_tokens": (_is_count, "a whole number"),
    "stream_options": (lambda v: isinstance(v, Mapping), "an object"),
    "cache_salt": (lambda v: isinstance(v, str), "a text"),
    "timeout": (lambda v: _is_number(v) and 0 < v < 1e9, "seconds > 0, or nothing"),
    "priority": (lambda v: _is_number(v) and 0 <= v <= 1, "0 (least) to 1 (most urgent)"),
    "lane": (lambda v: isinstance(v, str), "a name"),
    "session": (lambda v: isinstance(v, str | int), "a name"),
}
"""What each field has to be. Of others the server judges: what it refuses is one request's fault, where nonsense
that it trips over counts against the server."""


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
        several = not isinstance(self.prompt, str | None) and not isinstance(self.prompt[0], int)
        return int(self.params.get("n", 1)) * (len(self.prompt) if several and self.prompt else 1)

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
    options = arguments.get("stream_options")
    for name, (fits, form) in FORMS.items():
        value = arguments.get(name)
        if value is not None and not fits(value):
            raise RequestRejected(f"{name}: give {form}")
    options = options or {}
    timeout = rest.pop("timeout", None)
    request = Request(
        model=rest.pop("model", None),
        messages=messages,
        prompt=prompt,
        stream=bool(rest.pop("stream", False)),
        usage=bool(options.get("include_usage", False)),
        params=rest,
        salt=rest.pop("cache_salt", salt),
        deadline=None if timeout is None else now + timeout,
        priority=float(rest.pop("priority", 0.5)),
        lane=str(rest.pop("lane", "interactive")),
        session=rest.pop("session", None),
        retention=rest.pop("retention", ()),
    )
    if options and not request.stream:
        raise RequestRejected("stream_options needs stream=True")
    if request.salt is not None and not request.salt.strip():
        raise RequestRejected("cache_salt must not be blank")
    foreign = rest.keys() - (CHAT if messages is not None else COMPLETION)
    if foreign:
        raise RequestRejected(f"unknown request fields: {', '.join(sorted(foreign))}")
    return request
