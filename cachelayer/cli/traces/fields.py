"""The fields of a trace's line: what they may be called, and how chat bodies and times are written."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Fault = Callable[[str, str, str], Exception]
"""(field, what is wrong, remedy) -> the error for this line."""

QUESTIONS = ("question", "text", "query", "prompt", "input", "q")
ANSWERS = ("answer", "response", "output", "completion", "outputs")
LABELS = ("label", "cls", "class", "intent")
TIMES = ("at", "time", "timestamp", "arrived")
BODIES = ("request", "body", "inputs")
_MILLISECONDS = 1e11
"""Unix times above this are in milliseconds, microseconds or nanoseconds: as seconds they would lie beyond the year
5138."""
_DATE = 8
"""Digits of a date, as in 20261121; a text of more is a number."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat body: (role, text) of the user's and assistant's messages, the last one the user's; and all else."""

    turns: list[tuple[str, str]]
    rest: str
    """Canonical JSON of what else decides the answer: system messages, model, tools, parameters."""
    said: str | None = None
    """What the assistant said after the user's last message, where the chat goes on to that."""


def first(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The first field that is there and not null."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def number(row: Mapping[str, Any], name: str, fault: Fault) -> float | None:
    """A number from 0 up, or None if the field is absent."""
    value = row.get(name)
    if value is None:
        return None
    finite = _finite(value)
    if finite is None or finite < 0:
        raise fault(
            name, f"{value!r} is not a number of at least 0", "give seconds (latency) or a count (tokens)"
        )
    return finite


def _finite(value: Any) -> float | None:
    """A number of JSON; None for what is none, or is beyond all bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    with suppress(OverflowError):
        return float(value) if math.isfinite(value) else None
    return None


def arrival(row: Mapping[str, Any], fault: Fault) -> float | None:
    """Arrival in Unix seconds, from seconds or fractions of them or ISO 8601; None if no field tells."""
    name = next((name for name in TIMES if row.get(name) is not None), None)
    if name is None:
        return None
    value = row[name]
    if (number := _finite(_digits(value))) is not None:
        while number > _MILLISECONDS:
            number /= 1000.0
        return number
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            pass
    raise fault(
        name, f"{value!r} is not a time", "give Unix seconds or ISO 8601, such as 2026-11-21T13:00:00Z"
    )


def _digits(value: Any) -> Any:
    """The number that a text spells, where it is no date; else the value as it is."""
    if isinstance(value, str) and len(value.partition(".")[0]) > _DATE:
        with suppress(ValueError):
            return float(value)
    return value


def answer_of(row: Mapping[str, Any]) -> str | None:
    """The answer's text: a text, an OpenAI-style response body or message, a field of an object, or JSON as it is; None
    where there is none, or an OpenAI-style error."""
    value = first(row, ANSWERS)
    if value is None or isinstance(value, str):
        return value
    body = value.get("body", value) if isinstance(value, dict) else value
    if isinstance(body, dict):
        if isinstance(body.get("error"), dict):
            return None
        choices = body.get("choices")
        message = choices[0] if isinstance(choices, list) and choices else None
        message = message.get("message") if isinstance(message, dict) else body
        said = first(message, ("content", *ANSWERS)) if isinstance(message, dict) else None
        if isinstance(said, str):
            return said
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def asked_of(row: Mapping[str, Any]) -> tuple[Any, str]:
    """What was asked, where it is no chat: the field's value, and as JSON what else is in the body that holds it."""
    text = first(row, QUESTIONS)
    bodies = (row[name] for name in BODIES if isinstance(row.get(name), dict))
    for body in bodies if text is None else ():
        for name in QUESTIONS:
            if isinstance(body.get(name), str):
                rest = {k: v for k, v in body.items() if k != name}
                return body[name], json.dumps(rest, sort_keys=True) if rest else ""
    return text, ""


def chat_of(row: Mapping[str, Any], fault: Fault) -> Chat | None:
    """The chat body in a line, or None if it holds none."""
    body = body_of(row)
    messages = messages_of(body)
    if messages is None:
        return None
    if not isinstance(messages, list) or not messages:
        raise fault(
            "messages", "no list of messages", "give OpenAI-style messages, the user's last one at the end"
        )
    turns: list[tuple[str, str]] = []
    known = ("messages", "input")
    rest: list[Any] = [] if body is row else [{k: v for k, v in body.items() if k not in known}]
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        text = _content(message.get("content")) if isinstance(message, dict) else None
        if not isinstance(role, str) or text is None:
            raise fault(
                "messages", f"{reprlib.repr(message)} lacks a role or a text",
                "give role and content of every message, or say --field question=PATH",
            )  # fmt: skip
        if role in ("user", "assistant"):
            turns.append((role, text))
        else:
            rest.append([role, text])
    said = turns.pop()[1] if answered(messages, row) else None
    if not turns or turns[-1][0] != "user" or not turns[-1][1].strip():
        raise fault(
            "messages", "the last message is not a user's text", "end every chat with what the user asked"
        )
    return Chat(turns, json.dumps(rest, sort_keys=True), said)


def body_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """What holds the messages: the body of a request in the row, or the row."""
    bodies = (row[name] for name in BODIES if isinstance(row.get(name), dict))
    return next((body for body in bodies if messages_of(body) is not None), row)


def messages_of(body: Mapping[str, Any]) -> Any:
    """The messages; `input` may hold them as well, as for OpenAI's responses."""
    given = body.get("input")
    return body.get("messages", given if isinstance(given, list) else None)


def answered(messages: Sequence[Any], row: Mapping[str, Any]) -> bool:
    """Whether a chat ends with the answer itself, as those that models are fitted to do."""
    last = messages[-1]
    return isinstance(last, dict) and last.get("role") == "assistant" and first(row, ANSWERS) is None


def _content(content: Any) -> str | None:
    """A message's text, or of its parts the texts, one a line."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(t for t in texts if isinstance(t, str)) if len(texts) == len(parts) and parts else None
