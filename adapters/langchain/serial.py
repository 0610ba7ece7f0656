"""LangChain's objects where they leave the process, and prompts, as it serializes them, where they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import orjson
from langchain_core.documents import Document
from langchain_core.load import dumps
from langchain_core.load.serializable import Serializable
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.base import TextAccessor
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk

from cachelayer.errors import ConfigurationError
from cachelayer.exact.wire.codec import Codec, CorruptPayload, ForeignClass

ALLOWED: tuple[type[Serializable], ...] = (
    *(Generation, GenerationChunk, ChatGeneration, ChatGenerationChunk, Document),
    *(AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage),
)
"""Classes that are read back from a shared tier; none does more than hold what it is given."""
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_UNREAD = frozenset(
    {"id", "type", "example", "response_metadata", "usage_metadata", "artifact", "tool_call_chunks"}
) | {"chunk_position"}
"""Fields of messages that a model is not shown."""
_NOTHING: tuple[Any, ...] = (None, [], {})
_BY_REPR = '"type": "not_implemented"'
"""In JSON, where the quotes of a text are escaped: it stands in none."""
_WHOLE = frozenset({"builtins.bytes", "datetime.date", "datetime.datetime", "decimal.Decimal", "uuid.UUID"})
"""Classes whose repr says all."""
_CLASS = "\0class"
"""Beside what one of LangChain's objects is constructed from: LangChain's name for its class."""


class LangChainCodec(Codec):
    """Plain values as in every layer, and between them LangChain's objects, by what they are constructed from.

    Objects of the classes in `ALLOWED` and `allowed` travel, and no others.
    """

    def __init__(self, allowed: Sequence[type[Serializable]] = ()) -> None:
        super().__init__()
        given: object = allowed
        if not isinstance(given, list | tuple) or not all(map(_serializable, given)):
            raise ConfigurationError("allowed", given, "give a list of LangChain's serializable classes")
        self._allowed = {_named(cls): cls for cls in (*ALLOWED, *allowed)}

    def encode(self, value: Any) -> bytes:
        """Raises ForeignClass for an object of any other class."""
        try:
            return super().encode(self._taken_apart(value))
        except RecursionError:
            raise ForeignClass("the answer is nested too deeply to leave the process") from None

    def decode(self, payload: bytes) -> Any:
        """Raises CorruptPayload for what is no answer, and ForeignClass for one with a class that is not allowed."""
        value = super().decode(payload)
        try:
            return self._made(value)
        except (ValueError, TypeError, KeyError, RecursionError) as fault:
            raise CorruptPayload(f"not an object of LangChain's ({type(fault).__name__})") from fault

    def _taken_apart(self, value: Any) -> Any:
        cls = type(value)
        if cls is dict:
            if _CLASS in value:
                raise ForeignClass("a mapping that looks like an object of LangChain's stays in memory")
            return {name: one if type(one) is str else self._taken_apart(one) for name, one in value.items()}
        if cls is list or cls is tuple:
            return cls([self._taken_apart(one) for one in value])
        if not isinstance(value, Serializable):
            return str(value) if cls is TextAccessor else value
        name = _named(cls)
        if self._allowed.get(name) is not cls or value.lc_secrets:
            raise ForeignClass(f"{cls.__name__} may not leave the process; allowed=[{cls.__name__}] lets it")
        return {_CLASS: name, **self._taken_apart(_portable(value).to_json()["kwargs"])}

    def _made(self, value: Any) -> Any:
        cls = type(value)
        if cls is dict:
            of = value.pop(_CLASS, None)
            made = {name: one if type(one) is str else self._made(one) for name, one in value.items()}
            return made if of is None else self._class_of(of)(**made)
        return cls([self._made(one) for one in value]) if cls is list or cls is tuple else value

    def _class_of(self, name: str) -> type[Serializable]:
        if (found := self._allowed.get(name)) is None:
            raise ForeignClass(f"{name} is not on the allow-list; allowed=[...] lets it in")
        return found


def _serializable(cls: object) -> bool:
    return isinstance(cls, type) and issubclass(cls, Serializable)


def _named(cls: type[Serializable]) -> str:
    return "/".join(cls.lc_id())


def _portable(made: Any) -> Any:
    """An answer whose structured output, an object of the owner's class, is plain data that gives the same again: of
    such data LangChain's parsers make an object themselves."""
    if not isinstance(made, ChatGeneration):
        return made
    parsed = made.message.additional_kwargs.get("parsed")
    if parsed is None or isinstance(parsed, Serializable) or not hasattr(parsed, "model_dump"):
        return made
    with suppress(Exception):  # what the owner's validators raise
        plain = parsed.model_dump(mode="json", by_alias=True)
        if type(parsed)(**plain) == parsed:
            kwargs = {**made.message.additional_kwargs, "parsed": plain}
            message = made.message.model_copy(update={"additional_kwargs": kwargs})
            return made.model_copy(update={"message": message})
    return made


def prompt_of(messages: Sequence[BaseMessage]) -> str:
    """The prompt as LangChain hands it to caches."""
    return dumps([m if m.id is None else m.model_copy(update={"id": None}) for m in messages])


class Unserialized:
    """In place of messages that hold a picture, an array or another object which LangChain writes by its repr: that
    leaves out the most of it, or is another's at the same address. It is part of no key."""


def messages_of(prompt: str) -> list[dict[str, Any]] | str | Unserialized:
    """The chat messages in a prompt that LangChain serialized, in OpenAI's form; the prompt itself where it is text.

    What models are not shown (ids, usage of earlier answers) is left out.
    """
    if not prompt.startswith('[{"lc":'):
        return prompt
    by_repr = _BY_REPR in prompt
    try:
        messages = [_message(item) for item in orjson.loads(prompt)]
        return Unserialized() if by_repr and _unserialized(messages) else messages
    except (ValueError, KeyError, TypeError, AttributeError):
        return Unserialized() if by_repr else prompt


def _unserialized(value: Any) -> bool:
    """Whether LangChain wrote something in a value by its repr alone."""
    if isinstance(value, list):
        return any(map(_unserialized, value))
    if not isinstance(value, dict):
        return False
    if value.get("type") == "not_implemented":
        return ".".join(map(str, value.get("id", ()))) not in _WHOLE
    return any(map(_unserialized, value.values()))


def _message(item: dict[str, Any]) -> dict[str, Any]:
    fields = item["kwargs"]
    kind = fields.get("type", item["id"][-1])
    role = _ROLES.get(kind, kind)
    kept = _as_whole(fields) if role == "assistant" else fields
    return {"role": role, **{k: v for k, v in kept.items() if k not in _UNREAD and v not in _NOTHING}}


def _as_whole(fields: dict[str, Any]) -> dict[str, Any]:
    """An earlier answer without what tells one that was streamed from one that came whole: places in the stream, and
    fields for what it did not have."""
    content, more = fields.get("content"), fields.get("additional_kwargs")
    blocks = content if isinstance(content, list) else ()
    return {
        **fields,
        "content": [_block(one) for one in blocks] or content,
        "additional_kwargs": {k: v for k, v in (more or {}).items() if v is not None},
    }


def _block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    return {k: v for k, v in block.items() if k != "index" and v not in _NOTHING}
