"""The token counts that an answer reports, in the wire forms of OpenAI, Anthropic, Gemini, Bedrock and LangChain."""

from __future__ import annotations

from typing import Any

from .fields import fields

_MODELS = ("model", "model_name", "model_id")
USAGES = ("usage", "usage_metadata", "token_usage")
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count", "inputTokens")
_COMPLETION = ("completion_tokens", "output_tokens", "candidates_token_count", "outputTokens")
_DETAILS = (("prompt_tokens_details", "cached_tokens"), ("input_tokens_details", "cached_tokens"),
            ("input_token_details", "cache_read"))  # fmt: skip
_CACHED = ("cache_read_input_tokens", "cached_tokens", "cached_content_token_count", "cacheReadInputTokens")


def usage_of(answer: Any) -> tuple[int, int, int]:
    """(prompt, of it cached, completion) tokens; of a stream's list of chunks what its last count says; else zeros."""
    if isinstance(answer, str | bytes | None):
        return 0, 0, 0
    if isinstance(answer, list | tuple):
        return next((usage for chunk in reversed(answer) if any(usage := _usage(chunk))), (0, 0, 0))
    return _usage(answer)


def model_in(answer: Any) -> str:
    """The model that an answer says it is of; empty if it says none."""
    for one in reversed(answer) if isinstance(answer, list | tuple) else (answer,):
        of = fields(one)
        of = of if of.get("message") is None else fields(of["message"])
        for place in (of, fields(of.get("response_metadata"))):
            named = next(
                (name for field in _MODELS if isinstance(name := place.get(field), str) and name), ""
            )
            if named:
                return named
    return ""


def _usage(answer: Any) -> tuple[int, int, int]:
    if isinstance(answer, str | bytes | None):
        return 0, 0, 0
    of = fields(answer)
    usage_fields = next((usage for name in USAGES if (usage := of.get(name)) is not None), None)
    if usage_fields is None:
        return _usage(of.get("message"))  # of LangChain's generations
    counts = fields(usage_fields)
    cached = _first(counts, _CACHED)
    for outer, inner in _DETAILS:
        cached = cached or _first(fields(counts.get(outer)), (inner,))
    prompt = _first(counts, _PROMPT)
    return max(prompt, cached), cached, _first(counts, _COMPLETION)


def _first(counts: Any, names: tuple[str, ...]) -> int:
    return next((n for name in names if isinstance(n := counts.get(name), int) and n > 0), 0)
