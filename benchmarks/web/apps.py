"""The apps that are measured: a stand-in for a model server, with and without the middleware, and a static route."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from cachelayer.adapters.asgi import CacheLayerMiddleware

from cachelayer import CacheLayer, Policy

LETTER = (
    "It was meant to come by van on Tuesday, but the driver left a card that says it lies at the depot in Mill Road. I "
    "went there with my passport, and they sent me home again, as the name on the label is spelled with one letter "
    "too many. The woman at the desk was kind and gave me this number to write to. Can somebody change the label, so "
    "that my sister may fetch the parcel for me? She works close by and has a car. If that cannot be done, please send "
    "it back to the shop and let me know what it will cost me. I would also like to hear how such things are avoided, "
    "as I order from you most weeks and my name is not going to change. Thank you for your help."
)
"""Distinct sentences, as a person writes them."""
CHAT = "/v1/chat/completions"
WORDS = " ".join(["considered"] * 55)
"""About 600 characters of answer."""
TOKENS = 20
STREAM_GAP = float(os.environ.get("BENCH_GAP", "0"))
"""Seconds before each event."""
THINK = float(os.environ.get("BENCH_THINK", "0"))
"""Seconds before a whole answer; ten milliseconds are less than any language model takes."""
_CHOICE = {
    "index": 0,
    "message": {"role": "assistant", "content": WORDS},
    "logprobs": None,
    "finish_reason": "stop",
}
_USAGE = {"prompt_tokens": 200, "completion_tokens": 60, "total_tokens": 260}
HEAD = {
    "id": "chatcmpl-0123456789abcdef",
    "object": "chat.completion",
    "created": 1_760_000_000,
    "model": "m",
}
WHOLE = json.dumps({**HEAD, "choices": [_CHOICE], "usage": _USAGE}, separators=(",", ":")).encode()
_JSON = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(WHOLE))]


def _event(delta: dict[str, Any], end: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": end}
    chunk = {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


EVENTS = [_event({"role": "assistant", "content": ""}), *[_event({"content": f" word{i}"}) for i in range(TOKENS)],
          _event({}, "stop"), b"data: [DONE]\n\n"]  # fmt: skip


async def upstream(scope: Any, receive: Any, send: Any) -> None:
    """Answers at once, unless told otherwise: what is measured is what stands before it."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"].endswith("shutdown"):
                return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    if b'"stream":true' in body or b'"stream": true' in body:
        head = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        for event in EVENTS:
            if STREAM_GAP:
                await asyncio.sleep(STREAM_GAP)
            await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return
    if THINK:
        await asyncio.sleep(THINK)
    await send({"type": "http.response.start", "status": 200, "headers": _JSON})
    await send({"type": "http.response.body", "body": WHOLE})


def with_cache(**policy_fields: Any) -> Any:
    """The same app with the one line before it."""
    policy = Policy(max_bytes=64 * 2**20, **policy_fields)
    return CacheLayerMiddleware(upstream, layer=CacheLayer(semantic=False, policy=policy))


async def static(scope: Any, receive: Any, send: Any) -> None:
    """Reads the body and returns static JSON."""
    await upstream(scope, receive, send)


def starlette_route() -> Any:
    """The same as a route of Starlette's."""
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    async def answer(request: Any) -> Any:
        await request.body()
        return Response(WHOLE, media_type="application/json")

    return Starlette(routes=[Route("/starlette", answer, methods=["POST"])])


class Both:
    """One server: /static and /starlette answer as floors, everything else through the middleware."""

    def __init__(self) -> None:
        self.cached, self.starlette = with_cache(), starlette_route()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/static":
            await static(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == "/starlette":
            await self.starlette(scope, receive, send)
        else:
            await self.cached(scope, receive, send)


plain = upstream
cached = with_cache()
both = Both()


def chat_body(n: int = 0, *, stream: bool = False) -> bytes:
    """A request of about 1 KB, another for each n."""
    said = [{"role": "system", "content": "You answer questions about orders. " * 6},
            {"role": "user", "content": f"My order is number {n}. {LETTER}"}]  # fmt: skip
    asked: dict[str, Any] = {"model": "m", "messages": said, "temperature": 0}
    if stream:
        asked["stream"] = True
    return json.dumps(asked, separators=(",", ":")).encode()
