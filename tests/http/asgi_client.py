"""Requests to an ASGI app in process, with every message to be seen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    """A response: its parts are the body's messages."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    complete: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str:
        return ", ".join(v.decode() for n, v in self.headers if n.lower() == name.encode())

    @property
    def hit(self) -> bool:
        return "; hit" in self.header("cache-status")

    def events(self) -> list[Any]:
        """The stream's chunks; [DONE] as None."""
        told = self.body.replace(b"\r\n", b"\n").split(b"\n\n")
        data = [block.removeprefix(b"event: error\n").removeprefix(b"data: ") for block in told if block]
        return [None if one == b"[DONE]" else json.loads(one) for one in data]

    def text(self) -> str:
        chunks = [c for c in self.events() if c and c["choices"]]
        return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks)


class Call:
    """One request on its way: `wait` for its answer, `leave` it as a client that closes the connection."""

    def __init__(self, app: Any, scope: dict[str, Any], messages: list[dict[str, Any]]) -> None:
        self.answer = Answer()
        self.note: Callable[[Any], object] = lambda message: None
        """Told of every message."""
        self._messages = messages
        self._left, self._progress = asyncio.Event(), asyncio.Event()
        self.window: asyncio.Semaphore | None = None
        self.raises = False
        """Whether sending to a client who left raises, as ASGI 2.4 has it."""
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._messages:
            return self._messages.pop(0)
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.note(message)
        if self._left.is_set():
            if self.raises:
                raise OSError("the client is gone")
            return
        if message["type"] == "http.response.trailers":
            return
        if message["type"] == "http.response.start":
            self.answer.status, self.answer.headers = message["status"], list(message.get("headers", ()))
        else:
            if self.window is not None:
                await self.window.acquire()
            self.answer.parts.append(message.get("body", b""))
            self.answer.complete = not message.get("more_body", False)
        self._progress.set()

    async def parts(self, n: int) -> None:
        """Wait for n messages of the body."""
        while len(self.answer.parts) < n:
            self._progress.clear()
            await self._progress.wait()

    def leave(self) -> None:
        self._left.set()

    async def wait(self) -> Answer:
        await self.task
        return self.answer


class Client:
    """Sends requests to one app; `headers` go with each."""

    def __init__(self, app: Any, key: str | None = "sk-test", **headers: str) -> None:
        self.app = app
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            self.headers["authorization"] = f"Bearer {key}"

    def start(
        self,
        path: str,
        body: Any,
        *,
        method: str = "POST",
        query: bytes = b"",
        pieces: int = 1,
        **headers: str,
    ) -> Call:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        told = {
            **self.headers,
            **{n.replace("_", "-"): v for n, v in headers.items()},
            "content-type": "application/json",
        }
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
            "method": method, "path": path, "raw_path": path.encode(), "query_string": query, "root_path": "",
            "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
            "headers": [(n.encode(), v.encode()) for n, v in told.items()],
        }  # fmt: skip
        size = max(1, -(-len(raw) // pieces))
        cut = [raw[at : at + size] for at in range(0, len(raw), size)] or [b""]
        messages = [{"type": "http.request", "body": part, "more_body": True} for part in cut]
        messages[-1]["more_body"] = False
        return Call(self.app, scope, messages)

    async def post(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.start(path, body, **options).wait()

    def chatting(self, text: Any, **fields: Any) -> Call:
        headers = fields.pop("headers", {})
        return self.start("/v1/chat/completions", ask(text, **fields), **headers)

    async def chat(self, text: Any, **fields: Any) -> Answer:
        return await self.chatting(text, **fields).wait()


def ask(text: Any, **fields: Any) -> dict[str, Any]:
    said = text if isinstance(text, str) else json.dumps(text)
    return {"model": "m", "messages": [{"role": "user", "content": said}], **fields}
