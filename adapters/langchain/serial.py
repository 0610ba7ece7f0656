"""LangChain's own serializer, for answers that leave the process and for prompts that are compared by meaning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import orjson
from langchain_core._api import suppress_langchain_beta_warning
from langchain_core.documents import Document
from langchain_core.load import dumps, load
from langchain_core.load.load import Reviver
from langchain_core.load.serializable import Serializable
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk

from cachelayer.exact.wire.codec import Codec, CodecError, CorruptPayload, ForeignClass

ALLOWED: tuple[type[Serializable], ...] = (
    *(Generation, GenerationChunk, ChatGeneration, ChatGenerationChunk, Document),
    *(AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage),
)
"""Classes that are read back from a shared tier; none does more than hold what it is given."""
_BY_ID = {tuple(cls.lc_id()): cls for cls in ALLOWED}
_ESCAPED = '"__lc_escaped__"'
_OWN, _THEIRS = b"\x01", b"\x02"
_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
_UNREAD = frozenset(
    {"id", "type", "example", "response_metadata", "usage_metadata", "artifact", "tool_call_chunks"}
) | {"chunk_position"}
"""Fields of messages that a model is not shown."""
_NOTHING: tuple[Any, ...] = (None, [], {})


class LangChainCodec(Codec):
    """Plain values as in every layer; LangChain's objects by its own `dumps` and `load`.

    Objects of the classes in `ALLOWED` and `allowed` are read back, and of no others.
    """

    def __init__(self, allowed: Sequence[type[Serializable]] = ()) -> None:
        super().__init__()
        self._allowed = [*ALLOWED, *allowed]
        self._reviver = Reviver(self._allowed)  # a millisecond: once, not for each answer as `load` does

    def encode(self, value: Any) -> bytes:
        """Raises CodecError for what LangChain cannot serialize."""
        try:
            return _OWN + super().encode(value)
        except ForeignClass:
            text = dumps([_portable(one) for one in value] if isinstance(value, list) else value)
        if '"type": "not_implemented"' in text:
            raise CodecError("an object in the answer is not serializable by LangChain")
        return _THEIRS + super().encode(text)

    def decode(self, payload: bytes) -> Any:
        """Raises CorruptPayload for what is no answer or names a class that is not allowed."""
        value = super().decode(payload[1:])
        if payload[:1] == _OWN:
            return value
        try:
            if _ESCAPED in value:  # plain data that looks like LangChain's; rare
                with suppress_langchain_beta_warning():
                    return load(json.loads(value), allowed_objects=self._allowed)
            return json.loads(value, object_hook=self._revived)
        except (ValueError, TypeError, KeyError, NotImplementedError) as fault:
            raise CorruptPayload(f"not an object of LangChain's ({type(fault).__name__})") from fault

    def _revived(self, value: dict[str, Any]) -> Any:
        """What LangChain's loader makes of a parsed object, its checks and imports left out for the classes above."""
        if "lc" not in value:
            return value
        if value["lc"] == 1 and value.get("type") == "constructor":
            cls = _BY_ID.get(tuple(value.get("id") or ()))
            if cls is not None:
                return cls(**value.get("kwargs", {}))
        return self._reviver(value)


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


def messages_of(prompt: str) -> list[dict[str, Any]] | str:
    """The chat messages in a prompt that LangChain serialized, in OpenAI's form; the prompt itself where it is text.

    What models are not shown (ids, usage of earlier answers) is left out.
    """
    if not prompt.startswith('[{"lc":'):
        return prompt
    try:
        return [_message(item) for item in orjson.loads(prompt)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return prompt


def _message(item: dict[str, Any]) -> dict[str, Any]:
    if item["type"] != "constructor":
        raise KeyError("a message that was not serialized")
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
