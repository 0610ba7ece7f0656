"""The gateway's app: health and keys in front, the middleware in the middle, upstreams behind."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...adapters.asgi import CacheLayerMiddleware, Header, Resolver
from ...adapters.asgi.principals import CREDENTIALS
from ...exact.redis.url import redacted
from ...layer import CacheLayer, engine_of
from ...policy import Budgets, Policy
from .logs import Log, Logged
from .models import Models
from .origins import Origins
from .parts import CachePart, Config, KeyPart
from .replies import send_error, send_json
from .upstream import KEYS, Upstreams


class Keys:
    """Keys that the gateway gives its clients, held as hashes: who they are, and whether they are trusted.

    As a resolver it covers the headers that carry them: they go no further, so no answer depends on them.
    """

    covers = frozenset(KEYS)

    def __init__(self, parts: Sequence[KeyPart]) -> None:
        self._known: dict[bytes, KeyPart] = {}
        for part in parts:
            digest = part.sha256 or hashlib.sha256(os.environ[part.env].encode()).hexdigest()
            self._known[bytes.fromhex(digest)] = part

    def __bool__(self) -> bool:
        return bool(self._known)

    def of(self, scope: Any) -> KeyPart | None:
        """The key that a request carries. Its hash is looked up, so that timing tells nothing about the key."""
        given = [value for name, value in scope["headers"] if name == KEYS[0]]
        if not given:
            given = [b"Bearer " + value for name, value in scope["headers"] if name in KEYS]
        if len(given) != 1 or not given[0].lower().startswith(b"bearer "):
            return None
        return self._known.get(hashlib.sha256(given[0][7:].strip()).digest())

    def __call__(self, scope: Any) -> str | None:
        """The tenant that a request belongs to."""
        key = self.of(scope)
        return None if key is None else key.tenant

    def caller(self, scope: Any) -> str:
        """Which of the tenant's keys asks, whatever other credentials come with it."""
        key = self.of(scope)
        return "" if key is None else key.sha256 or key.env

    def trusted(self, scope: Any) -> bool:
        key = self.of(scope)
        return key is not None and key.trusted

    def known(self, scope: Any) -> bool:
        return self.of(scope) is not None


class Gateway:
    """See `CacheLayerMiddleware` for what it does in between. `draining` turns /readyz to 503; `started` is called once
    all that it starts with is loaded."""

    def __init__(self, config: Config, started: Callable[[], None] = lambda: None) -> None:
        self.config, self._started = config, started
        self.keys = Keys(config.key)
        self.layer = layer_of(config.cache)
        self.log = Log(config.server.log)
        plain = config.upstream[0].url.startswith("http")
        self.behind: Upstreams | Models = (
            Upstreams(
                config.upstream,
                config.retry,
                own_keys=bool(self.keys),
                telling=_telling(config),
                tell=self.log.tell,
            )
            if plain
            else Models(config.upstream, self._tenant)
        )
        self._origins = Origins(config.server.origins) if config.server.origins else None
        self._metrics = self.layer.metrics().asgi() if config.server.metrics else None
        self.draining = self.stopping = False
        callers = config.callers
        self._app = CacheLayerMiddleware(
            self.behind,
            layer=self.layer,
            principal=self._resolver(),
            public=callers.public,
            secret=config.cache.secret or None,
            authorize=self.keys.known if self.keys else None,
            vary=config.cache.vary,
            trust=self.keys.trusted if self.keys else callers.trust,
            recheck=callers.recheck,
            on_leave="finish" if callers.on_leave == "finish" else "stop",
            max_body=config.server.max_body,
            too_large="refuse" if config.server.too_large == "refuse" else "pass",
            name="gateway",
            lifespan=False,
        )
        self._served = Logged(self._app, self.log) if config.server.log != "off" else self._app

    def _resolver(self) -> Resolver | None:
        if self.keys:
            return self.keys
        named = self.config.callers.principal_header
        return Header(named) if named else None

    def _tenant(self) -> str | None:
        return engine_of(self.layer).noting.tenant

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        kind = scope["type"]
        if self._origins is not None and kind == "http":
            send = await self._origins.passed(scope, send)
            if send is None:
                return
        if kind == "lifespan":
            await self._lifespan(receive, send)
        elif any(name == b"sec-websocket-key" for name, _ in scope["headers"]):
            await send_error(send, 501, "the gateway sends no websockets on", "not_implemented")
        elif scope["path"] in ("/healthz", "/readyz"):
            await self._health(scope["path"], send)
        elif scope["path"] == "/metrics" and self._metrics is not None:
            await self._metrics(scope, receive, send)
        elif self.keys and self.keys.of(scope) is None:
            await send_error(send, 401, "the gateway does not know this key", "invalid_api_key")
        else:
            await self._served(scope, receive, send)

    async def _health(self, path: str, send: Any) -> None:
        if path == "/healthz":
            await send_json(send, 200, b'{"status":"alive"}')
        elif self.draining:
            await send_json(send, 503, b'{"status":"draining"}')
        elif await self.behind.ready():
            await send_json(send, 200, b'{"status":"ready"}')
        else:
            await send_json(send, 503, b'{"status":"no upstream answers"}')

    async def _lifespan(self, receive: Any, send: Any) -> None:
        await receive()
        with engine_of(self.layer).faults.guard("start"):
            await self.layer.start()
        self._started()
        urls = [redacted(one.url) for one in self.config.upstream]
        part = self.config.server
        host = f"[{part.host}]" if ":" in part.host else part.host
        here = f"{'https' if part.tls_cert else 'http'}://{host}:{part.port}/v1"
        self.log.tell(
            "started", base_url=here, upstreams=urls, cache=repr(self.layer), keys=len(self.config.key)
        )
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.draining = True
        await self.behind.aclose()
        await self.layer.aclose()
        self.log.tell("stopped", lines_dropped=self.log.dropped)
        self.log.close()
        await send({"type": "lifespan.shutdown.complete"})


def _telling(config: Config) -> Iterable[bytes]:
    """Request headers by which the cache tells requests apart."""
    named = (*config.cache.vary, config.callers.principal_header)
    return (*CREDENTIALS, *(name.lower().encode() for name in named))


def layer_of(cache: CachePart) -> CacheLayer:
    """The layer that a [cache] section describes."""
    semantic: Any = {"auto": "auto", "on": True, "off": False}[cache.semantic]
    policy = Policy(
        ttl=cache.ttl,
        max_bytes=cache.max_bytes,
        max_item_bytes=cache.max_item_bytes,
        max_error_rate=cache.max_error_rate,
        stale_while_revalidate=cache.stale_while_revalidate,
        stale_if_error=cache.stale_if_error,
        budgets=Budgets(store=cache.redis_budget),
    )
    return CacheLayer(policy=policy, semantic=semantic, store=cache.redis or None)
