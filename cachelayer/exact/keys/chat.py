"""What identifies a request in OpenAI's wire form, and what part of it is compared by meaning. Pure.

Fields that do not change the answer are left out, defaults are filled in by leaving them out too, and null means
absent. Source: the OpenAI API reference for chat completions, completions, embeddings and transcriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...types import Turn
from ..answers.fields import absent
from .canonical import Tree, tree
from .normalize import Fold

IRRELEVANT = frozenset({
    "user", "safety_identifier", "metadata", "service_tier", "prompt_cache_key", "prompt_cache_retention", "timeout",
    "request_id",
})  # fmt: skip
HEADERS = (
    "accept-language", "anthropic-beta", "anthropic-version", "openai-beta", "openai-organization", "openai-project",
    "x-title",
)  # fmt: skip
"""Headers of a request that change its answer: by these languages, versions, organizations and projects are named."""
DEFAULTS: dict[str, Any] = {
    "stream": False, "temperature": 1, "top_p": 1, "n": 1, "presence_penalty": 0, "frequency_penalty": 0,
    "logprobs": False, "tool_choice": "auto", "parallel_tool_calls": True, "echo": False, "best_of": 1,
    "encoding_format": "float", "response_format": {"type": "text"}, "stop": [], "tools": [], "logit_bias": {},
}  # fmt: skip
_OF_SPEECH = {"stream": False, "temperature": 0, "response_format": "json"}
"""Of a file that is transcribed or translated."""


def wire_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request body that identify its answer, values as they came."""
    defaults = DEFAULTS if "file" not in body else _OF_SPEECH
    found = {
        name: value
        for name, value in body.items()
        if value is not None
        and name not in IRRELEVANT
        and (type(value) in _JSON or not absent(value))
        and (name not in defaults or not _equal(defaults[name], value))
    }
    for name in _PARTLY & found.keys():
        counts = _counting(name, found.pop(name), found)
        if counts:
            found[name] = counts
    return found


def _counting(name: str, value: Any, found: Mapping[str, Any]) -> Any:
    """What counts of a field that changes some answers only."""
    if name == "stream_options":  # its chunks, not what they say
        return "stream" in found and value
    if name == "prompt_cache_options":  # whose other fields say how long a prefix is held
        return isinstance(value, Mapping) and value.get("comparison_response_id")
    if name == "store":  # by its id a `previous_response_id` names it, unless it is not kept
        return "input" in found and [value]
    if not isinstance(value, Mapping):
        return value
    return sorted((key.lower(), str(held)) for key, held in value.items() if str(key).lower() in HEADERS)


def _equal(default: Any, value: Any) -> bool:
    """`logprobs=0` asks completions for something, as False does not."""
    return bool(default == value) and isinstance(default, bool) is isinstance(value, bool)


def acts(body: Mapping[str, Any]) -> bool:
    """Whether a request does something at the server, which no kept answer does: it stores its answer there, or adds to
    a conversation."""
    talk, more = body.get("conversation"), body.get("extra_body")
    here = body.get("store") is True or not (talk is None or absent(talk))
    return here or (more is not None and isinstance(more, Mapping) and acts(more))


def message_trees(messages: Any, fold: Fold, *, sent: bool = False) -> list[Tree] | None:
    """The messages as trees: null fields left out, texts folded. None for what is no list of messages with roles.

    `sent`: models, such as the openai client's own, are what that client sends of them: the fields that were set.
    """
    if not isinstance(messages, list | tuple) or not messages:
        return None
    out: list[Tree] = []
    for message in messages:
        if type(message) is dict:
            role = message.get("role")
            if role is None:
                return None
            content = message.get("content")
            if type(content) is str and len(message) == 2 and type(role) is str:
                out.append({"role": role, "content": fold(content)})
                continue
        elif _role(message) is None:
            return None
        elif not isinstance(message, Mapping):
            if not (sent and hasattr(type(message), "model_dump")):
                out.append(_of_object(tree(message), fold))
                continue
            message = message.model_dump(exclude_unset=True)
        out.append(tree(_folded(dict(message), fold)))
    return out


def _folded(message: dict[str, Any], fold: Fold) -> dict[str, Any]:
    fields = {k: v for k, v in message.items() if v is not None}
    content = fields.get("content")
    if type(content) is str:
        fields["content"] = fold(content)
    elif isinstance(content, list):
        fields["content"] = [_part(part, fold) for part in content]
    return fields


def _of_object(message: Tree, fold: Fold) -> Tree:
    """The tree of a model or dataclass as that of its fields beside its class, so that its text is found in it."""
    tag, held = next(iter(message.items())) if type(message) is dict else ("", None)
    if (
        type(held) is not list
        or len(held) != 2
        or type(held[1]) is not dict
        or type(held[1].get("role")) is not str
    ):
        return message
    return {**_folded(held[1], fold), tag: held[0]}


def split(trees: list[Tree]) -> tuple[list[Tree], tuple[Turn, ...], str] | None:
    """(what must be equal, earlier turns, the text compared by meaning); None if the last message is no user's text.

    What users and the assistant said in plain text is compared on its own; instructions, images, calls and results of
    tools must be equal. Where such a message stands among the turns, all of them must be equal.
    """
    last = trees[-1] if trees else None
    if type(last) is not dict or last.get("role") != "user":
        return None
    content: Any = last.get("content")
    text = text_of(content)
    if not text:
        return None
    rest: Tree = "" if type(content) is str else [p for p in content if not _is_text(p)]
    earlier = trees[:-1]
    first = 0
    while first < len(earlier) and not _is_plain(earlier[first]):
        first += 1
    open_ = earlier[first:]
    turns = tuple([Turn(m["role"], m["content"]) for m in open_ if _is_plain(m)]) if open_ else ()
    if len(turns) < len(open_):
        first = len(earlier)
    return [*earlier[:first], {**last, "content": rest}], turns, text


def _is_plain(message: Tree) -> bool:
    """A turn that is words and nothing else."""
    return (
        type(message) is dict
        and message.get("role") in _SPEAKERS
        and len(message) == 2
        and type(message.get("content")) is str
    )


def text_of(content: Any) -> str | None:
    """The text of a message's content: a string, or its text parts joined by newlines."""
    if type(content) is str:
        return content
    if type(content) is list:
        return "\n".join(p["text"] for p in content if _is_text(p)) or None
    return None


def _part(part: Any, fold: Fold) -> Any:
    return {**part, "text": fold(part["text"])} if _is_text(part) else part


def _is_text(part: Any) -> bool:
    """Whether a part is nothing but text; Bedrock's parts name no type."""
    named = type(part) is dict and (part.get("type") == "text" or len(part) == 1)
    return named and type(part.get("text")) is str


def _role(message: Any) -> Any:
    return (
        message.get("role")
        if isinstance(message, Mapping)
        else getattr(message, "role", getattr(message, "type", None))
    )


_SPEAKERS = ("user", "assistant")
_PARTLY = frozenset({"stream_options", "store", "extra_headers", "prompt_cache_options"})
_JSON = frozenset({str, int, float, bool, list, dict})
