"""OpenAI-style servers over HTTP as the app behind the gateway: one is chosen, others stand in until the first byte."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson

from ...adapters.asgi.exchange import read_off
from ...adapters.asgi.middleware import ROUTES
from ...adapters.asgi.routes import nests_more
from ...exact.redis.url import redacted
from ...flow.http import Answer, Http, HttpFault, Stale
from ...flow.together import any_of
from ...flow.watch import Watch
from .parts import RetryPart, UpstreamPart
from .passing import HOP, MAX_HELD, options, pass_on
from .replies import answer_to, send_error, send_json

KEYS = (b"authorization", b"x-api-key", b"api-key")
"""Headers that carry a client's key: OpenAI's, Anthropic's, Azure's."""
_DEPLOYMENT = re.compile("/openai/deployments/([^/]+)/")
_AGAIN = frozenset({429, 502, 503, 504, 529})
"""What another upstream may do better: 529 is Anthropic's for 503."""
_BETWEEN = frozenset({502, 504})
"""Of these what a proxy says of a server that may have acted."""
_ONCE = frozenset({"POST", "PATCH"})
"""Methods that may act anew each time (RFC 9110, section 9.2.2)."""
_REFUSED = frozenset({"TRACE", "CONNECT"})
"""A server's echo would tell the key that the gateway asks with, and a tunnel to the server has no path."""
_PARENT = re.compile(rb"(?:^|[/\\])\.\.(?:$|[/\\;])")
_VERSION = re.compile(r"/v\d\w*(?:/|$)")
"""Makes a URL a client's whole base URL, as .../v1beta/openai is Google's and .../paas/v4 Z.ai's."""
_MOST_NESTED = 2**18
"""Lists and objects of a body that is read for the model that it names: 60 MiB of them took six seconds and a GiB."""
WELL = float("-inf")
MAX_BODY = 64 * 2**20
"""Bytes of a request that are held so that it can be sent again."""


class Upstream:
    """One server and what is known of it."""

    def __init__(self, part: UpstreamPart, own_keys: bool, telling: frozenset[bytes]) -> None:
        self.part, self._telling = part, telling
        self.inflight = 0
        self.last_until = WELL
        """Monotonic seconds: until then others are asked first. WELL until it failed, and once it answered again."""
        http = partial(
            Http,
            part.url,
            connect=part.connect_timeout,
            read=part.read_timeout,
            connections=0,
            trust=part.tls_ca,
            needed_by="cachelayer serve",
            extra="serve",
        )
        self.http, self._acting = http(), http(keep=False)
        key = os.environ.get(part.key_env, "") if part.key_env else ""
        scheme = "Bearer " if part.key_header == "authorization" else ""
        self.key = (part.key_header.encode(), f"{scheme}{key}".encode()) if key else None
        self.keyed = own_keys or bool(key)
        """Whether the clients' own keys stay here."""
        self._versioned = _VERSION.search(self.http.path) is not None

    async def send(self, scope: Any, body: bytes) -> Answer:
        """Send a request on; again where the server closed a kept connection meanwhile. Then, and where it may be sent
        but once, it has a connection of its own. Raises HttpFault."""
        path = scope["raw_path"].decode("latin-1")
        if self._versioned and path.startswith("/v1/"):
            path = path.removeprefix("/v1")
        query, headers = scope.get("query_string", b""), [*self._headers(scope["headers"])]
        if _cached(scope):
            streams = b'"stream"' in body
            headers = [(n, _readable(v, streams) if n == b"accept-encoding" else v) for n, v in headers]
        asked = {"query": query, "headers": headers, "body": body}
        if not _once(scope):
            with suppress(Stale):  # the other kept ones may have been closed as well
                return await self.http.send(scope["method"], path, **asked)
        return await self._acting.send(scope["method"], path, **asked)

    def tried(self, pause: float) -> bool:
        """Whether the request that is sent now finds out if this upstream, which failed, is well again. One in `pause`
        seconds does: the others need not wait for what may be no more there."""
        now = time.monotonic()
        if not WELL < self.last_until <= now:
            return False
        self.last_until = now + pause
        return True

    async def aclose(self) -> None:
        await self.http.aclose()
        await self._acting.aclose()

    async def answers(self) -> bool:
        """Whether the upstream answers at all, with whatever status."""
        try:
            await self.http.whole("GET", "/health", within=self.part.connect_timeout)
        except HttpFault:
            return False
        return True

    def _headers(self, headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
        hop = HOP | (options(headers) - self._telling)
        for name, value in headers:
            if name in hop or name == b"content-length" or name == b"cachelayer":
                continue
            if self.keyed and name in KEYS:
                continue
            yield name, value
        if self.key is not None:
            yield self.key


class Upstreams:
    """The app: forwards every request. Tries another upstream as long as nothing was sent to the caller.

    `own_keys`: the clients' keys are the gateway's own and go no further. `telling`: headers by which requests are told
    apart; they are sent on even where a client calls them its connection's. `tell`: the log.
    """

    def __init__(
        self,
        parts: Sequence[UpstreamPart],
        retry: RetryPart,
        *,
        own_keys: bool = False,
        telling: Iterable[bytes] = (),
        tell: Callable[..., None] | None = None,
    ) -> None:
        self.retry, self._tell, self._closed = retry, tell, False
        self.all = [Upstream(part, own_keys, frozenset(telling)) for part in parts]
        self._below = any(one.http.path for one in self.all)
        self._models = _listed(parts) if all(part.models for part in parts) else b""

    async def aclose(self) -> None:
        self._closed = True
        for one in self.all:
            await one.aclose()

    async def ready(self) -> bool:
        """Whether any upstream answers; returns as soon as one does."""
        return await any_of(one.answers() for one in self.all)

    def order(self, model: str | None) -> list[Upstream]:
        """The upstreams that serve the model (all, if none is named), the least busy first, recent failures last; of
        equally busy ones of these the one first whose time is up soonest."""
        able = [one for one in self.all if model is None or not one.part.models or model in one.part.models]
        now = time.monotonic()
        return sorted(
            able, key=lambda one: (now < one.last_until, one.inflight, max(0.0, one.last_until - now))
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._below and _PARENT.search(unquote_to_bytes(scope["raw_path"])):
            await send_error(send, 400, "the path leads out of the upstream's own", "invalid_path")
            return
        if scope["method"] in _REFUSED:
            await send_error(send, 405, f"the gateway sends no {scope['method']} on", "method_not_allowed")
            return
        body = await body_of(receive, send)
        if body is None:
            return
        if self._models and scope["path"] == "/v1/models" and scope["method"] == "GET":
            await send_json(send, 200, self._models)
            return
        model = _model(scope["path"], body) if any(one.part.models for one in self.all) else None
        able = self.order(model)[: self.retry.attempts]
        if not able:
            await send_error(send, 404, f"no upstream serves the model {model!r}", "model_not_found")
            return
        with Watch(lambda: left(receive)):
            await self._try(able, scope, body, send)

    async def _try(self, able: list[Upstream], scope: Any, body: bytes, send: Any) -> None:
        answer, refused, once = (502, "no upstream answered"), None, _once(scope)
        for at, one in enumerate(able):
            try:
                passed = await self._forward(one, scope, body, send, once=once, last=at + 1 == len(able))
                if passed is None:
                    return
                if refused is None or passed.status == 429:
                    refused = passed
            except HttpFault as broken:
                answer, why = answer_to(broken)
                self._failed(one, why)
                if once and broken.asked:
                    refused = None  # the caller is told of the upstream that may have acted
                    break
        wait = None
        if refused is not None:
            answer, wait = (refused.status, "the upstream is unavailable"), refused.wait()
        await send_error(send, *answer, "upstream_error", retry_after=wait)

    def _failed(self, one: Upstream, why: str, wait: float | None = None) -> None:
        """Ask this upstream last for a while, and log it, once for as long as it keeps failing."""
        now = time.monotonic()
        if self._tell is not None and one.last_until == WELL and not self._closed:
            self._tell("upstream_failed", upstream=redacted(one.part.url), why=why)
        one.last_until = now + (self.retry.cooldown if wait is None else wait)

    async def _forward(
        self, one: Upstream, scope: Any, body: bytes, send: Any, *, once: bool, last: bool
    ) -> Answer | None:
        """Forward the request: None if the caller was answered, else a response that another upstream may improve on.

        Raises HttpFault if the upstream failed before anything was sent to the caller."""
        one.inflight += 1
        trial = one.tried(self.retry.cooldown)
        try:
            response = await one.send(scope, body)
            try:
                if trial and response.status not in _AGAIN:
                    one.last_until = WELL
                if response.status in _AGAIN:
                    if response.status != 429 or one.keyed:  # a key's own limit is no fault of the server's
                        self._failed(one, f"status {response.status}", response.wait())
                    if not last and not (once and response.status in _BETWEEN):
                        return response
                held = MAX_HELD if _cached(scope) else 0
                if cut := await pass_on(response, send, held):
                    self._failed(one, cut.kind)
                return None
            finally:
                response.close()
        finally:
            one.inflight -= 1


async def left(receive: Any) -> None:
    """Return when the caller has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def body_of(receive: Any, send: Any) -> bytes | None:
    """The request's body; None if the caller left before its end, or was answered that it is too large."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MAX_BODY:
            if message.get("more_body", False):
                await read_off(receive)
            says = f"the request body is larger than the {MAX_BODY} bytes that the gateway forwards"
            await send_error(send, 413, says, "request_too_large")
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _listed(parts: Sequence[UpstreamPart]) -> bytes:
    """The models that the owner named, in OpenAI's form, because each upstream would list only its own."""
    named = dict.fromkeys(name for part in parts for name in part.models)
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "gateway"} for name in named]
    return orjson.dumps({"object": "list", "data": data})


def _cached(scope: Any) -> bool:
    """Whether answers to a request may be kept, by its path."""
    return any(route.stands_at(scope["path"]) for route in ROUTES)


def _once(scope: Any) -> bool:
    """Whether a request must not be sent again once an upstream may have got it: it may upload, start a batch or call
    a tool. A request whose answer may be cached only asks."""
    return scope["method"] in _ONCE and not _cached(scope)


def _model(path: str, body: bytes) -> str | None:
    """The model that a request names: Azure's paths do, elsewhere its body."""
    if named := _DEPLOYMENT.match(path):
        return named[1]
    if nests_more(body, _MOST_NESTED):
        return None
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    model = found.get("model") if isinstance(found, dict) else None
    return model if isinstance(model, str) else None


def _readable(codings: bytes, streams: bool) -> bytes:
    """Of the content codings that a caller takes those in which an answer can be kept; a stream has none."""
    taken = [one for one in codings.split(b",") if one.strip().lower().startswith((b"gzip", b"deflate"))]
    return b"identity" if streams else b",".join(taken) or b"identity"
