"""The header `Cache-Status` (RFC 9211) and `Age` (RFC 9111, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from cachelayer.types import Outcome, Reason, Source

Header = tuple[bytes, bytes]
_REQUEST = frozenset({Reason.NO_CACHE, Reason.NO_STORE})
NAME = b"cachelayer"


def hit(ttl: float | None, detail: str, name: bytes = NAME) -> Header:
    """An answer from the cache: `ttl` seconds of freshness are left, negative where it is stale; None if nobody
    knows."""
    left = b"" if ttl is None else b" ttl=%d;" % int(ttl)
    return b"cache-status", b"%b; hit;%b detail=%b" % (name, left, detail.encode())


def bypass(detail: str, name: bytes = NAME) -> Header:
    """A request that went past the cache, and why."""
    return b"cache-status", b"%b; fwd=bypass; detail=%b" % (name, _text(detail))


def refused(detail: str, name: bytes = NAME) -> Header:
    """A request that the cache itself answered, with an error, and why."""
    return b"cache-status", b"%b; detail=%b" % (name, _text(detail))


def missed(
    misses: Mapping[str, Reason],
    *,
    status: int,
    stored: bool | None = None,
    why_not: str = "",
    collapsed: bool = False,
    name: bytes = NAME,
) -> Header:
    """A request that was forwarded. `stored` is None if the answer is still on its way."""
    return b"cache-status", _missed(tuple(misses.items()), status, stored, why_not, collapsed, name)


@lru_cache(1024)
def _missed(
    misses: tuple[tuple[str, Reason], ...],
    status: int,
    stored: bool | None,
    why_not: str,
    collapsed: bool,
    name: bytes,
) -> bytes:
    memory = next((reason for tier, reason in misses if tier == "memory"), Reason.ABSENT)
    fwd = "request" if memory in _REQUEST else "stale" if memory is Reason.EXPIRED else "uri-miss"
    parts = [name.decode(), f"fwd={fwd}", f"fwd-status={status}"]
    if stored:
        parts.append("stored")
    if collapsed:
        parts.append("collapsed")
    reasons = [f"{tier}:{reason}" for tier, reason in misses]
    if why_not:
        reasons.append(f"kept:{why_not}")
    if reasons:
        parts.append(f'detail="{" ".join(reasons)}"')
    return "; ".join(parts).encode("latin-1", "replace")


class Veiled(bytes):
    """The header for a caller that must not learn whether an entry exists."""

    full: bytes
    """The full header, for the owner's log."""


def veiled(header: Header) -> Header:
    """The header with the cache's name alone."""
    name, full = header
    bare = Veiled(full.partition(b";")[0])
    bare.full = full
    return name, bare


def detail_of(outcome: Outcome) -> str:
    """Where a hit came from, as a token of structured fields: 'memory', 'redis-similar'."""
    source = str(outcome.source)
    return f"{source}-similar" if outcome.match == "similar" else source


def is_hit(outcome: Outcome) -> bool:
    return outcome.source not in (Source.BACKEND, Source.BYPASS, Source.COALESCED)


def _text(detail: str) -> bytes:
    """A token where the characters allow it, else a string (RFC 8941, section 3.3)."""
    plain = detail.replace("_", "-")
    if plain and plain[0].isalpha() and all(c.isascii() and (c.isalnum() or c in "-:./") for c in plain):
        return detail.encode()
    safe = "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else " " for c in detail)
    return b'"%b"' % safe.encode()
