"""`ScopeMiddleware`: functions cached inside an app's handlers know whose request they serve, and what it asked."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from contextlib import ExitStack
from typing import Any

from cachelayer import CacheLayer
from cachelayer.durations import Duration, seconds
from cachelayer.layer import engine_of

from .directives import DIRECTIVES, allowed
from .exchange import App, Receive, Send
from .principals import Principals, Resolver
from .settings import Facts, check_ends


class ScopeMiddleware:
    """Calls of the layer's functions made while a request is served belong to its principal (see
    `CacheLayerMiddleware` for `principal`, `public`, `secret` and `allow`), and are tightened as its headers ask.

    A request of nobody is served with `no_cache` and `no_store`: nothing of it is kept, nothing kept answers it. Its
    word is no owner's either, but that of one more principal.
    `deadline`: how long tiers may take, counted from the request's arrival.
    """

    def __init__(
        self,
        app: App,
        *,
        layer: CacheLayer,
        principal: Resolver | None = None,
        public: bool = False,
        secret: bytes | str | None = None,
        allow: Iterable[str] = DIRECTIVES,
        deadline: Duration | None = None,
    ) -> None:
        check_ends(app, layer)
        self.app, self.layer = app, layer
        self._deadline = None if deadline is None else seconds("deadline", deadline, zero=False)
        self._engine = engine_of(layer)
        shared = self._engine.tiers.shared is not None
        self._principals = Principals(principal, public=public, secret=secret, shared_store=shared)
        self._allow = allowed(allow)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        facts = Facts(scope["headers"], frozenset())
        principal, who = None, self._principals.digest(facts.credentials)
        with self._engine.faults.guard("principal"):
            principal = await self._principals.of(scope, facts.credentials)
            if principal is not None:
                who = self._principals.caller(principal, scope)
        tighter = facts.asked(self._allow).tightening()
        if principal is None:
            tighter |= {"no_cache": True, "no_store": True}
        rate = tighter.get("max_error_rate")
        if rate is not None:
            tighter["max_error_rate"] = min(rate, self.layer.policy.max_error_rate)
        with ExitStack() as stack:
            named = None if principal is None else principal.name
            stack.enter_context(self.layer.scope(tenant=named, principal=who.hex(), deadline=self._deadline))
            if tighter:
                stack.enter_context(self.layer.tighten(**tighter))
            await self.app(scope, receive, send)
