"""Which responses of the app behind may be kept, by status and headers (RFC 9111, section 3), and what is kept."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cachelayer.flow.http import seconds_until

Headers = Sequence[tuple[bytes, bytes]]
Terms = float | tuple[float | None, float] | tuple[float | None, float, bool] | None
"""Seconds for which a response itself says it is fresh; with its age, where another cache had it before; with True
where it must not be served stale."""
_FIRM = re.compile(rb"(?:must|proxy)-revalidate|s-maxage")
"""What forbids that to a cache that many share (RFC 9111, section 4.2.4)."""
_PLAIN_VARY = frozenset({
    b"accept-encoding", b"origin", b"access-control-request-method", b"access-control-request-headers",
})  # fmt: skip
"""What a stored answer does not depend on: it is kept unencoded and without CORS headers."""
FORM = frozenset({b"accept", b"content-type"})
"""What answers of OpenAI's routes do not depend on either: a request's body says in which form it wants them."""
CARRIERS = frozenset({
    b"__cf_bm", b"__cflb", b"__cfruid", b"_cfuvid", b"AWSALB", b"AWSALBCORS", b"AWSALBTG", b"AWSALBTGCORS",
    b"ARRAffinity", b"ARRAffinitySameSite",
})  # fmt: skip
"""Cookies by which Cloudflare, AWS and Azure tell and steer connections: what is answered does not depend on them.
api.openai.com sends two of them with every answer."""
_WORDS = re.compile(rb"[^\s,]+")
_NAME = re.compile(rb"[a-z0-9-]{1,40}|\*")
_AGE = re.compile(rb"(?:^|[,\s])(s-maxage|max-age)\s*=\s*\"?([^\",;\s]*)")


class Judged(NamedTuple):
    """A response's head: whether it may be kept, and what of its headers goes with it."""

    why_not: str
    """Empty where it may be kept."""
    media: bytes = b""
    language: bytes = b""
    encoding: bytes = b""
    terms: Terms = None
    is_stream: bool = False


def judge(status: int, headers: Iterable[tuple[bytes, bytes]], vary: frozenset[bytes]) -> Judged:
    """`vary`: request headers, in lower case, that are part of the key."""
    media = language = encoding = expires = b""
    asked_anew = firm = False
    why = "" if status == 200 else f"status {status}"
    ttl: float | None = None
    age = 0.0
    for name, value in headers:
        name = name.lower()
        if name == b"content-type":
            media = value
        elif name == b"content-language":
            language = value
        elif name == b"content-encoding":
            encoding = value.strip().lower()
        elif name == b"set-cookie":
            if value.partition(b"=")[0].strip() not in CARRIERS:
                why = why or "set-cookie"
        elif name == b"cache-control":
            control = value.lower()
            if b"no-store" in control or b"private" in control:
                why = why or "cache-control"
            ttl = _fresh_for(control, ttl)
            asked_anew = asked_anew or b"no-cache" in control
            firm = firm or _FIRM.search(control) is not None
        elif name == b"age":  # one, but some are said twice, and the oldest is the strictest
            age = max([age, *(float(one[:12]) for one in _WORDS.findall(value) if one.isdigit())])
        elif name == b"vary":
            wanted = {part.strip().lower() for part in value.split(b",")} - {b""}
            if not wanted <= vary | _PLAIN_VARY:
                why = why or _varies(wanted - vary - _PLAIN_VARY)
        elif name == b"trailer":
            why = why or "trailers"
        elif name == b"expires":
            expires = value
    if expires and ttl is None:
        ttl = max(0.0, seconds_until(expires.decode("latin-1")) or 0.0)  # RFC 9111, section 5.3
    kind = media.partition(b";")[0].strip().lower()
    is_stream = kind == b"text/event-stream"
    if asked_anew and not is_stream:  # of event streams frameworks say so, whatever they carry
        ttl = 0.0
    terms: Terms = ttl
    if age or firm:  # another cache had it for so long
        left = None if ttl is None else max(0.0, ttl - age)
        terms = (left, age, True) if firm else (left, age)
    if encoding == b"identity":
        encoding = b""
    if not why and not is_stream and not kind.endswith((b"/json", b"+json")):
        why = "content-type"
    if not why and encoding and (is_stream or encoding not in (b"gzip", b"deflate")):
        why = "content-encoding"
    return Judged(why, media, language, encoding, terms, is_stream)


def _varies(names: set[bytes]) -> str:
    """Why an answer that depends on these headers is not kept."""
    named = sorted(name.decode() for name in names if _NAME.fullmatch(name))
    return " ".join(["vary", *named[:3]])


def fresh_for(terms: Terms) -> float | None:
    """Seconds for which a kept answer was fresh when it came, if it said so."""
    return terms[0] if type(terms) is tuple else terms  # type: ignore[return-value]


def age_of(terms: Terms) -> float:
    """Seconds that a kept answer was old when it came."""
    return terms[1] if type(terms) is tuple else 0.0


def firm_of(terms: Terms) -> bool:
    """Whether a kept answer must not be served once it is stale."""
    return type(terms) is tuple and len(terms) > 2


def _fresh_for(control: bytes, known: float | None) -> float | None:
    """Shared lifetimes go before private ones; a number that makes no sense is none (RFC 9111, section 4.2.1)."""
    lifetimes: dict[bytes, float] = {}
    for name, value in _AGE.findall(control):
        seconds = float(value[:12]) if value.isdigit() else 0.0
        lifetimes[name] = min(seconds, lifetimes.get(name, seconds))
    given = lifetimes.get(b"s-maxage", lifetimes.get(b"max-age"))
    return known if given is None else given if known is None else min(known, given)


def decoded(body: bytes, encoding: bytes, limit: int) -> bytes | None:
    """The body without its content encoding; None if it is damaged or grows past ten times `limit`."""
    unpack = zlib.decompressobj(47 if encoding == b"gzip" else 15)
    try:
        plain = unpack.decompress(body, 10 * limit)
    except zlib.error:
        return None
    return plain if unpack.eof and not unpack.unconsumed_tail and not unpack.unused_data else None
