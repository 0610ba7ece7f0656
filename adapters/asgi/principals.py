"""Whose request it is: by default a keyed hash of the credentials, else what a resolver says."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import inspect
import os
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import orjson

from cachelayer.checks import unquoted
from cachelayer.errors import ConfigurationError
from cachelayer.flow.waiting import within
from cachelayer.types import Reason

HttpScope = Mapping[str, Any]
CREDENTIALS = (b"authorization", b"cookie", b"api-key", b"x-api-key")
"""Request headers by which callers are told apart."""
_PUBLIC = re.compile(rb"\s*(-----BEGIN|ssh-|ecdsa-)")
"""What holds a public key: taken for a secret, it would let anybody sign tokens (RFC 8725, section 3.1)."""
_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class Resolver(Protocol):
    """The name of the principal that a request belongs to, or None for a request that has none.

    `covers`, where it has that: request headers, in lower case, on which answers may depend (`Vary`), because they are
    the name's own or the app behind sees none of them. `caller(scope)`, where it has that: who of them asks, as it was
    proved; else anything that credentials consist of tells callers apart, and one may have as many as they like.
    """

    def __call__(self, scope: HttpScope, /) -> str | Awaitable[str | None] | None: ...


class Principal(NamedTuple):
    """Whose a request is. `name` is the cache's tenant, None for what is public."""

    name: str | None
    own: bool
    """Whether the scope is this caller's alone: nobody without the same credentials shares it."""
    credentials: bytes
    """Keyed hash, 16 bytes."""


def header_name(option: str, given: str | bytes) -> bytes:
    """The name of a header in lower case. Raises ConfigurationError for what is none (RFC 9110, section 5.1)."""
    name = given.encode() if isinstance(given, str) else given
    if not (isinstance(name, bytes) and _NAME.fullmatch(name)):
        raise ConfigurationError(option, given, "give the name of a header, such as 'x-tenant'")
    return name.lower()


def header_of(scope: HttpScope, wanted: bytes) -> str | None:
    """The value of a header that comes once; None if it is absent or comes twice."""
    found = [value for name, value in scope["headers"] if name == wanted]
    return found[0].decode("latin-1").strip() if len(found) == 1 else None


class Header:
    """The principal is what a header says. For behind a proxy that sets it, and removes it from what clients send.

    `caller`: the header, from the same proxy, that says who of the tenant asks; else credentials tell callers apart."""

    def __init__(self, name: str, *, caller: str | None = None) -> None:
        self._wanted = header_name("name", name)
        self.covers = frozenset({self._wanted})
        self.caller: Callable[[HttpScope], str | None] | None = None
        if caller is not None:
            self.caller = partial(_said_by, header_name("caller", caller))

    def __call__(self, scope: HttpScope, /) -> str | None:
        return header_of(scope, self._wanted) or None


def _said_by(header: bytes, scope: HttpScope) -> str | None:
    return header_of(scope, header)


_HASHES = {"HS256": "sha256", "HS384": "sha384", "HS512": "sha512"}


def JwtClaim(
    claim: str, *, key: bytes | str, header: str = "authorization", now: Callable[[], float] | None = None
) -> Resolver:
    """The principal is a claim of a bearer token signed by `key` (RFC 7519) with HS256, HS384 or HS512, whichever
    of the three the token names. None for a token that is missing, malformed, forged or out of its time. Who of the
    tenant asks is its claim `sub`, else the token.

    Tokens of other kinds: verify them in a callable of your own.
    """
    if not isinstance(claim, str) or not claim:
        raise ConfigurationError("claim", claim, "give the name of a claim, such as 'org'")
    if not (now is None or callable(now)):
        raise ConfigurationError("now", now, "give a function that tells the time, as time.time does")
    secret = key.encode() if isinstance(key, str) else key
    if not isinstance(secret, bytes):
        raise ConfigurationError("key", unquoted(key), "give what tokens are signed with, as text or bytes")
    if len(secret) < 32:
        raise ConfigurationError("key", f"{len(secret)} bytes", "give at least 32 (RFC 7518, section 3.2)")
    if _PUBLIC.match(secret):
        remedy = (
            "give the secret of HS256 and its like; tokens of RS256 and others are for a callable of your own"
        )
        raise ConfigurationError("key", "a key or certificate that is no secret", remedy)
    return _Claim(claim, secret, header_name("header", header), now or time.time)


class _Claim:
    def __init__(self, claim: str, secret: bytes, header: bytes, clock: Callable[[], float]) -> None:
        self._claim, self._secret, self._header, self._clock = claim, secret, header, clock

    def __call__(self, scope: HttpScope, /) -> str | None:
        claims = _claims(self._token(scope), self._secret)
        if claims is None:
            return None
        at = self._clock()
        ends, begins = claims.get("exp"), claims.get("nbf")
        if ends is not None and not (isinstance(ends, int | float) and at < ends):
            return None
        if begins is not None and not (isinstance(begins, int | float) and begins <= at):
            return None
        named = claims.get(self._claim)
        return named if isinstance(named, str) and named else None

    def caller(self, scope: HttpScope) -> str:
        token = self._token(scope)
        named = (_claims(token, self._secret) or {}).get("sub")
        if isinstance(named, str) and named:
            return named
        return token.rpartition(".")[0]  # one signature may be written in several ways

    def _token(self, scope: HttpScope) -> str:
        token = header_of(scope, self._header) or ""
        if token[:7].lower() == "bearer ":  # in any case (RFC 9110, section 11.1)
            token = token[7:]
        return token.strip()


def _claims(token: str, secret: bytes) -> dict[str, Any] | None:
    signed, _, signature = token.rpartition(".")
    try:
        head, claims = (orjson.loads(_unpacked(part)) for part in signed.split("."))
        given = _unpacked(signature)
    except (ValueError, binascii.Error):
        return None
    if not isinstance(head, dict) or not isinstance(claims, dict):
        return None
    kind = _HASHES.get(str(head.get("alg")))
    if kind is None or not hmac.compare_digest(hmac.digest(secret, signed.encode(), kind), given):
        return None
    return claims


def _unpacked(part: str) -> bytes:
    return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)


class NoName(TypeError):
    """What `principal=` returned names nobody. Its words quote nothing of a request, so that the log has them."""

    reason = Reason.FAULT


class Principals:
    """Tells whose a request is. Raises ConfigurationError at construction."""

    patience = 5.0
    """Seconds that the owner's functions have to say who asks, and whether they may: what hangs has failed."""

    def __init__(
        self, resolver: Resolver | None, *, public: bool, secret: bytes | str | None, shared_store: bool
    ) -> None:
        if resolver is not None and not callable(resolver):
            raise ConfigurationError("principal", resolver, "give Header(...), JwtClaim(...) or a callable")
        if not isinstance(public, bool):  # "false" would be true
            raise ConfigurationError("public", public, "give True or False")
        given = secret if secret is not None else os.environ.get("CACHELAYER_SECRET")
        if given is None and shared_store and resolver is None:
            raise ConfigurationError(
                "secret", None, "entries are shared through a store, so give the key that hashes credentials: the same "
                "secret=... (or CACHELAYER_SECRET) in every process, 16 bytes or more",
            )  # fmt: skip
        key = given.encode() if isinstance(given, str) else given
        key = secrets.token_bytes(32) if key is None else key
        if not isinstance(key, bytes):
            raise ConfigurationError("secret", unquoted(given), "give text or bytes")
        if len(key) < 16:
            raise ConfigurationError("secret", f"{len(key)} bytes", "give 16 bytes or more")
        self.key = hashlib.blake2b(key).digest()
        self._resolver, self._public = resolver, public

    def digest(self, credentials: Iterable[tuple[bytes, bytes]]) -> bytes:
        """A keyed hash of the credentials, each with its name and length, in the order in which they came."""
        joined = b"".join([b"%b:%d:%b" % (name, len(value), value) for name, value in credentials])
        return hashlib.blake2b(joined, digest_size=16, key=self.key).digest()

    async def of(self, scope: HttpScope, credentials: list[tuple[bytes, bytes]]) -> Principal | None:
        """Whose request this is; None if it belongs to nobody and nobody may share it."""
        digest = self.digest(credentials)
        if self._resolver is None:
            if credentials:
                return Principal(f"own:{digest.hex()}", True, digest)
            return Principal(None, False, digest) if self._public else None
        found = self._resolver(scope)
        name: object = await within(self.patience, found) if inspect.isawaitable(found) else found
        if name is True:  # a predicate would make one tenant of all
            raise NoName("it returned True: return the tenant's name, or None")
        if name:
            return Principal(f"named:{name}", False, digest)
        return Principal(None, False, digest) if self._public and not credentials else None

    def caller(self, principal: Principal, scope: HttpScope) -> bytes:
        """Who asks within the principal's scope, whose word and whose writes are bounded there: a keyed hash."""
        caller = getattr(self._resolver, "caller", None)
        if caller is None or principal.name is None:
            return principal.credentials
        return self.digest([(b"caller", (caller(scope) or "").encode("utf-8", "surrogatepass"))])
