"""A stream's chunks as the whole answer that they would have been (OpenAI API reference, chat and completions)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_TOP = ("id", "created", "model", "system_fingerprint", "service_tier")
_PADDING = "obfuscation"
"""Random letters by which OpenAI makes chunks of any text equally long."""
_KINDS = {"chat.completion.chunk": "chat.completion"}


def body_of(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole answer. Fields that no chunk had are left out, `usage` among them."""
    body: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for name, value in chunk.items():
            if name == "choices":
                for place, choice in enumerate(value or ()):
                    index = choice.get("index", place)
                    _add_choice(choices.setdefault(index, {"index": index}), choice)
            elif name == "object":
                body["object"] = _KINDS.get(value, value) or body.get("object", "")
            elif name in _TOP:  # Azure's words on what its filter found bear "" and 0
                body[name] = body.get(name) or value
            elif value is not None and name != _PADDING:
                body[name] = value
    for choice in choices.values():
        choice.setdefault("finish_reason", None)
        if "message" in choice:
            _finish(choice["message"])
            choice.setdefault("logprobs", None)
    body["choices"] = [choices[index] for index in sorted(choices)]
    return body


def _add_choice(into: dict[str, Any], choice: Mapping[str, Any]) -> None:
    for name, value in choice.items():
        if name == "delta":
            _add_message(into.setdefault("message", {}), value or {})
        elif name == "text":
            into["text"] = into.get("text", "") + (value or "")
        elif name == "logprobs":
            if value is not None:
                into["logprobs"] = _joined(into.get("logprobs"), value)
        elif name != "index" and (value is not None or name not in into):
            into[name] = value


def _add_message(into: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if name == "tool_calls":
            calls = into.setdefault("tool_calls", {})
            for place, part in enumerate(value or ()):
                _add_call(calls.setdefault(part.get("index", place), {}), part)
        elif name == "role":
            into.setdefault("role", value)
        elif value is None:
            into.setdefault(name, None)
        elif isinstance(value, Mapping):
            into[name] = _joined(into.get(name), value)
        else:
            into[name] = _longer(into.get(name), value)


def _longer(old: Any, new: Any) -> Any:
    """Texts and lists are joined, the last of everything else stays."""
    if (isinstance(new, str) and isinstance(old, str)) or (isinstance(new, list) and isinstance(old, list)):
        return old + new  # type: ignore[operator]  # both of one class
    return new


def _add_call(into: dict[str, Any], part: Mapping[str, Any]) -> None:
    """One piece of a tool call: id, type and name come once, arguments in pieces."""
    for name, value in part.items():
        if name == "index" or value is None:
            continue
        if name == "function" or name == "custom":
            into[name] = _joined(into.get(name), value, once=("name",))
        else:
            into.setdefault(name, value)


def _joined(old: Any, new: Mapping[str, Any], once: tuple[str, ...] = ()) -> dict[str, Any]:
    """Two objects as one: texts and lists are joined, the last of everything else stays."""
    made = dict(old or {})
    for name, value in new.items():
        had = made.get(name)
        if name not in once:
            made[name] = had if value is None else _longer(had, value)
        elif not had:
            made[name] = value
    return made


def _finish(message: dict[str, Any]) -> None:
    calls = message.get("tool_calls")
    if calls is not None:
        message["tool_calls"] = [calls[place] for place in sorted(calls)]
        if not calls:
            del message["tool_calls"]
    message.setdefault("role", "assistant")
    if not message.get("content") and (message.get("tool_calls") or message.get("function_call")):
        message["content"] = None
    message.setdefault("content", None)
