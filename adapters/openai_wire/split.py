"""A whole answer as the stream that it would have been: role, text, tool calls, end, and usage where asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .merge import fields, listed
from .sse import NotAnAnswer

_KINDS = {"chat.completion": "chat.completion.chunk"}
_WHOLE = ("choices", "usage", "object")


def chunks_of(body: Mapping[str, Any], *, usage: bool = False) -> Iterator[dict[str, Any]]:
    """The chunks of a chat completion or completion, without [DONE].

    `usage`: end with the usage chunk (`stream_options.include_usage`), where the answer knows it; the others then
    say `null`. Raises NotAnAnswer for an answer of another form.
    """
    kind = body.get("object", "")
    top = {name: value for name, value in body.items() if name not in _WHOLE}
    head = {"id": top.pop("id", None), "object": _KINDS.get(str(kind), kind), **top}
    tail = {"usage": None} if usage else {}
    choices = listed(body.get("choices"))
    if not choices:
        raise NotAnAnswer("no choices")
    for choice in choices:
        parts = _chat(choice) if "message" in choice else [{**choice, "text": choice.get("text") or ""}]
        for part in parts:
            yield {**head, "choices": [part], **tail}
    if usage and body.get("usage") is not None:
        yield {**head, "choices": [], "usage": body["usage"]}


def _chat(choice: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    index = choice.get("index", 0)
    message = dict(fields(choice["message"]))
    logprobs = choice.get("logprobs")

    def part(delta: dict[str, Any], finish: Any = None) -> dict[str, Any]:
        nonlocal logprobs
        made = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        if logprobs is not None and ("content" in delta or "refusal" in delta) and "role" not in delta:
            made["logprobs"], logprobs = logprobs, None
        return made

    content, calls = message.pop("content", None), message.pop("tool_calls", None)
    opening = {"role": message.pop("role", "assistant"), "content": "" if content is not None else None}
    yield part(opening)
    for name, value in message.items():
        if value is not None:
            yield part({name: value})
    if content:
        yield part({"content": content})
    for place, call in enumerate(listed(calls)):
        yield part({"tool_calls": [{"index": place, **call}]})
    known = ("index", "message", "logprobs", "finish_reason")
    extra = {name: value for name, value in choice.items() if name not in known}
    end = {**part({}, choice.get("finish_reason")), **extra}
    if logprobs is not None:
        end["logprobs"] = logprobs
    yield end
