"""Answers in the shapes of servers that are not OpenAI's: a form made of the other is what the app itself would say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgi_client import Client, ask
from cachelayer.adapters.asgi import CacheLayerMiddleware
from upstream import Upstream

from cachelayer import CacheLayer


def chunk(delta: Any, finish: str | None = None, created: int = 1_700_000_000, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": created, "model": "m", "choices": [choice],
    }  # fmt: skip


class App:
    """Answers streams with `chunks`, all at once or `one_by_one`, and the rest with `whole`."""

    def __init__(self, chunks: list[Any], whole: Any, one_by_one: bool = False) -> None:
        self.chunks, self.whole, self.one_by_one, self.asked = chunks, whole, one_by_one, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        wanted = json.loads((await receive())["body"])
        self.asked += 1
        if not wanted.get("stream"):
            head = [(b"content-type", b"application/json")]
            await Upstream._reply(send, 200, json.dumps(self.whole).encode(), head)
            return
        events = [b"data: " + json.dumps(one).encode() + b"\n\n" for one in self.chunks]
        events.append(b"data: [DONE]\n\n")
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
        )
        for piece in events if self.one_by_one else [b"".join(events)]:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def asked(app: App, layer: CacheLayer, *streams: bool) -> list[Any]:
    c = Client(CacheLayerMiddleware(app, layer=layer))
    return [await c.post("/v1/chat/completions", ask("hello", stream=stream)) for stream in streams]


@pytest.mark.parametrize("one_by_one", [True, False])
async def test_events_that_were_made_one_after_the_other_are_all_made_now(
    layer: CacheLayer, one_by_one: bool
) -> None:
    """As Ollama, llama.cpp and TGI date them."""
    chunks = [
        chunk({"content": word, "created": 5}, created=1_700_000_000 + at)
        for at, word in enumerate(["a", " b", ' "created":1,'])
    ]
    app = App([*chunks, chunk({}, "stop", created=1_700_000_009)], None, one_by_one)
    _, replayed = await asked(app, layer, True, True)
    events = [one for one in replayed.events() if one]
    assert replayed.hit and len({one["created"] for one in events}) == 1
    assert events[0]["created"] > 1_700_000_009 and replayed.text() == 'a b "created":1,'
    assert {one["choices"][0]["delta"].get("created", 5) for one in events} == {5}
