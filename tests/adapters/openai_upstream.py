"""A server of OpenAI's wire form that answers `responses`, too, and a wrapped client, for the tests of the adapter."""

from __future__ import annotations

import json
from typing import Any

import openai
from cachelayer.adapters.openai import wrap
from upstream import Upstream

from cachelayer import CacheLayer

HELLO: list[Any] = [{"role": "user", "content": "hello"}]


class Responding(Upstream):
    """Answers `responses.create` too; an input of "cut" gets an incomplete answer. It has nothing to GET."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("method") == "GET":
            await self._reply(send, 404, b"{}", [(b"content-type", b"application/json")])
        else:
            await super().__call__(scope, receive, send)

    async def _complete(self, scope: Any, receive: Any, send: Any, asked: dict[str, Any]) -> None:
        if "input" not in asked:
            await super()._complete(scope, receive, send, asked)
            return
        plain = "text" not in asked
        text = f"You said: {asked['input']}" if plain else json.dumps({"say": asked["input"]})
        said = {"type": "output_text", "text": text, "annotations": []}
        message = {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [said],
        }
        body = {
            "id": f"r{len(self.requests)}",
            "object": "response",
            "created_at": 1,
            "model": asked["model"],
            "status": "incomplete" if asked["input"] == "cut" else "completed",
            "output": [message],
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "metadata": asked.get("metadata") or {},
            "user": asked.get("user"),
        }
        if not asked.get("stream"):
            headers = [(b"content-type", b"application/json"), (b"x-request-id", b"q%d" % len(self.requests))]
            await self._reply(send, 200, json.dumps(body).encode(), headers)
            return
        begun = {**body, "status": "in_progress", "output": []}
        events = [
            {"type": "response.created", "sequence_number": 0, "response": begun},
            {"type": f"response.{body['status']}", "sequence_number": 1, "response": body},
        ]
        told = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        await self._reply(send, 200, told.encode(), [(b"content-type", b"text/event-stream")])


def plain(url: str, layer: CacheLayer) -> openai.OpenAI:
    return wrap(openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0), layer=layer)
