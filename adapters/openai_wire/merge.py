"""A stream's chunks as the whole answer that they would have been (OpenAI API reference, chat and completions)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .sse import NotAnAnswer

_TOP = ("id", "created", "model", "system_fingerprint", "service_tier")
_PADDING = "obfuscation"
"""Random letters by which OpenAI makes chunks of any text equally long."""
_KINDS = {"chat.completion.chunk": "chat.completion"}


def body_of(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole answer. Fields that no chunk had are left out, `usage` among them.

    Raises NotAnAnswer for chunks of another form than OpenAI's, of which only their server knows the whole.
    """
    body: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for name, value in chunk.items():
            if name == "choices":
                for place, choice in enumerate(listed(value)):
                    index = _place(choice, place)
                    _add_choice(choices.setdefault(index, {"index": index}), choice)
            elif name == "object":
                body["object"] = _KINDS.get(str(value), value) or body.get("object", "")
            elif name in _TOP:  # Azure's words on what its filter found bear "" and 0
                body[name] = body.get(name) or value
            elif value is not None and name != _PADDING:
                body[name] = value
    if not choices:
        raise NotAnAnswer("no choices")
    for choice in choices.values():
        choice.setdefault("finish_reason", None)
        if "message" in choice:
            _finish(choice["message"])
            choice.setdefault("logprobs", None)
    body["choices"] = [choices[index] for index in sorted(choices)]
    return body


def listed(value: Any) -> Sequence[Mapping[str, Any]]:
    """A list of objects, empty for null. Raises NotAnAnswer for anything else."""
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return value
    raise NotAnAnswer("something else in the place of a list of objects")


def fields(value: Any) -> Mapping[str, Any]:
    """An object, empty for null. Raises NotAnAnswer for anything else."""
    if value is None or isinstance(value, Mapping):
        return value or {}
    raise NotAnAnswer("something else in the place of an object")


def _place(part: Mapping[str, Any], place: int) -> int:
    """Which choice or call a piece belongs to; its place among its like where it does not say."""
    index = part.get("index")
    if index is None:
        return place
    if type(index) is not int:
        raise NotAnAnswer("an index that is no number")
    return index


def _add_choice(into: dict[str, Any], choice: Mapping[str, Any]) -> None:
    for name, value in choice.items():
        if name == "delta":
            _add_message(into.setdefault("message", {}), fields(value))
        elif name == "message":
            if "delta" in choice:  # Perplexity's, which says all so far beside each piece
                continue
            if "message" in into:
                raise NotAnAnswer("more than one message of a choice")
            _add_message(into.setdefault("message", {}), fields(value))
        elif name == "text":
            into["text"] = _longer(into.get("text", ""), value or "")
        elif name == "logprobs":
            if value is not None:
                into["logprobs"] = _joined(into.get("logprobs"), value)
        elif name != "index" and (value is not None or name not in into):
            into[name] = value


def _add_message(into: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if name == "tool_calls":
            calls = into.setdefault("tool_calls", {})
            for place, part in enumerate(listed(value)):
                _add_call(_begun(calls, _place(part, place), part), part)
        elif name == "role":
            into.setdefault("role", value)
        elif value is None:
            into.setdefault(name, None)
        elif isinstance(value, Mapping):
            if name == "audio" and _is_padded(into.get(name)) and value.get("data"):
                raise NotAnAnswer("sound in pieces that are encoded one by one")
            into[name] = _joined(into.get(name), value, once=("id", "name"))
        else:
            into[name] = _longer(into.get(name), value)


def _is_padded(sound: Any) -> bool:
    """Whether nothing can follow in Base64."""
    return str(fields(sound).get("data") or "").endswith("=")


def _longer(old: Any, new: Any) -> Any:
    """Texts and lists are joined, the last of everything else stays."""
    if not (isinstance(old, str | list) and isinstance(new, str | list)) or not old:
        return new
    if not new:
        return old
    if isinstance(old, str) is not isinstance(new, str):  # parts and words: Mistral's, where they think
        raise NotAnAnswer("text in one chunk and a list in another")
    return old + new  # type: ignore[operator]  # both of one class


Calls = dict[tuple[int, int], dict[str, Any]]
"""Tool calls by index, and by their order under it."""


def _begun(calls: Calls, index: int, part: Mapping[str, Any]) -> dict[str, Any]:
    """The call that a piece belongs to. Google's server gives calls that it sends whole one index; what has a name of
    its own and another id is another call. Some others repeat the id, or make up a new one for each piece."""
    last = max((at for of, at in calls if of == index), default=0)
    begun = calls.setdefault((index, last), {})
    if not (_name(begun) and _name(part)) or (part.get("id") and part["id"] == begun.get("id")):
        return begun
    if not (part.get("id") and begun.get("id")):
        raise NotAnAnswer("one tool call or two")
    return calls.setdefault((index, last + 1), {})


def _name(call: Mapping[str, Any]) -> Any:
    return fields(call.get("function") or call.get("custom")).get("name")


def _add_call(into: dict[str, Any], part: Mapping[str, Any]) -> None:
    """One piece of a tool call: id, type and name come once, arguments in pieces."""
    for name, value in part.items():
        if name == "index" or value is None:
            continue
        if name == "function" or name == "custom":
            into[name] = _joined(into.get(name), value, once=("name",))
        else:
            into.setdefault(name, value)


def _joined(old: Any, new: Any, once: tuple[str, ...] = ()) -> dict[str, Any]:
    """Two objects as one: texts and lists are joined, the last of everything else stays."""
    made = dict(fields(old))
    for name, value in fields(new).items():
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
