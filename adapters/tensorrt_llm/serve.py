"""trtllm-serve, and any OpenAI-style server, over HTTP with server-sent events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

import orjson

from cachelayer.flow.http import Answer, Http, HttpFault, Stale
from cachelayer.observe.otel import inject

from .errors import BackendError, Overloaded, ProtocolFault, RequestRejected, Unavailable, from_status
from .events import Capabilities, End, Event, Usage
from .request import Request
from .sse import EventParser
from .wire import delta_of, events_of, start_of, usage_of

LINGER = 0.25
"""Seconds for which a stream may go on after its [DONE], so that its connection is kept."""


class ServeTransport:
    """One trtllm-serve address. Persistent connections; closing a stream closes its connection, which aborts
    it.

    The server notices a disconnect by a poll of one second, so a cancelled slot frees within that.
    `model` fills requests that name none.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        headers: Mapping[str, str] | None = None,
        connect_timeout: float = 5.0,
        max_connections: int = 1024,
    ) -> None:
        self.capabilities = Capabilities("openai", chat=True, usage=True)
        self._model = model
        fixed = {"accept-encoding": "identity", "content-type": "application/json", **(headers or {})}
        self._headers = [(name.encode("latin-1"), value.encode()) for name, value in fixed.items()]
        self._patience = connect_timeout
        self._served = set[str]()
        """Routes that the server has had."""
        self._http = Http(
            url,
            connect=connect_timeout,
            connections=max_connections,
            needed_by="TensorRTLLM over HTTP",
            extra="triton",
        )
        self.name = self._http.base

    async def start(self) -> Capabilities:
        """Ask health, version and models, and whether the chat schema knows a tenant salt."""
        if ill := await self._ill():
            raise Unavailable(f"{self.name} is not healthy: {ill}")
        version = await self._get_json("/version")
        models = await self._get_json("/v1/models")
        listed = models.get("data")
        entries = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
        names = tuple(str(m.get("id")) for m in entries)
        ours = any(m.get("owned_by") == "tensorrt_llm" for m in entries)
        self._model = self._model or (names[0] if names else None)
        self.capabilities = Capabilities(
            kind="trtllm-serve" if ours else "openai",
            version=str(version.get("version", "")),
            models=names,
            chat=True,
            usage=True,
            salt=ours and await self._knows_salt(),
        )
        return self.capabilities

    async def _asked(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and content. Raises Unavailable where the server does not say: what it knows is asked once."""
        try:
            status, content = await self._http.whole(
                method, path, within=self._patience, headers=self._headers, body=body
            )
        except HttpFault as fault:
            raise Unavailable(f"{self.name} does not answer {path}: {fault}") from fault
        if status == 429 or (status >= 500 and status != 501):
            raise Unavailable(f"{self.name} answers {path} with {status}")
        return status, content

    async def _get_json(self, path: str) -> dict[str, Any]:
        """A JSON object, {} where the route is missing or answers otherwise: absent facts degrade."""
        status, content = await self._asked("GET", path)
        try:
            body = orjson.loads(content) if status == 200 else {}
        except orjson.JSONDecodeError:
            return {}
        return body if isinstance(body, dict) else {}

    async def _knows_salt(self) -> bool:
        """A blank salt is always a 400: of the salt's value where the field exists, of a foreign field
        elsewhere."""
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": "."}],
            "max_tokens": 1,
            "cache_salt": "",
        }
        status, content = await self._asked("POST", "/v1/chat/completions", orjson.dumps(body))
        text = content.decode("utf-8", "replace")
        return status == 400 and "cache_salt" in text and not _denies_salt(text)

    async def healthy(self) -> bool:
        return not await self._ill()

    async def _ill(self) -> str:
        """Why the server is unhealthy, or "". Some servers have no /health: for those, any answer is enough."""
        try:
            status, _ = await self._http.whole("GET", "/health", within=self._patience, headers=self._headers)
        except HttpFault as fault:
            return str(fault)
        return "" if status in (200, 404, 405) else f"/health answers {status}"

    def _body(self, request: Request) -> tuple[str, bytes]:
        body = dict(request.params)
        body["model"] = request.model or self._model
        if request.messages is not None:
            path, body["messages"] = "/v1/chat/completions", request.messages
            if (
                request.salt is not None
            ):  # where nobody asked what the server knows, it refuses what it does not
                body["cache_salt"] = request.salt
        else:
            path, body["prompt"] = "/v1/completions", request.prompt
        if request.stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        try:
            return path, orjson.dumps(body)
        except TypeError as error:
            raise RequestRejected(f"the request is not JSON: {error}") from None

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """See `Transport.events`. A connection that went stale in the pool is replaced once."""
        path, body = self._body(request)
        try:
            response = await self._send(path, body)
            try:
                if response.status != 200:
                    raise await self._refusal(response, request, path)
                self._served.add(path)
                if not request.stream:
                    whole = orjson.loads(await response.read())
                    _raise_error(whole, self.name)
                    for event in events_of(whole):
                        yield event
                    yield End("stop")
                    return
                stream = _Stream(self.name)
                async for chunk in response.pieces():
                    for event in stream.feed(chunk):
                        yield event
                    if stream.done:
                        break
                # other servers end without [DONE]; that every choice finished is checked on the way out
                if not stream.done and self.capabilities.kind == "trtllm-serve":
                    raise Unavailable(f"{self.name} closed the stream without [DONE]")
                if stream.done:
                    await response.let_end(LINGER)
                if stream.usage is not None:
                    yield stream.usage
                yield End("stop")
            finally:
                response.close()
        except HttpFault as error:
            raise Unavailable(f"{self.name}: {error}") from error
        except orjson.JSONDecodeError as error:
            raise ProtocolFault(f"{self.name} sent something that is not JSON") from error
        except (AttributeError, TypeError, ValueError) as error:  # JSON of another form, wherever it is read
            raise ProtocolFault(f"{self.name} sent something that is not an answer: {error}") from error

    async def _send(self, path: str, body: bytes) -> Answer:
        traced: dict[str, str] = {}
        inject(traced)
        headers = [*self._headers, *((name.encode(), value.encode()) for name, value in traced.items())]
        try:
            return await self._http.send("POST", path, headers=headers, body=body)
        except Stale:
            return await self._http.send("POST", path, headers=headers, body=body)

    async def _refusal(self, response: Answer, request: Request, path: str) -> BackendError:
        """Schema errors are {"error": str}, run-time errors have OpenAI's or TensorRT-LLM's shape."""
        raw, status = await response.read(), response.status
        message = raw[:2000].decode("utf-8", "replace")
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            body = None
        if isinstance(body, dict):
            error = body.get("error", body)
            message = str(error.get("message", error)) if isinstance(error, dict) else str(error)
        told = isinstance(body, dict) and ("error" in body or body.get("object") == "error")
        lost = self._lost(status, message, request) or (status == 404 and not told and path in self._served)
        if lost or status >= 500 or status in (408, 429):
            page = message.lstrip().startswith("<")  # a proxy's, for a browser
            message = f"{self.name} answers {status}" + ("" if page or not message else f": {message}")
        return Unavailable(message) if lost else from_status(status, message, response.wait())

    def _lost(self, status: int, message: str, request: Request) -> bool:
        """Whether the server refuses what it had at its start: another one may be running at its address."""
        model, known = request.model or self._model, self.capabilities
        if status == 404:
            return model in known.models and str(model) in message
        return status == 400 and request.salt is not None and known.salt and _denies_salt(message)

    async def aclose(self) -> None:
        await self._http.aclose()


class _Stream:
    """The bytes of one stream as events. Usage may come with every chunk; the last one counts."""

    __slots__ = ("_name", "_parser", "_started", "done", "usage")

    def __init__(self, name: str) -> None:
        self._name, self._parser, self._started, self.done = name, EventParser(), False, False
        self.usage: Usage | None = None

    def feed(self, chunk: bytes) -> Iterator[Event]:
        for data in self._parser.feed(chunk):
            if data == b"[DONE]":
                self.done = True
                return
            body = orjson.loads(data)
            _raise_error(body, self._name)
            if not self._started:
                self._started = True
                yield start_of(body)
            for choice in body.get("choices") or ():
                delta = delta_of(choice)
                if delta is not None:
                    yield delta
            if body.get("usage"):
                self.usage = usage_of(body["usage"])


def _raise_error(body: Any, name: str) -> None:
    """An error under status 200: an event of a stream, or in place of a whole answer."""
    error = body if body.get("object") == "error" else body.get("error")
    if error is None:
        return
    message = str(error.get("message", error)) if isinstance(error, dict) else str(error)
    code = error.get("code") if isinstance(error, dict) else None
    refusal = from_status(code, message) if isinstance(code, int) and 400 <= code < 600 else None
    raise refusal if isinstance(refusal, RequestRejected | Overloaded) else Unavailable(f"{name}: {message}")


def _denies_salt(message: str) -> bool:
    """Whether a server says that it knows no field `cache_salt`."""
    words = ("extra", "not permitted", "forbid", "unknown field")
    return "cache_salt" in message and any(word in message.lower() for word in words)
