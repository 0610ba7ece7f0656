"""Reads what models answer: OpenAI chat, completions and responses bodies, Anthropic messages, LangChain messages;
as dicts or as objects with attributes, whole or as the list of a stream's chunks."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass(slots=True)
class Reply:
    """What a model's answer says, wherever the format keeps it."""

    texts: dict[int, list[str]] = field(default_factory=dict)
    """Pieces of text by choice."""
    ends: dict[int, str | None] = field(default_factory=dict)
    """Why each choice ended, in OpenAI's words; None where it did not say."""
    calls: list[Any] = field(default_factory=list)
    """Tool calls, or their pieces."""
    tokens: int = 0
    refused: bool = False
    failed: bool = False
    other: bool = False
    """Audio, images or the like are part of the answer."""
    streamed: bool = False

    @property
    def text(self) -> str:
        return "\n".join("".join(pieces) for _, pieces in sorted(self.texts.items()))

    @property
    def blank(self) -> bool:
        return not (self.calls or self.other or self.text.strip())


_ENDS = {"max_tokens": "length", "max_output_tokens": "length", "end_turn": "stop", "stop_sequence": "stop"}


def get(thing: Any, name: str) -> Any:
    """A field of a dict or an object, else None. Runs no code of the object's class."""
    if isinstance(thing, dict):
        return thing.get(name)
    held = getattr(thing, "__dict__", None)
    if isinstance(held, dict) and name in held:
        return held[name]
    cls = type(thing)
    extra = getattr(cls, "__pydantic_extra__", None)
    if isinstance(extra, types.MemberDescriptorType):
        more = extra.__get__(thing)
        return more.get(name) if more else None
    slot = getattr(cls, name, None)
    return getattr(thing, name, None) if isinstance(slot, types.MemberDescriptorType) else None


def read(answer: Any) -> Reply | None:
    """What `answer` says, or None where it looks like nothing that a model's API returns."""
    if isinstance(answer, list | tuple):
        return _read_stream(answer) if answer and _is_chunk(answer[0]) else None
    reply = Reply()
    if isinstance(choices := get(answer, "choices"), list):
        _read_choices(reply, choices)
    elif isinstance(output := get(answer, "output"), list) and get(answer, "object") == "response":
        _read_response(reply, answer, output)
    elif isinstance(get(answer, "role"), str) or isinstance(get(answer, "response_metadata"), dict):
        _read_message(reply, answer)
    elif not _is_error(answer):
        return None
    reply.failed = reply.failed or _is_error(answer)
    reply.tokens = _tokens(answer)
    return reply


def _is_error(answer: Any) -> bool:
    if isinstance(answer, BaseException) or (isinstance(answer, dict) and get(answer, "object") == "error"):
        return True
    error = get(answer, "error")
    if isinstance(error, dict):
        return bool(error)
    return bool(error) and isinstance(answer, dict) and (isinstance(error, str) or get(error, "message") is not None)


def _tokens(answer: Any) -> int:
    usage = get(answer, "usage") or get(answer, "usage_metadata")
    for names in (("total_tokens",), ("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
        counts = [n for name in names if isinstance(n := get(usage, name), int)]
        if counts:
            return max(0, sum(counts))
    return 0


def _is_chunk(first: Any) -> bool:
    kind, choices = get(first, "object"), get(first, "choices")
    if isinstance(kind, str) and kind.endswith(".chunk"):
        return True
    if not isinstance(choices, list):
        return False
    delta = choices and get(choices[0], "delta") is not None
    return bool(delta) or kind == "text_completion"


def _read_stream(chunks: Iterable[Any]) -> Reply:
    reply = Reply(streamed=True)
    for chunk in chunks:
        if isinstance(choices := get(chunk, "choices"), list):
            _read_choices(reply, choices)
        reply.failed = reply.failed or _is_error(chunk)
        reply.tokens = _tokens(chunk) or reply.tokens
    return reply


def _read_choices(reply: Reply, choices: list[Any]) -> None:
    for place, choice in enumerate(choices):
        index = i if isinstance(i := get(choice, "index"), int) else place
        message = get(choice, "message") or get(choice, "delta")
        _read_body(reply, index, message if message is not None else choice)
        _end(reply, index, get(choice, "finish_reason"))


def _end(reply: Reply, index: int, reason: Any) -> None:
    if isinstance(reason, str) or index not in reply.ends:
        reply.ends[index] = _ENDS.get(reason, reason) if isinstance(reason, str) else None
    reply.refused = reply.refused or reason == "refusal"


def _read_body(reply: Reply, index: int, message: Any) -> None:
    pieces = reply.texts.setdefault(index, [])
    for name in ("content", "text"):
        content = get(message, name)
        if isinstance(content, str):
            pieces.append(content)
        elif isinstance(content, list):
            _read_parts(reply, pieces, content)
    extra = get(message, "additional_kwargs")
    reply.refused = reply.refused or bool(get(message, "refusal") or get(extra, "refusal"))
    for name in ("tool_calls", "function_call"):
        calls = get(message, name)
        if calls:
            reply.calls += calls if isinstance(calls, list) else [calls]
    reply.other = reply.other or any(get(message, name) for name in ("audio", "images"))


def _read_parts(reply: Reply, pieces: list[str], parts: list[Any]) -> None:
    for part in parts:
        kind, text = get(part, "type"), get(part, "text")
        if isinstance(part, str) or isinstance(text, str):
            pieces.append(part if isinstance(part, str) else text)
        elif kind == "tool_use":
            reply.calls.append(part)
        elif kind == "refusal":
            reply.refused = True
        elif kind not in ("thinking", "reasoning", "redacted_thinking"):
            reply.other = True


def _read_message(reply: Reply, message: Any) -> None:
    _read_body(reply, 0, message)
    told = get(message, "response_metadata")
    _end(reply, 0, get(message, "stop_reason") or get(told, "finish_reason") or get(told, "stop_reason"))


def _read_response(reply: Reply, answer: Any, output: list[Any]) -> None:
    """The body of OpenAI's Responses API."""
    pieces = reply.texts.setdefault(0, [])
    for item in output:
        kind = get(item, "type")
        if kind == "message":
            _read_parts(reply, pieces, get(item, "content") or [])
        elif isinstance(kind, str) and kind.endswith("_call"):
            reply.calls.append(item)
    status = get(answer, "status")
    reply.failed = status == "failed"
    if status == "incomplete":
        _end(reply, 0, get(get(answer, "incomplete_details"), "reason") or "length")
    elif status in ("in_progress", "queued", "cancelled"):
        reply.streamed = True  # not ended: as a stream without its last chunk
        _end(reply, 0, None)


def canonical(value: Any) -> str | None:
    """JSON with sorted keys, or None where `value` has no such form or it exceeds 64 KiB."""
    try:
        text = orjson.dumps(
            value,
            default=_plain,
            option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY,
        )
    except (orjson.JSONEncodeError, RecursionError):
        return None
    return text.decode() if len(text) <= 65536 else None


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(held := getattr(value, "__dict__", None), dict):
        return held
    return str(value) if type(value).__module__ in ("decimal", "numpy", "fractions") else _none(value)


def _none(value: Any) -> Any:
    raise TypeError(type(value).__qualname__)
