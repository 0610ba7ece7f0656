"""The token counts that an answer reports, in the words of every provider whose answers are read."""

from __future__ import annotations

from typing import Any

from .fields import Fields, fields

_MODELS = ("model", "model_name", "model_id")
_USAGES = ("usage", "usage_metadata", "usageMetadata", "token_usage")
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_token_count", "promptTokenCount", "inputTokens",
           "prompt_eval_count")  # fmt: skip
_COMPLETION = ("completion_tokens", "output_tokens", "candidates_token_count", "candidatesTokenCount", "outputTokens",
               "eval_count")  # fmt: skip
_DETAILS = (("prompt_tokens_details", "cached_tokens"), ("input_tokens_details", "cached_tokens"),
            ("input_token_details", "cache_read"))  # fmt: skip
_CACHED = ("cache_read_input_tokens", "cached_tokens", "cached_content_token_count", "cachedContentTokenCount",
           "cacheReadInputTokens")  # fmt: skip


def counts_of(of: Fields, within: tuple[str, ...] = ("message", "delta", "response")) -> Fields:
    """What an answer says of its tokens, in its provider's words; generations and events do `within`."""
    if "prompt_eval_count" in of:  # Ollama's
        return of
    usage = next((usage for name in _USAGES if (usage := of.get(name)) is not None), None)
    usage = of.get("meta") if usage is None and "finish_reason" in of else usage  # of Cohere's first version
    if usage is None:
        return next((counts for name in within if (counts := counts_of(fields(of.get(name)), ()))), {})
    counts = fields(usage)
    return fields(counts.get("tokens")) or counts


def counts_in(answer: Any) -> Fields:
    """The same of a stream's list of chunks, too: of the last that counts, and beside that of the first: Anthropic's
    streams say there alone how long the prompt was."""
    if not isinstance(answer, list | tuple):
        return counts_of(fields(answer))
    last = next((counts for chunk in reversed(answer) if (counts := _told(chunk))), {})
    return {**_told(answer[0]), **last} if last else last


def _told(chunk: Any) -> Fields:
    counts = counts_of(fields(chunk))
    told = any(map(number, counts.values()))
    return {name: count for name, count in counts.items() if count is not None} if told else {}


def number(count: Any) -> int:
    """A count, which Cohere's client has as a float; 0 for what is none."""
    return int(count) if isinstance(count, int | float) and 0 < count < 2**63 else 0


def usage_of(answer: Any) -> tuple[int, int, int]:
    """(prompt, of it cached, completion) tokens; zeros for what says nothing of them."""
    counts = counts_in(answer)
    cached = _first(counts, _CACHED)
    for outer, inner in _DETAILS:
        cached = cached or _first(fields(counts.get(outer)), (inner,))
    prompt = _first(counts, _PROMPT)
    return max(prompt, cached), cached, _first(counts, _COMPLETION)


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


def _first(counts: Any, names: tuple[str, ...]) -> int:
    return next((n for name in names if (n := number(counts.get(name)))), 0)
