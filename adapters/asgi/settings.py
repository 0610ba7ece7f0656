"""What the owner of a middleware chose, and what one pass over a request's headers found."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from cachelayer import CacheLayer
from cachelayer.errors import ConfigurationError
from cachelayer.exact.keys.chat import HEADERS
from cachelayer.flow.waiting import within
from cachelayer.signatures import signature

from .accepted import Accepted, Key
from .directives import NOTHING, Asked, asked
from .exchange import App, Message
from .pages import Pages
from .principals import CREDENTIALS, HttpScope, Principal, Principals, header_name
from .storable import CARRIERS

Authorize = Callable[..., Any]
"""`authorize(scope)` returns (or awaits to) whether the caller is let in; or an ASGI app that answers 2xx if so."""
Trust = bool | Callable[[HttpScope], bool | Awaitable[bool]]
VARY = tuple(name.encode() for name in HEADERS)
"""Request headers that are part of every key, unless the owner says otherwise."""


def check_ends(app: object, layer: object) -> None:
    """Refuse what cannot stand behind a middleware, and what cannot answer in its place."""
    if not callable(app):
        raise ConfigurationError("app", app, "give the ASGI app that stands behind")
    if not isinstance(layer, CacheLayer):
        raise ConfigurationError("layer", layer, "give a cachelayer.CacheLayer")


@dataclass(frozen=True, slots=True)
class Settings:
    """See `CacheLayerMiddleware`."""

    principals: Principals
    accepted: Accepted
    pages: Pages
    authorize: Authorize | None
    trust: Trust
    """Whether callers of scopes that others share are trusted there."""
    allow: frozenset[str]
    vary: frozenset[bytes]
    """Request headers that are part of the key."""
    covered: frozenset[bytes]
    """What a response may name in `Vary` beside them."""
    max_body: int
    too_large: Literal["pass", "refuse"]
    finish: bool
    """Whether a recording goes on when its last reader left."""
    pace: float | None
    """Seconds between the events of a replay."""
    name: bytes
    """The cache's name in Cache-Status."""


class Facts:
    """What a request's headers say, found in one pass."""

    __slots__ = ("bypass", "control", "credentials", "length", "origin", "own", "vary")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]], wanted: frozenset[bytes]) -> None:
        """`wanted`: the headers that are part of the key."""
        self.credentials: list[tuple[bytes, bytes]] = []
        self.control = self.own = self.origin = b""
        self.bypass = ""
        self.length = -1
        vary: list[tuple[bytes, bytes]] | None = None
        pragma = b""
        for header in headers:
            name, value = header
            if name in wanted:
                vary = [*(vary or ()), (name, value)]
            if name in CREDENTIALS:
                value = _telling(value) if name == b"cookie" else value
                if value.strip().lower() not in _NOBODY:
                    self.credentials.append((name, value))
            elif name in SPECIAL:
                match name:
                    case b"cache-control":
                        self.control += b"," + value
                    case b"pragma":
                        pragma = value
                    case b"cachelayer":
                        self.own += b"," + value
                    case b"content-length":
                        self.length = int(value) if value.isdigit() else -1
                    case b"origin":
                        self.origin = value
                    case b"content-encoding" if value.strip().lower() == b"identity":
                        pass
                    case _:
                        self.bypass = name.decode()
        if pragma and not self.control and b"no-cache" in pragma.lower():
            self.control = b"no-cache"
        if MEDIA in wanted:
            vary = _of_media(vary or [])
        self.vary = repr(sorted(vary)) if vary else ""

    def asked(self, allow: frozenset[str]) -> Asked:
        """The directives in them."""
        return asked(self.control, self.own, allow) if self.control or self.own else NOTHING


SPECIAL = frozenset({
    b"cache-control", b"pragma", b"cachelayer", b"content-length", b"content-encoding", b"range", b"origin",
})  # fmt: skip
"""No `upgrade`: the server did not take it up, so it is as if it were not there (RFC 9110, section 7.8)."""
MEDIA = b"content-type"
_USUAL = re.compile(rb'application/json(?:\s*;\s*charset="?utf-?8"?)?', re.IGNORECASE)
_NOBODY = frozenset({b"", b"bearer"})
"""Credentials that everybody has: clients without a key, and proxies, send such headers."""


def _telling(cookies: bytes) -> bytes:
    """Those that tell who asks: what steers a connection changes from answer to answer."""
    parts = cookies.split(b";")
    telling = [part for part in parts if part.partition(b"=")[0].strip() not in CARRIERS]
    return cookies if len(telling) == len(parts) else b";".join(telling).strip()


def _of_media(vary: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """What a request says of the form of its body counts, unless it is what all say; saying nothing counts, too."""
    types = [value.strip() for name, value in vary if name == MEDIA]
    rest = [header for header in vary if header[0] != MEDIA]
    return rest if len(types) == 1 and _USUAL.fullmatch(types[0]) else [*rest, (MEDIA, b",".join(types))]


def header_names(given: Iterable[str | bytes]) -> frozenset[bytes]:
    """Names of headers in lower case. Raises ConfigurationError for what is no list of such."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ConfigurationError(
            "vary", given, "give a list of names of headers, such as ['accept-language']"
        )
    return frozenset(header_name("vary", one) for one in given)


def kind_of(authorize: Authorize | None) -> Authorize | None:
    """`authorize` as a function of the scope, whichever of the two forms it has."""
    if authorize is None:
        return None
    try:
        required = [
            p
            for p in signature(authorize).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return authorize
    return authorize if len(required) < 3 else _sub_app(authorize)


def _sub_app(app: App) -> Callable[[HttpScope], Awaitable[bool]]:
    """An ASGI app as a function: asked with the request's head and no body, it lets in by answering 2xx."""

    async def lets_in(scope: HttpScope) -> bool:
        status = 0

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]

        await app(dict(scope), receive, send)
        return 200 <= status < 300

    return lets_in


async def agrees(asked: Authorize, scope: HttpScope, patience: float) -> bool:
    """What `authorize` or `trust` says of a request. Raises TimeoutError for one that says nothing for so long."""
    said = asked(scope)
    return bool(await within(patience, said) if inspect.isawaitable(said) else said)


def key_of(principal: Principal, path: str) -> Key:
    """Who was let in where."""
    return principal.credentials, principal.name, path
