"""Answers of a model as the chunks of a stream, and back."""

from __future__ import annotations

import json
from typing import Any, cast

from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk


def whole_of(chunks: list[ChatGenerationChunk], version: str | None) -> list[ChatGeneration]:
    """What was streamed, as `invoke` of a model of this `output_version` tells it. A chunk that is marked as the last
    finishes its calls of tools."""
    end = chunks[-1].message
    if isinstance(end, AIMessageChunk) and end.chunk_position is None:
        last = AIMessageChunk(content="" if isinstance(end.content, str) else [], chunk_position="last")
        chunks = [*chunks, ChatGenerationChunk(message=last)]
    (made,) = generate_from_stream(iter(chunks)).generations
    metadata = {**(made.generation_info or {}), **made.message.response_metadata}
    message = made.message.model_copy(update={"response_metadata": metadata})
    if version == "v1":
        form = {
            "content": message.content_blocks,
            "response_metadata": {**metadata, "output_version": "v1"},
        }
        message = message.model_copy(update=form)
    return [made.model_copy(update={"message": message})]


def chunk_of(generation: Any) -> ChatGenerationChunk:
    """A kept answer as the only chunk of a stream; LangChain, too, says of what comes from a cache that it was free."""
    message = generation.message
    names = ("content", "additional_kwargs", "response_metadata", "id", "name")
    fields = {name: getattr(message, name) for name in names}
    calls = [
        tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=place)
        for place, call in enumerate(message.tool_calls)
    ]
    calls += [
        tool_call_chunk(name=call["name"], args=call["args"], id=call["id"], index=place)
        for place, call in enumerate(message.invalid_tool_calls, len(calls))
    ]
    usage = message.usage_metadata and cast(UsageMetadata, {**message.usage_metadata, "total_cost": 0})
    chunk = AIMessageChunk(**fields, tool_call_chunks=calls, usage_metadata=usage, chunk_position="last")
    return ChatGenerationChunk(message=chunk, generation_info=generation.generation_info)
