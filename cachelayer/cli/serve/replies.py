"""What the gateway itself says, in OpenAI's form."""

from __future__ import annotations

import re
from typing import Any

import orjson

from ...flow.http import HttpFault, TookTooLong

_QUOTED = re.compile(r"""(^|\s)b?['"]""")
"""Where a message begins to quote what was sent."""


def error_body(message: str, code: str) -> bytes:
    """An error object."""
    return orjson.dumps({"error": {"message": message, "type": "gateway_error", "param": None, "code": code}})


def error_event(fault: HttpFault) -> bytes:
    """The event that ends a stream which broke off after its first byte; [DONE] does not follow. OpenAI's clients look
    for its data, Anthropic's for its name."""
    said = f"the upstream broke off ({fault.kind})"
    return b"\n\nevent: error\ndata: " + error_body(said, "upstream_error") + b"\n\n"


def answer_to(fault: HttpFault) -> tuple[tuple[int, str], str]:
    """Status and message for the caller, and what the log says: nothing that the upstream said."""
    if isinstance(fault, TookTooLong):
        return (504, f"the upstream took too long ({fault.kind})"), fault.kind
    if isinstance(fault.__cause__, OSError):
        return (502, f"the upstream cannot be reached ({fault.kind})"), str(fault)
    said = getattr(fault.__cause__, "message", "")  # of a head that broke off: what there was of it
    found = " ".join(_QUOTED.split(said)[0].split()).rstrip(":") if isinstance(said, str) else ""
    why = f"{fault.kind}: {found}" if found else fault.kind
    return (502, f"the upstream gave no answer that can be read ({fault.kind})"), why


async def send_json(send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """A whole JSON answer."""
    sent = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_error(
    send: Any, status: int, message: str, code: str, *, retry_after: float | None = None
) -> None:
    """An error of the gateway's own."""
    more = [(b"retry-after", b"%d" % max(1, round(retry_after)))] if retry_after is not None else []
    if status == 401:  # RFC 9110, section 15.5.2
        more.append((b"www-authenticate", b"Bearer"))
    await send_json(send, status, error_body(message, code), *more)
