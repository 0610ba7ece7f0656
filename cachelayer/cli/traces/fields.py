"""The fields of a trace's line: what they may be called, and how chat bodies and times are written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Fault = Callable[[str, str, str], Exception]
"""(field, what is wrong, remedy) -> the error for this line."""

ANSWERS = ("answer", "response", "output", "completion")
TIMES = ("at", "time", "timestamp", "arrived")
BODIES = ("request", "body")
_MILLISECONDS = 1e11
"""Unix times above this are in milliseconds: as seconds they would lie beyond the year 5138."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat body: (role, text) of the user's and assistant's messages, the last one the user's; and all else."""

    turns: list[tuple[str, str]]
    rest: str
    """Canonical JSON of what else decides the answer: system messages, model, tools, parameters."""


def first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first field that is there and not null."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def number(row: Mapping[str, Any], name: str, fault: Fault) -> float | None:
    """A number from 0 up, or None where the field is absent."""
    value = row.get(name)
    if value is None:
        return None
    told = _finite(value)
    if told is None or told < 0:
        raise fault(
            name, f"{value!r} is not a number of at least 0", "give seconds (latency) or a count (tokens)"
        )
    return told


def _finite(value: Any) -> float | None:
    """A number of JSON; None for what is none, or is beyond all bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    with suppress(OverflowError):
        return float(value) if math.isfinite(value) else None
    return None


def arrival(row: Mapping[str, Any], fault: Fault) -> float | None:
    """Arrival in Unix seconds, from seconds, milliseconds or ISO 8601; None where no field tells."""
    name = next((name for name in TIMES if row.get(name) is not None), None)
    if name is None:
        return None
    value = row[name]
    if (told := _finite(value)) is not None:
        return told / 1000.0 if told > _MILLISECONDS else told
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            pass
    raise fault(
        name, f"{value!r} is not a time", "give Unix seconds or ISO 8601, such as 2026-11-21T13:00:00Z"
    )


def answer_of(row: Mapping[str, Any]) -> str | None:
    """The answer's text: a text, an OpenAI-style response body, or JSON as it is."""
    value = first(row, ANSWERS)
    if value is None or isinstance(value, str):
        return value
    body = value.get("body", value) if isinstance(value, dict) else value
    if isinstance(body, dict) and isinstance(choices := body.get("choices"), list) and choices:
        message = choices[0].get("message") if isinstance(choices[0], dict) else None
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            return str(message["content"])
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def chat_of(row: Mapping[str, Any], fault: Fault) -> Chat | None:
    """The chat body in a line, or None where it holds none."""
    body = next((row[b] for b in BODIES if isinstance(row.get(b), dict) and "messages" in row[b]), row)
    messages = body.get("messages")
    if messages is None:
        return None
    if not isinstance(messages, list) or not messages:
        raise fault(
            "messages", "no list of messages", "give OpenAI-style messages, the user's last one at the end"
        )
    turns: list[tuple[str, str]] = []
    rest: list[Any] = [] if body is row else [{k: v for k, v in body.items() if k != "messages"}]
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        text = _content(message.get("content")) if isinstance(message, dict) else None
        if not isinstance(role, str) or text is None:
            raise fault(
                "messages", f"{message!r} lacks a role or a text", "give role and content of every message"
            )
        if role in ("user", "assistant"):
            turns.append((role, text))
        else:
            rest.append([role, text])
    if not turns or turns[-1][0] != "user" or not turns[-1][1].strip():
        raise fault(
            "messages", "the last message is not a user's text", "end every chat with what the user asked"
        )
    return Chat(turns, json.dumps(rest, sort_keys=True))


def _content(content: Any) -> str | None:
    """A message's text, or of its parts the texts, one a line."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(t for t in texts if isinstance(t, str)) if len(texts) == len(parts) and parts else None
