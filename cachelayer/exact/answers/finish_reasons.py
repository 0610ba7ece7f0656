"""Why a model's reply ended (`finish_reason`), translated to OpenAI's terms from those of other providers."""

from __future__ import annotations

from collections.abc import Iterator

from .fields import Fields, fields, word

BROKEN = "error"
"""The finish reason of a reply that broke off."""
_ENDS = {
    **dict.fromkeys((
        "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "continuation",
    ), "length"),
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys((
        "safety", "image_safety", "language", "recitation", "blocklist", "prohibited_content", "spii", "error_toxic",
        "content_filtered", "guardrail_intervened", "image_prohibited_content", "image_recitation", "model_armor",
        "escalation", "pup_limited_disabled",
    ), "content_filter"),
    **dict.fromkeys((
        "abort", "aborted", "cancelled", "canceled", "error_limit", "error", "other", "pause_turn",
        "malformed_function_call", "malformed_response", "malformed_model_output", "malformed_tool_use", "timeout",
        "unexpected_tool_call", "too_many_tool_calls", "missing_thought_signature", "image_other", "no_image",
        "insufficient_system_resource", "user_cancel",
    ), BROKEN),
}  # fmt: skip
"""Other servers' words for OpenAI's: Anthropic, Bedrock, Cohere, DeepSeek, Gemini, Mistral, SGLang, vLLM."""
_NAMES = ("finish_reason", "stop_reason", "done_reason", "stopReason", "finishReason")
"""The last three are Ollama's, Bedrock's and Gemini's on the wire."""
BESIDE = frozenset({"message", "output", "response", "text"})
FEEDBACK = (("prompt_feedback", "block_reason"), ("promptFeedback", "blockReason"))
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
    if any(word(fields(of.get(feedback)), reason) for feedback, reason in FEEDBACK):
        yield "content_filter"
    if not BESIDE.isdisjoint(of) and (reason := said_in(of)):
        yield reason
    for held in map(of.get, _INSIDE):
        parts = held if isinstance(held, list) and len(held) <= _FEW else [held]
        for inner in filter(None, map(fields, parts)):
            if reason := said_in(inner):
                yield reason
            elif depth > 1:
                yield from said_within(inner, depth - 1)
