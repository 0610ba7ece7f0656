"""Why a model's reply ended (`finish_reason`), translated to OpenAI's terms from those of other providers; and whether
it says anything, in their own forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .fields import Fields, fields, word

BROKEN = "error"
"""The finish reason of a reply that broke off."""
_ENDS = {
    **dict.fromkeys(("max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys((
        "safety", "image_safety", "language", "recitation", "blocklist", "prohibited_content", "spii", "error_toxic",
        "content_filtered", "guardrail_intervened", "image_prohibited_content", "image_recitation", "model_armor",
    ), "content_filter"),
    **dict.fromkeys((
        "abort", "aborted", "cancelled", "canceled", "error_limit", "error", "other", "pause_turn",
        "malformed_function_call", "malformed_response", "malformed_model_output", "malformed_tool_use", "timeout",
        "unexpected_tool_call", "too_many_tool_calls", "missing_thought_signature", "image_other", "no_image",
        "insufficient_system_resource",
    ), BROKEN),
}  # fmt: skip
"""Other servers' words for OpenAI's: Anthropic, Bedrock, Cohere, DeepSeek, Gemini, Mistral, SGLang, vLLM."""
_NAMES = ("finish_reason", "stop_reason", "done_reason", "stopReason", "finishReason")
"""The last three are Ollama's, Bedrock's and Gemini's on the wire."""
_BESIDE = frozenset({"message", "output", "response", "text"})
_CONTENT = ("content", "tool_calls", "search_queries", *_BESIDE)
_NO_WORD = frozenset({"role", "type", "index", "thinking"})
_FEEDBACK = (("prompt_feedback", "block_reason"), ("promptFeedback", "blockReason"))
"""Where Gemini says that it blocked the question; such an answer has no candidates."""
_FEW = 16
_INSIDE = ("candidates", "choices", "data", "delta", "messageStop")
"""Where Gemini, Mistral's, Anthropic's and Cohere's events, and Bedrock's say it."""


def end_of(reason: str) -> str | None:
    """OpenAI's word for a server's finish reason, unknown ones as they are (they count as "stop"); None for ''."""
    return _ENDS.get(reason.lower(), reason) or None


def said_in(metadata: Fields) -> str:
    """The finish reason in a message's metadata, in its server's own words; '' if there is none."""
    return next((reason for name in _NAMES if (reason := word(metadata, name))), "")


def said_within(of: Fields, depth: int = 2) -> Iterator[str]:
    """The finish reasons that an answer in a provider's own form, or an event of its stream, says beside its text or
    where such forms have it: not any field of that name."""
    if any(word(fields(of.get(feedback)), reason) for feedback, reason in _FEEDBACK):
        yield "content_filter"
    if not _BESIDE.isdisjoint(of) and (reason := said_in(of)):
        yield reason
    for held in map(of.get, _INSIDE):
        parts = held if isinstance(held, list) and len(held) <= _FEW else [held]
        for inner in filter(None, map(fields, parts)):
            if reason := said_in(inner):
                yield reason
            elif depth > 1:
                yield from said_within(inner, depth - 1)


def unanswered(of: Fields) -> bool:
    """Whether this is an answer of Gemini's without a candidate."""
    return "candidates" in of and not of["candidates"] and any(name in of for name, _ in _FEEDBACK)


def silent(of: Fields) -> bool:
    """Whether an answer in a provider's own form has a place for what it says, and nothing is there."""
    candidates = of.get("candidates")
    places = [of, *map(fields, candidates)] if isinstance(candidates, list) else [of]
    held = [place[name] for place in places for name in _CONTENT if name in place]
    return bool(held or len(places) > 1 or unanswered(of)) and not any(map(_says, held))


def _says(value: Any, depth: int = 8) -> bool:
    """Whether anything is in there but blank text and what only goes with text."""
    if value is None or isinstance(value, str | bool):
        return isinstance(value, str) and bool(value.strip())
    parts = value
    if not isinstance(value, list | tuple):
        of = fields(value)
        if not of:
            return not isinstance(value, dict)
        parts = [held for name, held in of.items() if name not in _NO_WORD]
    return depth == 0 or any(_says(part, depth - 1) for part in parts)
