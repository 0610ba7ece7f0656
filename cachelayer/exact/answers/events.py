"""Streams in the providers' own forms that say at their end why they ended: where nothing does, they were cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .fields import Fields, fields, word

_BEGIN = frozenset({"message_start", "message-start", "stream-start"})
"""The first events of Anthropic's streams, and of Cohere's in both versions."""
_RESPONSE_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def tells_its_end(events: Sequence[Any]) -> bool:
    """Whether these are events of Anthropic's, Bedrock's, Cohere's, Gemini's, Mistral's, Ollama's or OpenAI's Responses
    API. Of Ollama's that are whole it is not: older versions give no reason."""
    first = fields(events[0])
    kind = word(first, "type") or word(first, "event_type")
    if kind in _BEGIN or kind.startswith("response.") or "messageStart" in first:
        return True
    if "created_at" in first and type(first.get("done")) is bool:
        return fields(events[-1]).get("done") is False
    content = fields(_first(first, "candidates").get("content"))
    return "parts" in content or _first(fields(first.get("data")), "choices").get("delta") is not None


def response_in(events: Sequence[Any]) -> Fields | None:
    """The response of OpenAI's API that the last event brings; None where it is another event."""
    last = fields(events[-1])
    return fields(last.get("response")) if word(last, "type") in _RESPONSE_ENDS else None


def _first(of: Fields, name: str) -> Fields:
    held = of.get(name)
    return fields(held[0]) if isinstance(held, list) and held else {}
