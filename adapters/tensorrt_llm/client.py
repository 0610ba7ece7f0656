"""`TensorRTLLM`: one model behind a plain async callable, OpenAI-style in and out."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal, Self
from urllib.parse import SplitResult, urlsplit

from cachelayer.checks import unquoted
from cachelayer.errors import ConfigurationError
from cachelayer.exact.redis.url import shown
from cachelayer.flow.together import Once

from .errors import RequestRejected, Unavailable
from .events import Capabilities, Event, Transport
from .fleet import Fleet
from .guard import guarded
from .local import LocalTransport
from .request import UNHEARD, Request, parse
from .serve import ServeTransport
from .wire import ChunkStream, chunks, collect

Salt = Literal["optional", "required", "ignore"]


class TensorRTLLM:
    """Awaited with OpenAI's arguments it returns an answer (dict), or with stream=True an iterator of chunks
    (dicts).

    Beyond OpenAI's fields: `timeout` in seconds, `cache_salt`, `priority` (0..1), `lane`, `session`,
    `retention`. `salt='optional'` refuses a request whose salt the server cannot honour, 'required' also
    refuses requests without one, and servers without salts at `start`; 'ignore' drops salts. `tenant` gives
    the salt of a request that names none, for instance a ContextVar's `get`. Raises the errors of `errors`,
    and closes its connection, or aborts, when the caller leaves.

    Wrapped by a layer, `timeout`, `priority`, `lane`, `session`, `retention` and OpenAI's fields that change no answer
    are no part of the key, the model that `connect` was given and what `tenant` returns are."""

    cachelayer_ignored = UNHEARD

    def __init__(
        self, transport: Transport, *, salt: Salt = "optional", tenant: Callable[[], str | None] | None = None
    ) -> None:
        if salt not in ("optional", "required", "ignore"):
            raise ConfigurationError("salt", salt, "give 'optional', 'required' or 'ignore'")
        if not (tenant is None or callable(tenant)):
            raise ConfigurationError("tenant", tenant, "give a function, such as a ContextVar's get")
        self.transport = transport
        self._salt, self._tenant = salt, tenant
        self.cachelayer_vary = () if tenant is None else (tenant,)
        self.capabilities: Capabilities | None = None
        self._starting = Once(self._begin)
        self.cachelayer_version = ""
        """What the model is called where a call need not name it."""

    @classmethod
    def connect(
        cls,
        url: str | Sequence[str],
        *,
        salt: Salt = "optional",
        tenant: Callable[[], str | None] | None = None,
        fleet: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """`trtllm://[user:password@]host:8000[/path]` (also trtllms, http, https), `triton://host:8001[/model]`
        (tritons), `local:/model`. Ports left out are 8000 and 8001; 80 for http, 443 for trtllms and https.

        Several URLs are replicas of one model: a `Fleet` with routing and admission, whose arguments `fleet`
        gives (also for a single URL). No I/O: the server is asked what it is at `start`, or at the first
        request. `options` are those of the transport: `ServeTransport`, `TritonTransport`, `LocalTransport`.
        """
        urls = [url] if isinstance(url, str) else url
        if not isinstance(urls, Sequence) or not all(isinstance(one, str) for one in urls):
            raise ConfigurationError("url", unquoted(url), "give a URL, or a list of the replicas'")
        transports = [transport_of(one, **options) for one in urls]
        plain = isinstance(url, str) and fleet is None
        transport = transports[0] if plain else Fleet(transports, **(fleet or {}))
        made = cls(transport, salt=salt, tenant=tenant)
        paths = (urlsplit(one).path.rstrip("/").removesuffix("/v1") for one in urls)
        named = {str(options.get("model") or ""), *paths}
        made.cachelayer_version = " ".join(sorted(named - {""}))
        return made

    async def __aenter__(self) -> Self:
        """Asks nothing yet: the server may still be starting."""
        return self

    async def __aexit__(self, *fault: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        kind = self.capabilities.kind if self.capabilities else "not started"
        return f"<TensorRTLLM {self.transport.name} [{kind}]>"

    async def start(self) -> Capabilities:
        """Find out what the server is. Concurrent callers share one probe, which goes on though they leave, and what it
        meets; whoever asks after one that failed tries again."""
        found = self.capabilities or await self._starting()
        if found is None:
            raise Unavailable(f"{self.transport.name}: the client was closed")
        return found

    async def _begin(self) -> Capabilities:
        try:
            found = await self.transport.start()
            if self._salt == "required" and not found.salt:
                raise ConfigurationError(
                    "salt",
                    "required",
                    f"{self.transport.name} ({found.kind}) has no tenant salt: run one server a "
                    "tenant or turn block reuse off there, then say salt='ignore'",
                )
            self.capabilities = found
        finally:
            if self.capabilities is None:  # who is told so need not close what never opened
                await self.transport.aclose()
        return found

    async def __call__(self, /, **arguments: Any) -> Any:
        request = self.request(arguments)
        if request.stream:
            stream = chunks(self.events(request), request)
            return ChunkStream(await anext(stream), stream)
        return await collect(self.events(request), request)

    def request(self, arguments: dict[str, Any]) -> Request:
        """Check the arguments without sending anything. Raises RequestRejected."""
        salt = self._tenant() if self._tenant is not None else None
        request = parse(arguments, asyncio.get_running_loop().time(), salt)
        if self._salt == "required" and request.salt is None:
            raise RequestRejected("this backend requires a tenant salt: give cache_salt=")
        if self._salt == "ignore":
            request.salt = None
        return request

    def events(self, request: Request) -> AsyncGenerator[Event, None]:
        """The event sequence of one request."""
        return guarded(self.transport, request, self._ready)

    async def _ready(self, request: Request) -> None:
        found = self.capabilities or await self.start()
        completions = found.kind == "trtllm-serve" and request.messages is None
        if request.salt is not None and (completions or not found.salt):
            what = "for chat alone: send messages=" if completions and found.salt else "not at all"
            raise RequestRejected(f"{self.transport.name} knows a tenant salt {what}, or say salt='ignore'")

    async def healthy(self) -> bool:
        """Whether the server, or any of its replicas, takes requests; False too where it cannot be reached."""
        return await self.transport.healthy()

    async def aclose(self) -> None:
        """Close what is connected; what runs is cancelled."""
        await self._starting.cancel()
        self.capabilities = None
        await self.transport.aclose()


def transport_of(url: str, **options: Any) -> Transport:
    """The transport for a URL. Raises ConfigurationError for one that names none, or something of no use in it."""
    scheme, _, rest = url.partition(":")
    if scheme == "local" and rest:
        return LocalTransport(rest, **options)
    parts = _parts(url)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    if scheme in ("trtllm", "trtllms", "http", "https"):
        tls = scheme in ("trtllms", "https")
        user, at, _ = parts.netloc.rpartition("@")
        path = parts.path.rstrip("/").removesuffix("/v1")
        port = parts.port or (443 if tls else 80 if scheme == "http" else 8000)
        base = f"{'https' if tls else 'http'}://{user}{at}{host}:{port}{path}"
        return ServeTransport(base, **options)
    if scheme in ("triton", "tritons"):
        if parts.username is not None:
            raise _bad(url, "gRPC knows no user and password: give headers={'authorization': ...}")
        named = parts.path.strip("/")
        if named and options.setdefault("model", named) != named:
            raise ConfigurationError(
                "model", options["model"], f"the URL names another model, {named}: give one"
            )
        triton = importlib.import_module("..triton", __package__)
        address = f"{host}:{parts.port or 8001}"
        transport: Transport = triton.TritonTransport(address, tls=scheme == "tritons", **options)
        return transport
    raise _bad(url, "the scheme is one of trtllm, trtllms, http, https, triton, tritons, local")


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.hostname is None:
            raise _bad(url, "give trtllm://host:port, triton://host:port or local:/path/to/model")
        if parts.port == 0 or parts.query or parts.fragment:
            raise _bad(url, "give a port from 1 to 65535, and nothing behind ? or #")
    except ConfigurationError:
        raise
    except ValueError as fault:
        raise _bad(url, f"{fault}; give scheme://host:port") from None
    return parts


def _bad(url: str, remedy: str) -> ConfigurationError:
    return ConfigurationError("url", shown(url), remedy)
