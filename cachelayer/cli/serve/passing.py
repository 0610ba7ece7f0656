"""What an upstream answers, on its way to the caller."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

from ...adapters.openai_wire import said_all
from ...flow.http import Answer, HttpFault
from .replies import error_event

HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te", b"trailer",
    b"transfer-encoding", b"upgrade", b"host", b"expect",
})  # fmt: skip
"""Headers that are between two neighbours only (RFC 9110, section 7.6.1)."""
_SEEN = bytes(32 if (one < 32 and one != 9) or one == 127 else one for one in range(256))
"""A control character in a header is a space (RFC 9110, section 5.5): the server that we run in refuses it."""
_BODILESS = frozenset({204, 304})
"""Their Content-Length is that of another answer (RFC 9110, section 8.6); the server that we run in waits for it."""
_LAST = re.compile(
    rb"(?:^|[\r\n])event: ?(?:message_stop|response\.(?:completed|incomplete|failed))\r?\n"
    rb"data:[^\r\n]*\r?\n\r?\n\Z"
)
"""What Anthropic's streams and those of OpenAI's Responses end with."""
MAX_HELD = 2**20
"""Bytes of a JSON answer on a cached route that are held until its end: who waits for it wants all of it."""


def options(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """The headers that a message calls its connection's own."""
    listed = b",".join([value for name, value in headers if name == b"connection"])
    return frozenset(one.strip().lower() for one in listed.split(b",")) if listed else frozenset()


async def pass_on(response: Answer, send: Any, held: int) -> HttpFault | None:
    """Nothing is told before the first piece came, nor of JSON of up to `held` bytes before its end: until then
    HttpFault is raised, and another upstream can stand in. What broke off later is given back: a stream was ended with
    an error event, anything else (a compressed stream, too: no event can follow) is left without its end, and the
    server that we run in cuts it for its caller. A stream that said its last word is whole. It tells the date."""
    kind = response.header("content-type").partition(";")[0].strip().lower()
    plain = response.header("content-encoding").strip().lower() in ("", "identity")
    stream, whole = plain and kind == "text/event-stream", kind.endswith(("/json", "+json"))
    pieces = response.pieces()
    early, over = await _early(pieces, held if whole else 0)
    given = [(name.lower(), value.translate(_SEEN)) for name, value in response.headers]
    hop = HOP | {b"date"} | options(given)
    if stream or response.status in _BODILESS:  # the error event of a stream is longer
        hop |= {b"content-length"}
    headers = [one for one in given if one[0] not in hop]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": early, "more_body": not over})
    if over:
        return None
    cut, before = None, b""
    try:
        async for piece in pieces:
            before, early = early, piece
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    except HttpFault as fault:
        if not stream:
            return fault
        if not (said_all(before + early) or _LAST.search(before + early)):
            cut = fault
            await send({"type": "http.response.body", "body": error_event(cut), "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return cut


async def _early(pieces: AsyncIterator[bytes], held: int) -> tuple[bytes, bool]:
    """The first piece, or as many as `held` bytes and one more; and whether that is all."""
    parts, size = [], 0
    async for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size > held:
            return b"".join(parts), False
    return b"".join(parts), True
