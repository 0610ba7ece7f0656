"""What is asked: a function of this process, or an OpenAI-style endpoint."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import time
from collections.abc import Mapping
from typing import Any, Protocol

import orjson

from ...adapters.openai_wire.sse import Framer, payloads
from ...errors import CacheLayerError, ConfigurationError
from ...layer import CacheLayer
from ...signatures import signature
from ...types import Source
from ..chats import chat_url, httpx_for, key_headers
from .measured import Sample
from .traffic import Item

_MADE = (Source.BACKEND, Source.BYPASS)


class Target(Protocol):
    """Serves one request and notes its times in the sample; faults of the target are the sample's status."""

    async def serve(self, item: Item, sample: Sample) -> None: ...
    async def aclose(self) -> None: ...


class _Noted:
    """Whatever a function raises is what is measured, save a fault of configuration."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> bool:
        if not isinstance(fault, Exception) or isinstance(fault, ConfigurationError):
            return False
        fail(self._sample, fault)
        return True


class Function:
    """A function of this process, wrapped by a layer or not; `cached=False` goes past the cache."""

    def __init__(self, function: Any, *, cached: bool) -> None:
        self._function = getattr(function, "aio", function)
        self._call = self._function
        if hasattr(function, "outcome"):
            self._call = self._function.outcome if cached else self._function.bypass
        parameters = signature(function).parameters
        self._chat = "messages" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self._taken = None if any(p.kind is p.VAR_KEYWORD for p in parameters.values()) else set(parameters)

    async def serve(self, item: Item, sample: Sample) -> None:
        sample.sent = time.monotonic()
        with _Noted(sample):
            if self._chat:
                known = item.body.items()
                body = {k: v for k, v in known if self._taken is None or k in self._taken}
                answer = self._call(**body)
            else:
                answer = self._call(item.text)
            if inspect.isawaitable(answer):
                answer = await answer
            if hasattr(answer, "source"):
                sample.hit = answer.source not in _MADE
                sample.why = " ".join(f"{tier}:{reason}" for tier, reason in [*answer.misses.items()][-1:])
                answer = answer.answer
            if hasattr(answer, "__anext__"):
                async for _ in answer:
                    piece(sample)
        sample.last = time.monotonic()

    async def aclose(self) -> None:
        """Nothing to release: the layer is its owner's."""


class Endpoint:
    """POST {url}/chat/completions, streamed. A hit is what the header Cache-Status (RFC 9211) calls one."""

    def __init__(self, url: str, *, headers: Mapping[str, str], stream: bool, timeout: float) -> None:
        httpx = httpx_for("cachelayer bench URL", "serve")
        self._url, sent = chat_url(httpx, url), {**key_headers(), **headers}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self._faults = (httpx.HTTPError, OSError)
        self._client = httpx.AsyncClient(
            timeout=timeout, headers={**sent, "content-type": "application/json"}, limits=limits
        )
        self._stream = stream

    async def serve(self, item: Item, sample: Sample) -> None:
        body = orjson.dumps({**item.body, "stream": self._stream})
        sample.sent = time.monotonic()
        try:
            async with self._client.stream("POST", self._url, content=body) as response:
                if response.status_code >= 400:
                    sample.status = "shed" if response.status_code in (429, 503) else "error"
                    sample.fault = f"HTTP {response.status_code}"
                status = response.headers.get("cache-status")
                if status is not None:
                    sample.hit = "; hit" in status
                    sample.why = _why(status)
                streamed = response.headers.get("content-type", "").startswith("text/event-stream")
                framer = Framer()
                async for chunk in response.aiter_bytes():
                    for data in payloads(framer.feed(chunk)) if streamed else ():
                        if _says_something(data, sample):
                            piece(sample)
        except self._faults as fault:
            fail(sample, fault)
        sample.last = time.monotonic()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _why(status: str) -> str:
    """What `Cache-Status` says of a miss: 'similar:guard' of detail="memory:absent similar:guard kept:..."."""
    found = re.search(r'detail="?([^";]+)', status)
    tiers = found[1].partition(" kept:")[0].split(" ") if found else [""]
    return tiers[-1] if ":" in tiers[-1] else " ".join(tiers)


def _says_something(data: bytes, sample: Sample) -> bool:
    try:
        parsed = orjson.loads(data)
        if parsed.get("error") is not None:
            sample.status, sample.fault = "error", "an error event in the stream"
        choice = (parsed.get("choices") or [{}])[0]
        delta = choice.get("delta") or {}
        return bool(delta.get("content") or delta.get("tool_calls") or choice.get("text"))
    except (orjson.JSONDecodeError, AttributeError, LookupError, TypeError):  # of another form
        return False


def piece(sample: Sample) -> None:
    """A piece of the answer came."""
    now = time.monotonic()
    if sample.first is None:
        sample.first = now
    else:
        sample.gaps.append(now - sample.last)
    sample.last = now


def fail(sample: Sample, fault: BaseException) -> None:
    """The request failed; overload of a backend that says so is a shed."""
    sample.status = "shed" if type(fault).__name__ in ("Shed", "Overloaded", "RateLimitError") else "error"
    sample.fault, sample.said = type(fault).__name__, str(fault)[:200]


def found(name: str) -> Any:
    """The object that 'package.module:attribute' names. Raises CacheLayerError."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        held: Any = importlib.import_module(module)
        for part in attribute.split("."):
            held = getattr(held, part)
    except (ImportError, AttributeError, ValueError) as fault:
        raise CacheLayerError(
            f"{name}: {fault}; name an async function like app.main:ask, or a URL like http://host:port/v1"
        ) from None
    finally:
        sys.path.pop(0)
    if not callable(held):
        raise CacheLayerError(f"{name} is not a function; name an async function like app.main:ask")
    return held


def layers_of(name: str) -> list[CacheLayer]:
    """The layers in the module of 'module:attribute', to be started before anything is measured."""
    module = sys.modules.get(name.partition(":")[0])
    return [] if module is None else [held for held in vars(module).values() if isinstance(held, CacheLayer)]
