"""Model servers of TensorRT-LLM, over HTTP or Triton's gRPC, as the app behind the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import orjson

from ...adapters.tensorrt_llm import BackendError, DeadlineExceeded, TensorRTLLM
from ...errors import ConfigurationError
from ...flow.watch import Watch
from .parts import UpstreamPart
from .replies import error_body, send_error, send_json
from .upstream import body_of, left

ROUTES = ("/v1/chat/completions", "/v1/completions")


def _chatml(messages: Sequence[Mapping[str, Any]]) -> str:
    said = [f"<|im_start|>{m['role']}\n{_text(m)}<|im_end|>\n" for m in messages]
    return "".join(said) + "<|im_start|>assistant\n"


def _llama3(messages: Sequence[Mapping[str, Any]]) -> str:
    header = "<|start_header_id|>{}<|end_header_id|>\n\n"
    said = [f"{header.format(m['role'])}{_text(m)}<|eot_id|>" for m in messages]
    return f"<|begin_of_text|>{''.join(said)}{header.format('assistant')}"


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content or ())


TEMPLATES = {"chatml": _chatml, "llama3": _llama3}


class Models:
    """Speaks OpenAI's API; several URLs are replicas of one model, and another one stands in until the first token.

    `tenant` gives the salt that keeps tenants' prefixes apart where the servers know salts.
    """

    def __init__(self, parts: Sequence[UpstreamPart], tenant: Callable[[], str | None]) -> None:
        urls = [part.url for part in parts]
        first = parts[0]
        options: dict[str, Any] = {}
        if all(url.startswith("triton") for url in urls):
            template = TEMPLATES.get(first.template)
            options = {"template": template, "unknown_finish": first.unknown_finish}
        self._tenant = tenant
        self.llm = TensorRTLLM.connect(
            urls[0] if len(urls) == 1 else urls, tenant=lambda: self._salt(tenant()), **options
        )

    def _salt(self, tenant: str | None) -> str | None:
        known = self.llm.capabilities
        return tenant if known is not None and known.salt else None

    async def aclose(self) -> None:
        await self.llm.aclose()

    async def ready(self) -> bool:
        """Whether any replica is healthy."""
        return await self.llm.healthy()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/v1/models" and scope["method"] == "GET":
            await self._list(send)
        elif scope["path"] in ROUTES and scope["method"] == "POST":
            await self._complete(receive, send)
        else:
            await send_error(send, 404, f"the gateway has no {scope['path']}", "not_found")

    async def _list(self, send: Any) -> None:
        try:
            found = await self.llm.start()
        except (BackendError, ConfigurationError) as fault:
            await _refuse(send, fault)
            return
        data = [
            {"id": name, "object": "model", "created": 0, "owned_by": found.kind} for name in found.models
        ]
        await send_json(send, 200, orjson.dumps({"object": "list", "data": data}))

    async def _complete(self, receive: Any, send: Any) -> None:
        body = await body_of(receive, send)
        if body is None:
            return
        try:
            asked = orjson.loads(body)
        except orjson.JSONDecodeError:
            asked = None
        if not isinstance(asked, dict):
            await send_error(send, 400, "the request body is not a JSON object", "invalid_json")
            return
        with Watch(lambda: left(receive)):
            await self._answer(asked, send)

    async def _answer(self, asked: dict[str, Any], send: Any) -> None:
        try:
            salt = asked.get("cache_salt")
            if salt is not None:  # parts a tenant's prefixes, and joins nobody else's
                asked["cache_salt"] = orjson.dumps([self._tenant(), str(salt)]).decode()
            if self.llm.capabilities is None:
                await self._start(asked)
            answer = await self.llm(**asked)
        except (BackendError, ConfigurationError) as fault:
            await _refuse(send, fault)
            return
        if isinstance(answer, dict):
            await send_json(send, 200, orjson.dumps(answer))
        else:
            await _stream(answer, send)

    async def _start(self, asked: dict[str, Any]) -> None:
        """Ask the servers what they are, in the time that the request has. Raises RequestRejected for what is none."""
        loop, deadline = asyncio.get_running_loop(), self.llm.request(asked).deadline
        try:
            async with asyncio.timeout_at(deadline):
                await self.llm.start()
        except TimeoutError:
            raise DeadlineExceeded("no model server answered before the request's deadline") from None
        if deadline is not None:
            asked["timeout"] = max(0.001, deadline - loop.time())


async def _refuse(send: Any, fault: BackendError | ConfigurationError) -> None:
    """Upstreams that are not what the settings say they are serve nobody: a 503, too."""
    status, after = (fault.status, fault.retry_after) if isinstance(fault, BackendError) else (503, None)
    await send_error(send, status, str(fault), "upstream_error", retry_after=after)


async def _stream(chunks: AsyncIterator[dict[str, Any]], send: Any) -> None:
    headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
    try:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async for chunk in chunks:
                event = b"data: " + orjson.dumps(chunk) + b"\n\n"
                await send({"type": "http.response.body", "body": event, "more_body": True})
            last = b"data: [DONE]\n\n"
        except BackendError as fault:
            last = b"data: " + error_body(str(fault), "upstream_error") + b"\n\n"
        await send({"type": "http.response.body", "body": last, "more_body": False})
    finally:
        await chunks.aclose()  # type: ignore[attr-defined]
