"""CORS for the gateway (Fetch standard): which web pages may call it; preflights, and the headers of each answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .replies import send_error

_DAY = b"86400"


class Origins:
    """Who is let in by name, or all by `*`. What upstreams say of that is replaced: kept answers have not got it."""

    def __init__(self, named: Iterable[str]) -> None:
        self._named = frozenset(one.lower().encode() for one in named)
        self._anybody = b"*" in self._named

    async def passed(self, scope: Any, send: Any) -> Any:
        """`send` for the answer to a request; None if it was a preflight, which bears no credentials."""
        given = dict(scope["headers"])
        origin = given.get(b"origin", b"")
        allowed = self._anybody or origin.lower() in self._named
        added = [] if self._anybody else [(b"vary", b"Origin")]
        if origin and allowed:
            added.append((b"access-control-allow-origin", b"*" if self._anybody else origin))
            added.append((b"access-control-expose-headers", b"*"))

        async def telling(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", ())
                kept = [one for one in headers if not one[0].startswith(b"access-control-")]
                message = {**message, "headers": [*kept, *added]}
            await send(message)

        wanted = given.get(b"access-control-request-method")
        if not origin or wanted is None or scope["method"] != "OPTIONS":
            return telling
        if not allowed:
            await send_error(telling, 403, "[server] origins does not name this page", "unknown_origin")
            return None
        added.append((b"access-control-allow-methods", wanted))
        added.append((b"access-control-allow-headers", given.get(b"access-control-request-headers", b"*")))
        added.append((b"access-control-max-age", _DAY))
        await telling({"type": "http.response.start", "status": 204, "headers": []})
        await telling({"type": "http.response.body", "body": b"", "more_body": False})
        return None
