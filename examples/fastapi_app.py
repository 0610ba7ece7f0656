"""An OpenAI-style service of one's own in FastAPI, with one line for the cache. Runs offline:

pip install '.[serve]' fastapi openai
uvicorn examples.fastapi_app:app          serve it, then point a client's base_url at http://127.0.0.1:8000/v1
python examples/fastapi_app.py            start it, ask it with the openai client, and end
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import openai
import uvicorn
from cachelayer.adapters.asgi import CacheLayerMiddleware
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from cachelayer import CacheLayer

layer = CacheLayer(semantic=False)
app = FastAPI()
app.add_middleware(CacheLayerMiddleware, layer=layer)  # the one line


@app.post("/v1/chat/completions", response_model=None)
async def chat(body: dict[str, Any]) -> dict[str, Any] | StreamingResponse:
    """Stands in for a model: a tenth of a second a word."""
    words = f"You asked: {body['messages'][-1]['content']}".split()
    if body.get("stream"):
        return StreamingResponse(events(words), media_type="text/event-stream")
    await asyncio.sleep(0.1 * len(words))
    message = {"role": "assistant", "content": " ".join(words)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": len(words), "total_tokens": 5 + len(words)}
    return {**head("chat.completion"), "choices": [choice], "usage": usage}


def head(kind: str) -> dict[str, Any]:
    """What every answer begins with."""
    return {
        "id": f"chatcmpl-{time.time_ns()}",
        "object": kind,
        "created": int(time.time()),
        "model": "stand-in",
    }


async def events(words: list[str]) -> AsyncIterator[bytes]:
    """The answer word by word."""
    first = head("chat.completion.chunk")
    for i, word in enumerate(words):
        await asyncio.sleep(0.1)
        delta = {"content": word if i == 0 else f" {word}"}
        end = "stop" if i + 1 == len(words) else None
        chunk = {**first, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def ask(client: openai.OpenAI, question: str, *, stream: bool) -> None:
    """One question, its time and what the cache did."""
    started = time.perf_counter()
    messages: Any = [{"role": "user", "content": question}]
    told = client.chat.completions.with_raw_response.create(
        model="stand-in", messages=messages, stream=stream
    )
    answer = told.parse()
    if isinstance(answer, openai.Stream):
        text = "".join(chunk.choices[0].delta.content or "" for chunk in answer)
    else:
        text = answer.choices[0].message.content or ""
    took = (time.perf_counter() - started) * 1e3
    print(f"{took:7.1f} ms  {'stream' if stream else 'whole '}  {text!r}  {told.headers['cache-status']}")


def main() -> None:
    """Ask four times: a miss, a hit, the same as a stream, and another question."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while thread.is_alive() and not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="mine") as client:
            for stream in (False, False, True):
                ask(client, "What is a cache?", stream=stream)
            ask(client, "And a gateway?", stream=True)
    finally:  # also at Ctrl-C: a thread that serves would keep the process
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
