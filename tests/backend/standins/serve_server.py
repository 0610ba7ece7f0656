"""Stand-in for trtllm-serve 1.2: its strict schemas, its framing, its ways to fail. Bytes are written by
hand.

Keys of a script: `cut` (bytes a TCP write), `crlf`, `drop_after` (events, then the connection closes),
`finish`, `reasoning`, `calls` (tool-call deltas), `details` (False: usage without prompt_tokens_details),
`runtime` (a run-time error text), `status`, `retry_after` and `date`, `crash` (the server exits), `linger` (a path:
after [DONE] the body goes on until it exists)."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from script import Script, parse
from until import until

COMMON = set(
    "model max_tokens temperature top_p n stop seed presence_penalty frequency_penalty response_format stream"
    " stream_options user top_k min_p repetition_penalty stop_token_ids ignore_eos min_tokens"
    " truncate_prompt_tokens".split()
)
CHAT = COMMON | {
    "messages",
    "max_completion_tokens",
    "tools",
    "tool_choice",
    "cache_salt",
    "prompt_token_ids",
}
COMPLETION = COMMON | {"prompt", "echo", "detokenize"}
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 503: "Service Unavailable"}


class ServeStandin:
    """One server in this event loop. `requests` are the bodies it took, `aborted` the ids it stopped."""

    def __init__(
        self, *, model: str = "tiny-llama", knows_salt: bool = True, owner: str = "tensorrt_llm"
    ) -> None:
        self.model, self.owner = model, owner
        self.chat_fields = CHAT if knows_salt else CHAT - {"cache_salt"}
        self.healthy = True
        self.requests: list[dict[str, Any]] = []
        self.running: set[str] = set()
        self.aborted: list[str] = []
        self.connections = 0
        self._stats = [{"iter": 1, "numActiveRequests": 0}]
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        """Connections that nobody has closed."""
        return len(self._writers)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def crash(self) -> None:
        """Every connection is reset and new ones are refused."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        routes: dict[tuple[str, str], Callable[[], tuple[int, Any]]] = {
            ("GET", "/health"): lambda: (200, b"") if self.healthy else (503, b"LLM is unavailable"),
            ("GET", "/version"): lambda: (200, {"version": "1.2.1"}),
            ("GET", "/v1/models"): lambda: (200, {"object": "list", "data": [self._model_entry()]}),
            ("GET", "/metrics"): lambda: (200, self._drain()),
        }
        if (method, path) in routes:
            return self._reply(writer, *routes[method, path]())
        if method != "POST" or path not in ("/v1/chat/completions", "/v1/completions"):
            return self._reply(writer, 404, {"detail": "Not Found"})
        return await self._generate(path, json.loads(raw), reader, writer)

    def _model_entry(self) -> dict[str, Any]:
        return {"id": self.model, "object": "model", "created": 1, "owned_by": self.owner}

    def _drain(self) -> list[Any]:
        stats, self._stats = self._stats, []
        return stats

    def _reply(self, writer: asyncio.StreamWriter, status: int, body: Any, extra: str = "") -> bool:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"HTTP/1.1 {status} {REASONS[status]}\r\ncontent-length: {len(raw)}\r\n{extra}\r\n"
        writer.write(head.encode() + raw)
        return True

    def _refusal(self, path: str, body: dict[str, Any]) -> str | None:
        chat = path.endswith("chat/completions")
        foreign = body.keys() - (self.chat_fields if chat else COMPLETION)
        if foreign:
            where = f"'loc': '{min(foreign)}'"
            return f"[{{'type': 'extra_forbidden', {where}, 'msg': 'Extra inputs are not permitted'}}]"
        if not str(body.get("cache_salt", "x")).strip():
            return "[{'type': 'value_error', 'loc': 'cache_salt', 'msg': 'must be a non-empty string'}]"
        if "stream_options" in body and not body.get("stream"):
            return "stream_options is only allowed with stream"
        return None

    async def _generate(
        self, path: str, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        self.requests.append(body)
        refusal = self._refusal(path, body)
        if refusal is not None:
            return self._reply(writer, 400, {"error": refusal})
        chat = path.endswith("chat/completions")
        script = parse(body["messages"][-1]["content"] if chat else body["prompt"])
        rest = script.rest
        if "runtime" in rest:
            error = {
                "object": "error",
                "message": rest["runtime"],
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
            return self._reply(writer, 400, error)
        if "status" in rest:
            named = {"retry-after": rest.get("retry_after"), "date": rest.get("date")}
            extra = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value is not None)
            return self._reply(writer, rest["status"], {"object": "error", "message": "no"}, extra)
        if "crash" in rest:
            await self.crash()
            return False
        run = _Run(self, script, body, chat)
        self.running.add(run.id)
        gone = asyncio.ensure_future(reader.read(1))
        answer = asyncio.ensure_future(run.stream(writer) if body.get("stream") else run.whole())
        done, _ = await asyncio.wait({gone, answer}, return_when=asyncio.FIRST_COMPLETED)
        self.running.discard(run.id)
        if answer not in done:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
            self.aborted.append(run.id)
            return False
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        result = answer.result()
        return self._reply(writer, 200, result) if isinstance(result, dict) else bool(result)


class _Run:
    """One generation."""

    def __init__(self, server: ServeStandin, script: Script, body: dict[str, Any], chat: bool) -> None:
        self.script, self.body, self.chat = script, body, chat
        self.id = f"chatcmpl-{id(self):x}"
        self.base = {
            "id": self.id,
            "object": "chat.completion.chunk" if chat else "text_completion",
            "created": int(time.time()),
            "model": server.model,
        }
        self.limit = body.get("max_completion_tokens") or body.get("max_tokens") or 16
        self.tokens = script.tokens(self.limit)
        self.finish = script.rest.get("finish") or script.finish(self.limit)

    def usage(self) -> dict[str, Any]:
        prompt = 7
        usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": len(self.tokens)}
        usage["total_tokens"] = prompt + len(self.tokens)
        if self.script.rest.get("details", True):
            usage["prompt_tokens_details"] = {"cached_tokens": 4}
        return usage

    async def hold(self, position: int) -> None:
        await until(lambda: not self.script.held(position))

    async def whole(self) -> dict[str, Any]:
        await self.hold(self.script.hold_after)
        text = "".join(self.tokens)
        choices = []
        for index in range(self.body.get("n", 1)):
            choice: dict[str, Any] = {
                "index": index,
                "finish_reason": self.finish,
                "stop_reason": None,
                "logprobs": None,
            }
            message = {"role": "assistant", "content": text, "reasoning_content": "", "tool_calls": []}
            choices.append(choice | ({"message": message} if self.chat else {"text": text}))
        kind = "chat.completion" if self.chat else "text_completion"
        return self.base | {"object": kind, "choices": choices, "usage": self.usage()}

    def chunk(self, index: int, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        part = {"delta": delta} if self.chat else {"text": delta.get("content", "")}
        return self.base | {"choices": [{"index": index, "finish_reason": finish, **part}]}

    async def events(self) -> AsyncIterator[bytes]:
        many = range(self.body.get("n", 1))
        if self.chat:
            for index in many:  # the role chunk has a blank before its line end
                yield b"data: " + json.dumps(self.chunk(index, {"role": "assistant"})).encode() + b" \n\n"
        for text in self.script.rest.get("reasoning", ()):
            yield _data(self.chunk(0, {"reasoning_content": text}))
        for call in self.script.rest.get("calls", ()):
            yield _data(self.chunk(0, {"tool_calls": [call]}))
        for position, token in enumerate(self.tokens):
            await self.hold(position)
            last = position + 1 == len(self.tokens)
            for index in many:
                if position == 0:
                    yield _data(self.chunk(index, {"content": ""}))  # a token that is not text yet
                yield _data(self.chunk(index, {"content": token}, self.finish if last else None))
        if (self.body.get("stream_options") or {}).get("include_usage"):
            yield _data(self.base | {"choices": [], "usage": self.usage()})
        yield b"data: [DONE]\n\n"

    async def stream(self, writer: asyncio.StreamWriter) -> bool:
        """False if the connection is to be closed."""
        rest = self.script.rest
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        await writer.drain()  # the headers say nothing about the first token
        sent, buffer = 0, b""
        async for event in self.events():
            buffer += event.replace(b"\n", b"\r\n") if rest.get("crlf") else event
            sent += 1
            if sent == rest.get("drop_after"):
                await self.write(writer, buffer)
                return False
            if "cut" not in rest:
                await self.write(writer, buffer)
                buffer = b""
        size = rest.get("cut", 1 << 20)
        for start in range(0, len(buffer), size):
            await self.write(writer, buffer[start : start + size])
        if "linger" in rest:
            await until(lambda: os.path.exists(rest["linger"]))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()


def _data(body: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"
