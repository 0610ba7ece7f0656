"""`CacheLayerMiddleware`: one line in an app of one's own, and its OpenAI-style routes answer from the cache."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, MutableMapping
from functools import partial
from math import inf
from typing import Any, Literal

from cachelayer import CacheLayer
from cachelayer.checks import either, number, whole
from cachelayer.durations import Duration, seconds
from cachelayer.errors import ConfigurationError
from cachelayer.flow.channel import Channels
from cachelayer.flow.eager import Starter
from cachelayer.flow.watch import Rounds
from cachelayer.keep.call import Call
from cachelayer.layer import engine_of

from ..openai_wire import joined
from .accepted import Accepted
from .directives import DIRECTIVES, allowed
from .embeddings import EMBEDDINGS, EmbeddingsRoute, ItemsResponder
from .exchange import App, Receive, Send
from .hot import Hot, Recognized
from .lifespan import Lifespan
from .pages import Pages
from .principals import CREDENTIALS, Principals, Resolver
from .responder import Responder
from .routes import CHAT, COMPLETIONS, DEPLOYMENT, Route
from .settings import MEDIA, VARY, Authorize, Settings, Trust, check_ends, header_names, kind_of
from .storable import FORM, fresh_for

AZURE: tuple[Route, ...] = (
    Route(f"{DEPLOYMENT}/chat/completions", text="messages", openai=True),
    Route(f"{DEPLOYMENT}/completions", text="prompt", openai=True),
    EmbeddingsRoute(f"{DEPLOYMENT}/embeddings"),
)
"""The same three where Azure has them."""
ROUTES: tuple[Route, ...] = (CHAT, COMPLETIONS, EMBEDDINGS, *AZURE)
GRACE = 0.02
"""Seconds before a caller's leaving is looked for, at most: an answer that comes at once needs no watch."""
_log = logging.getLogger("cachelayer")


class Served:
    """One route at work: its place in the layer, and what its responders need."""

    def __init__(self, route: Route, app: App, layer: CacheLayer, settings: Settings, name: str) -> None:
        self.route, self.app, self.layer, self.settings = route, app, layer, settings
        self.channels, self.starter, self.rounds = Channels(), Starter(), Rounds(GRACE)
        self.responder = ItemsResponder if isinstance(route, EmbeddingsRoute) else Responder
        own = layer.policy.ttl
        own = own if callable(own) else seconds("ttl", own)
        cached = layer.wrap(
            _asker(route),
            name=f"{name}:{route.path}",
            text=route.text,
            view=route.seen,
            ttl=partial(_ttl, own),
            semantic=layer.policy.semantic if route.text is not None else False,
        )
        self.handle = cached.handle
        if type(route).view_stream is Route.view_stream and type(route).seen is Route.seen:
            self.handle.function.joins = joined
        self.handle.function.ttl_reads = callable(own)
        self.handle.function.quiet = True  # by Cache-Status
        self.handle.function.stats.headed = True
        self.handle.function.keyed = True  # a request that cannot be is its caller's, also if it is the first
        self.policy = self.handle.function.policy
        self.engine = engine_of(layer)
        self.raws = self.handle.transport_forms()
        self.now = self.engine.clock.monotonic
        self.guard = self.engine.faults.guard
        self.limit = self.policy.max_item_bytes
        self.told_apart = settings.vary if route.openai else settings.vary | {MEDIA}
        """Request headers that are part of this route's keys."""
        self.vary = self.told_apart | settings.covered | (FORM if route.openai else frozenset())
        self.hot = Hot(self) if route.identified else None
        self.stale_allowed = self.handle.function.if_error > 0
        passing_kept = self.policy.fresh == "off" or self.handle.function.fresh_ttl > 0
        certain = passing_kept and self.policy.cache_if is None and not callable(own) and own > 0
        self.ahead = certain and not self.handle.function.similar
        """Whether answers may go ahead of their keeping: nothing else can answer in their place any more, and no
        function of the owner's decides whether they are kept."""

    def call(self, ask: Callable[..., Any], fields: dict[str, Any]) -> Call:
        """The call of a request's fields, which `ask` answers, in the current scope."""
        call: Call = self.handle.call((), fields, self.handle.scope)
        call.invoke = ask
        return call


def _asker(route: Route) -> Any:
    async def ask(**fields: Any) -> Any:
        """Stands for the app behind: each call brings what asks it."""
        raise NotImplementedError

    ask.cachelayer_wire = route.openai  # type: ignore[attr-defined]
    return ask


def _ttl(own: Any, answer: Any) -> float:
    """The policy's, or what the response itself says where that is shorter."""
    head = answer if type(answer) is tuple else answer[0]
    mine = seconds("ttl", own(answer), most=inf) if callable(own) else own
    theirs = fresh_for(head[2])
    return mine if theirs is None else min(mine, theirs)


class CacheLayerMiddleware:
    """Pure ASGI 3. Answers `routes` of the app behind from `layer`; everything else passes untouched.

    `principal` tells whose a request is (`Header`, `JwtClaim`, a callable of the scope); without it a keyed hash of the
    credentials does, keyed by `secret` (or CACHELAYER_SECRET), which processes that share a store must agree on.
    Requests of nobody pass uncached, unless `public=True` lets all who give no credentials share. `authorize` (a
    callable of the scope, or an ASGI app that answers 2xx) runs before every hit; without it a hit answers only
    credentials that the app behind let in within `recheck`. `trust` says which callers of shared scopes get similar
    answers and learn whether an entry exists. `allow` lists what request headers may ask; none may loosen a policy.
    `vary` names request headers that are part of the key. Bodies above `max_body` bytes pass uncached, or are answered
    with 413 (`too_large="refuse"`). `on_leave`: whether the app's answer is recorded to its end when its last reader
    left. `pace`: seconds between the events of a replay. `lifespan=False` leaves the layer's start and end to others.
    Raises ConfigurationError.
    """

    def __init__(
        self,
        app: App,
        *,
        layer: CacheLayer,
        routes: Iterable[Route] = ROUTES,
        principal: Resolver | None = None,
        public: bool = False,
        secret: bytes | str | None = None,
        authorize: Authorize | None = None,
        recheck: Duration = "5m",
        trust: Trust = False,
        allow: Iterable[str] = DIRECTIVES,
        vary: Iterable[str | bytes] = VARY,
        max_body: int = 4 * 2**20,
        too_large: Literal["pass", "refuse"] = "pass",
        on_leave: Literal["stop", "finish"] = "stop",
        pace: float | None = None,
        name: str = "asgi",
        lifespan: bool = True,
    ) -> None:
        check_ends(app, layer)
        _check(
            authorize=authorize, trust=trust, max_body=max_body, too_large=too_large,
            on_leave=on_leave, pace=pace, lifespan=lifespan,
        )  # fmt: skip
        self.app, self.layer = app, layer
        covered = CREDENTIALS if principal is None else getattr(principal, "covers", ())
        chosen = header_names(vary)
        shared = engine_of(layer).tiers.shared is not None
        principals = Principals(principal, public=public, secret=secret, shared_store=shared)
        settings = Settings(
            principals=principals,
            accepted=Accepted(seconds("recheck", recheck), nobody=principals.digest(())),
            pages=Pages(),
            authorize=kind_of(authorize),
            trust=trust,
            allow=allowed(allow),
            vary=chosen,
            covered=frozenset(covered),
            max_body=max_body,
            too_large=too_large,
            finish=on_leave == "finish",
            pace=pace,
            name=b"cachelayer",
        )
        served = [
            Served(route, app, layer, settings, name) for route in _first(layer, name, _each_once(routes))
        ]
        self._served = {one.route.path: one for one in served if one.route.template is None}
        self._templates = [one for one in served if one.route.template is not None]
        self._lifespan = Lifespan(app, layer) if lifespan else app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            served, place = self._served.get(scope["path"]), ""
            if served is None:
                served, place = self._placed(scope)
            if served is not None and scope["method"] == "POST":
                hot = None if place else served.hot
                read = [] if hot is None else await hot.serve(scope, receive, send)
                if read is not None:
                    responder = served.responder(served, scope, receive, send)
                    responder.place = place
                    await (responder.go_on(read) if isinstance(read, Recognized) else responder.respond(read))
                return
        elif kind == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _placed(self, scope: MutableMapping[str, Any]) -> tuple[Served | None, str]:
        """The route below the app's root path or whose template the path fills, and what of the path the key holds."""
        path, root = scope["path"], scope.get("root_path", "")
        below = path.removeprefix(root)
        if root and (served := self._served.get(below)) is not None:
            return served, root
        return next(((one, path) for one in self._templates if one.route.stands_at(below)), (None, ""))


def _check(
    *,
    authorize: object,
    trust: object,
    max_body: object,
    too_large: object,
    on_leave: object,
    pace: object,
    lifespan: object,
) -> None:
    """Refuse what cannot work, by field, value and remedy."""
    for option, value, known in (
        ("too_large", too_large, ("pass", "refuse")),
        ("on_leave", on_leave, ("stop", "finish")),
    ):
        if value not in known:
            raise ConfigurationError(option, value, f"give {known[0]!r} or {known[1]!r}")
    either("lifespan", lifespan)
    if not (isinstance(trust, bool) or callable(trust)):
        raise ConfigurationError("trust", trust, "give True, False, or a callable of the scope")
    whole("max_body", max_body, 1, " bytes")
    if pace is not None:
        number("pace", pace, unit="seconds between two events")
    if not (authorize is None or callable(authorize)):
        raise ConfigurationError("authorize", authorize, "give a callable of the scope, or an ASGI app")


def _first(layer: CacheLayer, name: str, routes: list[Route]) -> list[Route]:
    """The routes, where no middleware of this layer serves any of them under this name."""
    if any(layer.known(f"{name}:{route.path}") is not None for route in routes):
        raise ConfigurationError(
            "name", name,
            "another middleware of this layer has it: make a layer for each app, as for each test's; wrap the app "
            "itself where its framework makes a middleware for each route (Litestar); or give each its own name",
        )  # fmt: skip
    return routes


def _each_once(routes: Iterable[Route]) -> list[Route]:
    if not isinstance(routes, Iterable):
        raise ConfigurationError("routes", routes, "give routes, as JsonRoute('/path') is one")
    given: dict[str, Route] = {}
    for route in routes:
        if not isinstance(route, Route):
            raise ConfigurationError("routes", route, "give routes, as JsonRoute('/path') is one")
        if route.path in given:
            raise ConfigurationError("routes", route.path, "give each path once")
        given[route.path] = route
    return list(given.values())
