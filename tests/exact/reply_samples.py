"""Replies as models give them, whole and in pieces, for the tests of admission."""

from __future__ import annotations

import copy
import types
from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

COMPLETION: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Within 30 days."},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
}
CALL = {"id": "t1", "type": "function", "function": {"name": "find", "arguments": '{"b": 1, "a": 2}'}}


def completion(*, choice: dict[str, Any] | None = None, **message: Any) -> dict[str, Any]:
    body = copy.deepcopy(COMPLETION)
    body["choices"][0].update(choice or {})
    body["choices"][0]["message"].update(message)
    return body


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **more,
    }


STREAM = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Within "}),
    chunk({"content": "30 days."}),
    chunk({}, "stop"),
    chunk(None, usage={"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}),
]


def as_model(body: Any) -> Any:
    if isinstance(body, list):
        return [ChatCompletionChunk.model_validate(c) for c in body]
    return ChatCompletion.model_validate(body)


def as_object(body: Any) -> Any:
    if isinstance(body, dict):
        return types.SimpleNamespace(**{k: as_object(v) for k, v in body.items()})
    return [as_object(x) for x in body] if isinstance(body, list) else body


FORMS = pytest.mark.parametrize("form", [lambda b: b, as_model, as_object], ids=["dict", "openai", "object"])
