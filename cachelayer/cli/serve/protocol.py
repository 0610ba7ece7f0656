"""uvicorn's HTTP/1.1, but that trailers are no headers, and a request which offers another protocol keeps its body.

httptools tells of a trailer as of a header, after whoever reads those has begun, and of a request with `Upgrade` it
drops the body. Java's HttpClient and `curl --http2` offer HTTP/2 so. Who does not take it up answers as if nothing were
offered (RFC 9110, section 7.8).
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from typing import Any

_HEAD = 8192
_OFFER = re.compile(rb"\r\nupgrade:(?![ \t]*websocket)[^\r\n]*(?=\r\n)", re.IGNORECASE)
_REQUEST = re.compile(rb"[A-Z]+ [^\s]+ HTTP/1\.1\r\n")


class Careful:
    """For before uvicorn's protocol of one connection."""

    cycle: Any
    parser: Any
    headers: list[tuple[bytes, bytes]]

    def on_headers_complete(self) -> None:
        """What comes now are trailers; nobody reads them."""
        super().on_headers_complete()  # type: ignore[misc]
        if not self.parser.should_upgrade():
            self.headers = []

    def data_received(self, data: bytes) -> None:
        """Where a request begins, its offer is left out."""
        if data.find(b"pgrade:", 0, _HEAD) > 0 and not (self.cycle and self.cycle.more_body):
            head, end, rest = data.partition(b"\r\n\r\n")
            if end and _REQUEST.match(head):
                data = _OFFER.sub(b"", head + b"\r\n")[:-2] + end + rest
        super().data_received(data)  # type: ignore[misc]


@cache
def protocol() -> Any:
    """What uvicorn is to make of each connection."""
    try:
        own = importlib.import_module("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol
    except ImportError:  # no httptools: uvicorn has another, which keeps bodies
        return "auto"
    return type("Protocol", (Careful, own), {"__module__": __name__})


def __getattr__(name: str) -> Any:
    """`Protocol`, for worker processes, which find it by its name."""
    if name == "Protocol":
        return protocol()
    raise AttributeError(name)
