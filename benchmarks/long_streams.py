"""Long streams through the middleware, in process: how long the loop stands at one time, what is kept, what travels.

    python benchmarks/long_streams.py [--out benchmarks/results/long_streams.json]

The app sends events of four kinds with a turn of the loop between them; beside it a task measures the longest time
between two turns, medians of `--rounds` streams. Then the same of a repeat asked for whole. Floor of the bytes kept:
what differs from event to event.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cachelayer.adapters.asgi import CacheLayerMiddleware
from record import heading, keep, parser_of
from web.load import asgi_post

from cachelayer import CacheLayer
from cachelayer.exact.wire.codec import Chunks, Codec

PATH = "/v1/chat/completions"
HEAD: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "some-model",
}
DELTAS: dict[str, Callable[[str], dict[str, Any]]] = {
    "words": lambda text: {"content": text},
    "thoughts": lambda text: {"reasoning_content": text},
    "thoughts beside null": lambda text: {"content": None, "reasoning_content": text},
    "a tool call": lambda text: {"tool_calls": [{"index": 0, "function": {"arguments": text}}]},
}


def texts_of(kind: str, words: int) -> list[str]:
    """What the events of a stream add."""
    return [f"{i} " if kind == "a tool call" else f" word{i}" for i in range(words)]


def events_of(kind: str, words: int) -> list[bytes]:
    """Events of a stream; the last tenth of one of thoughts says something aloud."""

    def event(delta: dict[str, Any], end: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": end}
        return b"data: " + json.dumps({**HEAD, "choices": [choice]}).encode() + b"\n\n"

    texts, spoken = texts_of(kind, words), words // 10 if kind.startswith("thoughts") else 0
    said = [*map(DELTAS[kind], texts[: words - spoken]), *map(DELTAS["words"], texts[words - spoken :])]
    return [
        event({"role": "assistant", "content": ""}),
        *map(event, said),
        event({}, "stop"),
        b"data: [DONE]\n\n",
    ]


async def standing(work: Awaitable[Any]) -> float:
    """Seconds of the longest time between two turns of the loop while `work` is done."""
    longest, over = 0.0, False

    async def beat() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not over:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    task = asyncio.create_task(beat())
    await asyncio.sleep(0)
    await work
    over = True
    await task
    return longest


async def ask(app: Any, number: int, *, stream: bool) -> bytes:
    """The answer's Cache-Status."""
    question = {"role": "user", "content": f"Tell me about number {number}."}
    body = json.dumps({"model": "m", "stream": stream, "messages": [question]}).encode()
    asked: dict[str, Any] | None = {"type": "http.request", "body": body, "more_body": False}
    told = b""

    async def receive() -> Any:
        nonlocal asked
        if asked is None:
            await asyncio.Future()
        message, asked = asked, None
        return message

    async def send(message: Any) -> None:
        nonlocal told
        told = dict(message.get("headers", ())).get(b"cache-status", told)

    await app(asgi_post(PATH), receive, send)
    return told


async def measured(kind: str, words: int, rounds: int) -> dict[str, Any]:
    """Figures of one kind and length."""
    events = events_of(kind, words)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", b"text/event-stream")],
            }
        )
        for event in events:
            await send({"type": "http.response.body", "body": event, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async with CacheLayer(semantic=False) as layer:
        cached = CacheLayerMiddleware(app, layer=layer)
        passing = [await standing(ask(cached, n, stream=True)) for n in range(rounds)]
        held = layer.stats()["bytes"] / rounds
        whole = [await standing(ask(cached, n, stream=False)) for n in range(rounds)]
        hit = b"; hit;" in await ask(cached, 0, stream=True)
        slot = next((slot for memory in layer._keeper.memories for slot in memory), None)
        stream = Chunks(events) if slot is None else Chunks(parts=slot.answer.value)
        started = time.perf_counter()
        payload = Codec().encode(stream)
        written = time.perf_counter() - started
        started = time.perf_counter()
        Codec().decode(payload)
        read = time.perf_counter() - started
    return {
        "hit": hit,
        "loop stands, ms": round(statistics.median(passing) * 1e3, 2),
        "loop stands, repeat asked whole, ms": round(statistics.median(whole) * 1e3, 2),
        "bytes sent": sum(map(len, events)),
        "floor: bytes of what differs": sum(map(len, texts_of(kind, words))),
        "bytes kept": round(held),
        "bytes to Redis": len(payload),
        "written, ms": round(written * 1e3, 2),
        "read, ms": round(read * 1e3, 2),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--words", type=int, nargs="+", default=[500, 2_000, 8_000])
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    args = parser.parse_args()
    found = heading(f"python benchmarks/long_streams.py --rounds {args.rounds}")
    for kind in DELTAS:
        for words in args.words:
            found[f"{kind}, {words}"] = figures = asyncio.run(measured(kind, words, args.rounds))
            print(f"{kind}, {words}: {figures}", flush=True)
    keep(args.out, found)


if __name__ == "__main__":
    main()
