"""Reads what models answer, as dicts or as objects, whole or as the list of a stream's chunks.

Known are OpenAI's chat, completions and responses bodies, Anthropic's messages, LangChain's messages.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass(slots=True)
class Call:
    """A tool call, put together from its pieces; its arguments as JSON text or already parsed."""

    name: str = ""
    text: str = ""
    arguments: Any = None

    def plain(self) -> list[Any]:
        """[name, arguments], the arguments parsed where they can be."""
        if self.arguments is not None:
            return [self.name, self.arguments]
        try:
            return [self.name, orjson.loads(self.text)]
        except orjson.JSONDecodeError:
            return [self.name, self.text]


@dataclass(slots=True)
class Reply:
    """What a model's answer says, wherever the format keeps it."""

    texts: dict[int, list[str]] = field(default_factory=dict)
    """Pieces of text by choice."""
    ends: dict[int, str | None] = field(default_factory=dict)
    """Why each choice ended, in OpenAI's words; None where it did not say."""
    calls: dict[tuple[int, int], Call] = field(default_factory=dict)
    """Tool calls by choice and place."""
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
        return dict.get(thing, name)
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


def word(thing: Any, name: str) -> str:
    """A field that is text, else ''."""
    found = get(thing, name)
    return found if isinstance(found, str) else ""


def given(thing: Any, name: str) -> bool:
    """Whether a field holds something; nothing is asked of objects but whether they are there."""
    found = get(thing, name)
    return bool(found) if isinstance(found, str | list | dict | tuple | bool | int) else found is not None


def read(answer: Any) -> Reply | None:
    """What `answer` says, or None where it looks like nothing that a model's API returns."""
    if isinstance(answer, list | tuple):
        if answer and _is_generation(answer[0]):
            return _read_generations(answer)
        return _read_stream(answer) if any(map(_is_chunk, answer[:3])) else None
    if isinstance(made := get(answer, "generations"), list):
        reply = _read_generations([x for part in made for x in (part if isinstance(part, list) else [part])])
        reply.tokens = reply.tokens or _tokens(get(answer, "llm_output"))
        return reply
    reply = Reply()
    if _has_choices(answer):
        _read_choices(reply, get(answer, "choices"))
    elif word(answer, "object") == "response" and isinstance(output := get(answer, "output"), list):
        _read_response(reply, answer, output)
    elif _is_message(answer):
        _read_message(reply, answer)
    elif not _is_error(answer):
        return None
    reply.failed = reply.failed or _is_error(answer)
    reply.tokens = _tokens(answer)
    return reply


def _has_choices(answer: Any) -> bool:
    choices = get(answer, "choices")
    if not isinstance(choices, list):
        return False
    if not choices:
        return word(answer, "object").startswith(("chat.", "text_completion"))
    return any(get(choices[0], name) is not None for name in ("message", "delta", "finish_reason"))


def _is_message(answer: Any) -> bool:
    """A message of Anthropic's API or of LangChain."""
    if get(answer, "content") is None:
        return False
    return word(answer, "role") == "assistant" or isinstance(get(answer, "response_metadata"), dict)


def _is_generation(thing: Any) -> bool:
    """One of LangChain's Generation classes."""
    return word(thing, "type") in ("Generation", "GenerationChunk", "ChatGeneration", "ChatGenerationChunk")


def _read_generations(generations: list[Any] | tuple[Any, ...]) -> Reply:
    reply = Reply()
    for index, generation in enumerate(generations):
        message = get(generation, "message")
        _read_message(reply, generation if message is None else message, index)
        _end(reply, index, word(get(generation, "generation_info"), "finish_reason"))
        reply.tokens += _tokens(message)
    return reply


def _is_error(answer: Any) -> bool:
    if isinstance(answer, BaseException):
        return True
    error = get(answer, "error")
    if isinstance(error, str):
        return bool(error) and isinstance(answer, dict)
    told = any(get(error, name) is not None for name in ("message", "code", "type"))
    return told or (isinstance(answer, dict) and word(answer, "object") == "error")


def _tokens(answer: Any) -> int:
    told = [name for name in ("usage", "usage_metadata", "token_usage") if given(answer, name)]
    usage = get(answer, told[0]) if told else None
    for names in (
        ("total_tokens",),
        ("prompt_tokens", "completion_tokens"),
        ("input_tokens", "output_tokens"),
    ):
        counts = [n for name in names if isinstance(n := get(usage, name), int)]
        if counts:
            return max(0, sum(counts))
    return 0


def _is_chunk(first: Any) -> bool:
    kind = word(first, "object")
    if kind.endswith(".chunk") or kind == "text_completion":
        return True
    if word(first, "type") == "AIMessageChunk":
        return True
    choices = get(first, "choices")
    return isinstance(choices, list) and bool(choices) and get(choices[0], "delta") is not None


def _read_stream(chunks: Iterable[Any]) -> Reply:
    reply = Reply(streamed=True)
    for chunk in chunks:
        if isinstance(choices := get(chunk, "choices"), list):
            _read_choices(reply, choices)
        elif _is_message(chunk):
            _read_message(reply, chunk)
            reply.streamed = False  # not every provider behind LangChain says how a stream ended
        reply.failed = reply.failed or _is_error(chunk)
        reply.tokens = _tokens(chunk) or reply.tokens
    return reply


def _read_choices(reply: Reply, choices: list[Any]) -> None:
    for place, choice in enumerate(choices):
        index = i if isinstance(i := get(choice, "index"), int) else place
        message = get(choice, "message" if given(choice, "message") else "delta")
        _read_body(reply, index, message if message is not None else choice)
        _end(reply, index, word(choice, "finish_reason"))


def _end(reply: Reply, index: int, reason: str) -> None:
    if reason or index not in reply.ends:
        reply.ends[index] = _ENDS.get(reason, reason) or None
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
    reply.refused = reply.refused or given(message, "refusal") or given(extra, "refusal")
    called = get(message, "tool_calls" if given(message, "tool_calls") else "function_call")
    called = [] if called is None else called
    for place, call in enumerate(called if isinstance(called, list) else [called]):
        _read_call(reply, index, place, call)
    reply.other = reply.other or any(given(message, name) for name in ("audio", "images"))


def _read_call(reply: Reply, index: int, place: int, call: Any) -> None:
    function = get(call, "function") if given(call, "function") else call
    at = i if isinstance(i := get(call, "index"), int) else place
    made = reply.calls.setdefault((index, at), Call())
    if isinstance(name := get(function, "name"), str):
        made.name += name
    for name in ("arguments", "args", "input"):
        passed = get(function, name)
        if isinstance(passed, str):
            made.text += passed
        elif passed is not None:
            made.arguments = passed


def _read_parts(reply: Reply, pieces: list[str], parts: list[Any]) -> None:
    for part in parts:
        kind, text = word(part, "type"), get(part, "text")
        if isinstance(part, str) or isinstance(text, str):
            pieces.append(part if isinstance(part, str) else str(text))
        elif kind == "tool_use":
            _read_call(reply, 0, len(reply.calls), part)
        elif kind == "refusal":
            reply.refused = True
        elif kind not in ("thinking", "reasoning", "redacted_thinking"):
            reply.other = True


def _read_message(reply: Reply, message: Any, index: int = 0) -> None:
    _read_body(reply, index, message)
    told = get(message, "response_metadata")
    _end(
        reply, index, word(message, "stop_reason") or word(told, "finish_reason") or word(told, "stop_reason")
    )


def _read_response(reply: Reply, answer: Any, output: list[Any]) -> None:
    """The body of OpenAI's Responses API."""
    pieces = reply.texts.setdefault(0, [])
    for item in output:
        kind, content = word(item, "type"), get(item, "content")
        if kind == "message" and isinstance(content, list):
            _read_parts(reply, pieces, content)
        elif kind.endswith("_call"):
            _read_call(reply, 0, len(reply.calls), item)
    status = word(answer, "status")
    reply.failed = status == "failed"
    if status == "incomplete":
        _end(reply, 0, word(get(answer, "incomplete_details"), "reason") or "length")
    elif status in ("in_progress", "queued", "cancelled"):
        reply.streamed = True  # not ended: as a stream without its last chunk
        _end(reply, 0, "")
