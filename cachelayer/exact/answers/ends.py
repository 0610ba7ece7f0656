"""Why a model's reply ended (`finish_reason`), translated to OpenAI's terms from those of other providers."""

from __future__ import annotations

from .fields import Fields, word

BROKEN = "error"
"""Why a reply ended that is no whole one."""
_ENDS = {
    **dict.fromkeys(("max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys((
        "safety", "image_safety", "language", "recitation", "blocklist", "prohibited_content", "spii", "error_toxic",
        "content_filtered", "guardrail_intervened",
    ), "content_filter"),
    **dict.fromkeys((
        "abort", "aborted", "cancelled", "canceled", "error_limit", "error", "other", "pause_turn",
        "malformed_function_call", "insufficient_system_resource",
    ), BROKEN),
}  # fmt: skip
"""What servers say in other words: Anthropic, Bedrock, Cohere, DeepSeek, Gemini, Mistral, SGLang, vLLM."""
_NAMES = ("finish_reason", "stop_reason", "done_reason", "stopReason")
"""The last two are Ollama's and Bedrock's."""


def end_of(told: str) -> str | None:
    """The word for what a server says; one that is not known is taken for an end like "stop". None for none."""
    return _ENDS.get(told.lower(), told) or None


def said_in(metadata: Fields) -> str:
    """What a message's metadata say of its end, in the words of its server; "" for nothing."""
    return next((told for name in _NAMES if (told := word(metadata, name))), "")
