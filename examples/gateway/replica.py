"""Stands in for trtllm-serve where there is no Triton: says the prompt back word by word, 40 ms each."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import uvicorn

MODEL = {"id": "words", "object": "model", "created": 0, "owned_by": "example"}


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Health, models, completions."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    if scope["path"] != "/v1/completions":
        await whole(send, {"object": "list", "data": [MODEL]})
        return
    asked = json.loads(body)
    words = asked["prompt"].split()
    head = {
        "id": f"cmpl-{time.time_ns()}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": "words",
    }
    if not asked.get("stream"):
        await asyncio.sleep(0.04 * len(words))
        await whole(
            send, {**head, "choices": [{"index": 0, "text": " ".join(words), "finish_reason": "stop"}]}
        )
        return
    start = {
        "type": "http.response.start",
        "status": 200,
        "headers": [(b"content-type", b"text/event-stream")],
    }
    await send(start)
    for position, word in enumerate(words):
        await asyncio.sleep(0.04)
        end = "stop" if position + 1 == len(words) else None
        choice = {"index": 0, "text": word if position == 0 else f" {word}", "finish_reason": end}
        event = b"data: " + json.dumps({**head, "choices": [choice]}).encode() + b"\n\n"
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def whole(send: Any, answer: Any) -> None:
    """A JSON answer."""
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", lifespan="off")
