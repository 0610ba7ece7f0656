"""aiohttp's connections, mended in four places."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from .certificates import Trust


@cache
def connector(lib: Any) -> Any:
    """The class of connectors for aiohttp as it was imported."""
    handler = _handler(lib)

    class Connector(lib.TCPConnector):  # type: ignore[misc]
        def __init__(self, trust: Trust | None, **options: Any) -> None:
            super().__init__(**options)
            self._factory, self._trust = partial(handler, loop=self._loop), trust

        def _get_ssl_context(self, request: Any) -> Any:
            """Asks for the trusted certificates at each connection, where aiohttp has one context for all."""
            if self._trust is None or not request.is_ssl():
                return super()._get_ssl_context(request)
            return self._trust.context()

        async def _get(self, *asked: Any) -> Any:
            """A kept connection on which nothing came since its last answer: what came unasked, as the 408 by which
            some servers say that they close it, aiohttp takes for the answer to the next request."""
            while (kept := await super()._get(*asked)) is not None and kept.protocol.should_close:
                kept.close()
            if kept is not None:
                kept.protocol.kept = True
            return kept

    return Connector


def _handler(lib: Any) -> Any:
    class Handler(lib.client_proto.ResponseHandler):  # type: ignore[misc]
        kept = False

        def set_exception(self, fault: Any, *causes: Any) -> None:
            """Whoever reads the body is told, too: of chunks that are none aiohttp tells nobody, not even its timer.
            And whoever asked learns whether it was the connection's first request, which no server closed meanwhile."""
            fault.fresh = not self.kept
            super().set_exception(fault, *causes)
            body = self._payload
            if body is not None and not body.is_eof() and body.exception() is None:
                told = isinstance(fault, lib.ClientError)
                body.set_exception(fault if told else lib.ClientPayloadError("it cannot be read on"), fault)

    return Handler
