"""An OpenAI-style upstream of our own, bare ASGI, that shows the awkward parts; and a uvicorn in a thread.

The last message's text is the script: JSON {"say": ..., ...} or plain text to say. Keys: `reasoning`, `calls`,
`finish`, `cut` (bytes a message), `crlf`, `drop_after` (events), `error_after` (events), `no_done`, `status`,
`headers`, `hold` (name of a gate), `hold_after` (events), `logprobs`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import uvicorn

TOKENS = {"Bearer good", "Bearer other", "Bearer sk-test"}


class Upstream:
    """`requests` are the bodies it was asked; `gates` hold requests until opened; `left` counts early leavers."""

    def __init__(self, *, keys: set[str] | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.left = 0
        self.keys = keys
        self.sent = 0
        self._ids = itertools.count()

    def gate(self, name: str) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": message["type"] + ".complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        if scope["type"] == "websocket":
            await self._echo(receive, send)
            return
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.paths.append(scope["path"])
        headers = dict(scope["headers"])
        if self.keys is not None and headers.get(b"authorization", b"").decode() not in self.keys:
            await _json(send, 401, {"error": {"message": "no such key", "code": "invalid_api_key"}})
            return
        if scope["path"] == "/echo":
            await self._reply(send, 200, body, [(b"content-type", b"application/octet-stream")])
            return
        try:
            asked = json.loads(body)
        except ValueError:
            await _json(send, 400, {"error": {"message": "not JSON"}})
            return
        self.requests.append(asked)
        if scope["path"].endswith("/embeddings"):
            await self._embed(send, asked)
        else:
            await self._complete(scope, receive, send, asked)

    async def _echo(self, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        message = await receive()
        await send({"type": "websocket.send", "text": message.get("text")})
        await send({"type": "websocket.close"})

    async def _embed(self, send: Any, asked: dict[str, Any]) -> None:
        given = asked["input"]
        items = given if isinstance(given, list) and not isinstance(given[0], int) else [given]
        data = [
            {"object": "embedding", "index": i, "embedding": [float(len(str(item))), 0.5]}
            for i, item in enumerate(items)
        ]
        if "bad item" in items:
            await _json(send, 400, {"error": {"message": "bad item"}})
            return
        usage = {"prompt_tokens": len(items), "total_tokens": len(items)}
        await _json(send, 200, {"object": "list", "data": data, "model": asked["model"], "usage": usage})

    async def _complete(self, scope: Any, receive: Any, send: Any, asked: dict[str, Any]) -> None:
        chat = "messages" in asked
        script = script_of(asked["messages"][-1]["content"] if chat else asked["prompt"])
        extra = [(n.encode(), v.encode()) for n, v in script.get("headers", {}).items()]
        extra.append((b"x-request-id", b"r%d" % next(self._ids)))
        status = script.get("status", 200)
        if status != 200:
            await _json(send, status, {"error": {"message": "no", "code": status}}, extra)
            return
        if not asked.get("stream"):
            if "hold" in script:
                await self.gate(script["hold"]).wait()
            await _json(send, 200, self.whole(asked, script, chat), extra)
            return
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-type", b"text/event-stream; charset=utf-8"), *extra]})  # fmt: skip
        gone = asyncio.ensure_future(_until_left(receive))
        try:
            done = await self._stream(send, asked, script, chat, gone)
        finally:
            gone.cancel()
        if not done:
            raise ConnectionError("the upstream broke off")

    async def _stream(self, send: Any, asked: Any, script: Any, chat: bool, gone: Any) -> bool:
        buffer, cut = b"", script.get("cut")
        for count, event in enumerate(self.events(asked, script, chat)):
            if count == script.get("hold_after", -1 if "hold" not in script else 0):
                held = asyncio.ensure_future(self.gate(script["hold"]).wait())
                await asyncio.wait({held, gone}, return_when=asyncio.FIRST_COMPLETED)
                held.cancel()
            if gone.done():
                self.left += 1
                return True
            if count == script.get("drop_after"):
                return False
            if count == script.get("error_after"):
                event = b'data: {"error":{"message":"broken","code":500}}\n\n'
            buffer += event.replace(b"\n", b"\r\n") if script.get("crlf") else event
            while cut and len(buffer) >= cut:
                await send({"type": "http.response.body", "body": buffer[:cut], "more_body": True})
                buffer = buffer[cut:]
            if not cut:
                await send({"type": "http.response.body", "body": buffer, "more_body": True})
                self.sent += 1
                buffer = b""
            if count == script.get("error_after"):
                break
        await send({"type": "http.response.body", "body": buffer, "more_body": False})
        return True

    def base(self, asked: dict[str, Any], kind: str) -> dict[str, Any]:
        prefix = "chatcmpl" if "messages" in asked else "cmpl"
        return {
            "id": f"{prefix}-{next(self._ids)}", "object": kind, "created": 1_700_000_000,
            "model": asked.get("model", "m"), "system_fingerprint": "fp_1",
        }  # fmt: skip

    def whole(self, asked: dict[str, Any], script: dict[str, Any], chat: bool) -> dict[str, Any]:
        choices = []
        for index in range(asked.get("n") or 1):
            text = f"{script['say']}{f' #{index}' if index else ''}"
            end = {"index": index, "logprobs": None, "finish_reason": script.get("finish", "stop")}
            if script.get("calls"):
                calls = [
                    {"id": f"call_{i}", "type": "function", "function": call}
                    for i, call in enumerate(script["calls"])
                ]
                end |= {"finish_reason": "tool_calls"}
                choices.append(end | {"message": {"role": "assistant", "content": None, "tool_calls": calls}})
            elif chat:
                message = {"role": "assistant", "content": text, "refusal": None}
                if "reasoning" in script:
                    message["reasoning_content"] = script["reasoning"]
                if asked.get("logprobs"):
                    end["logprobs"] = {"content": [_logprob(t) for t in pieces(text)], "refusal": None}
                choices.append(end | {"message": message})
            else:
                choices.append(end | {"text": text})
        kind = "chat.completion" if chat else "text_completion"
        return {**self.base(asked, kind), "choices": choices, "usage": USAGE}

    def events(self, asked: dict[str, Any], script: dict[str, Any], chat: bool) -> list[bytes]:
        whole = self.whole(asked, script, chat)
        base = {**self.base(asked, "chat.completion.chunk" if chat else "text_completion")}
        wants_usage = (asked.get("stream_options") or {}).get("include_usage")
        tail = {"usage": None} if wants_usage else {}
        per_choice = [_parts(choice, chat) for choice in whole["choices"]]
        parts = [p for row in itertools.zip_longest(*per_choice) for p in row if p is not None]
        made = [{**base, "choices": [part], **tail} for part in parts]
        if wants_usage:
            made.append({**base, "choices": [], "usage": USAGE})
        events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in made]
        return events if script.get("no_done") else [*events, b"data: [DONE]\n\n"]

    @staticmethod
    async def _reply(send: Any, status: int, body: bytes, headers: Any) -> None:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def script_of(text: Any) -> dict[str, Any]:
    if isinstance(text, str) and text.startswith("{"):
        return {"say": "", **json.loads(text)}
    return {"say": f"You said: {text}"}


def pieces(text: str) -> list[str]:
    return [word if i == 0 else f" {word}" for i, word in enumerate(text.split(" "))]


def _logprob(token: str) -> dict[str, Any]:
    return {"token": token, "logprob": -0.1, "bytes": list(token.encode()), "top_logprobs": []}


def _parts(choice: dict[str, Any], chat: bool) -> list[dict[str, Any]]:
    index, finish = choice["index"], choice["finish_reason"]
    if not chat:
        texts = pieces(choice["text"])
        ends = [None] * (len(texts) - 1) + [finish]
        return [
            {"index": index, "text": t, "logprobs": None, "finish_reason": e}
            for t, e in zip(texts, ends, strict=True)
        ]

    def part(delta: dict[str, Any], end: str | None = None, logprobs: Any = None) -> dict[str, Any]:
        return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": end}

    message = choice["message"]
    made = [part({"role": "assistant", "content": ""})]
    thought = message.get("reasoning_content", "")
    made += [part({"reasoning_content": thought[at : at + 4]}) for at in range(0, len(thought), 4)]
    for place, call in enumerate(message.get("tool_calls") or ()):
        named = {"name": call["function"]["name"], "arguments": ""}
        made.append(
            part({"tool_calls": [{"index": place, "id": call["id"], "type": "function", "function": named}]})
        )
        arguments = call["function"]["arguments"]
        cut = [arguments[at : at + 5] for at in range(0, len(arguments), 5)]
        made += [part({"tool_calls": [{"index": place, "function": {"arguments": a}}]}) for a in cut]
    for token in pieces(message["content"]) if message["content"] else ():
        logprobs = {"content": [_logprob(token)], "refusal": None} if choice["logprobs"] else None
        made.append(part({"content": token}, logprobs=logprobs))
    return [*made, part({}, finish)]


async def _until_left(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _json(send: Any, status: int, body: Any, headers: Any = ()) -> None:
    raw = json.dumps(body).encode()
    await Upstream._reply(send, status, raw, [(b"content-type", b"application/json"), *headers])


class Server:
    """An ASGI app under a real uvicorn, on a port of 127.0.0.1, in a thread of its own."""

    def __init__(self, app: Any, **options: Any) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=2, **options)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def __enter__(self) -> Server:
        self._thread.start()
        give_up = time.monotonic() + 20
        while not self._server.started:
            assert self._thread.is_alive() and time.monotonic() < give_up, "the server does not start"
            time.sleep(0.005)
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()


async def collected(stream: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in stream]
