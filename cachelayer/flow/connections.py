"""aiohttp's connections, mended in three places."""

from __future__ import annotations

import importlib
import os
import ssl
from contextlib import suppress
from functools import cache, partial
from typing import Any


class Trust:
    """Whom the system trusts, certifi's list where that is installed, and the file `more`. Raises OSError."""

    def __init__(self, more: str) -> None:
        self._more = more
        self._seen = self._state()
        self._context = self._made()

    def context(self) -> ssl.SSLContext:
        """By the file as it stands now; by what was there before, where it cannot be read."""
        with suppress(OSError):
            if self._seen != (seen := self._state()):
                self._context, self._seen = self._made(), seen
        return self._context

    def _state(self) -> tuple[int, int, int] | None:
        found = os.stat(self._more) if self._more else None
        return found and (found.st_ino, found.st_size, found.st_mtime_ns)

    def _made(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._more:
            context.load_verify_locations(self._more)
        with suppress(ImportError):
            context.load_verify_locations(importlib.import_module("certifi").where())
        return context


@cache
def connector(lib: Any) -> Any:
    """The class of connectors for aiohttp as it was imported."""
    handler = _handler(lib)

    class Connector(lib.TCPConnector):  # type: ignore[misc]
        def __init__(self, trust: Trust | None, **options: Any) -> None:
            super().__init__(**options)
            self._factory, self._trust = partial(handler, loop=self._loop), trust

        def _get_ssl_context(self, request: Any) -> Any:
            """For each connection by whom it is trusted then: aiohttp knows one context for all."""
            if self._trust is None or not request.is_ssl():
                return super()._get_ssl_context(request)
            return self._trust.context()

        async def _get(self, *asked: Any) -> Any:
            """A kept connection on which nothing came since its last answer: what came unasked, as the 408 by which
            some servers say that they close it, aiohttp takes for the answer to the next request."""
            while (kept := await super()._get(*asked)) is not None and kept.protocol.should_close:
                kept.close()
            return kept

    return Connector


def _handler(lib: Any) -> Any:
    class Handler(lib.client_proto.ResponseHandler):  # type: ignore[misc]
        def set_exception(self, fault: Any, *causes: Any) -> None:
            """Whoever reads the body is told, too: of chunks that are none aiohttp tells nobody, not even its timer."""
            super().set_exception(fault, *causes)
            body = self._payload
            if body is not None and not body.is_eof() and body.exception() is None:
                told = isinstance(fault, lib.ClientError)
                body.set_exception(fault if told else lib.ClientPayloadError("it cannot be read on"), fault)

    return Handler
