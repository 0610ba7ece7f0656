"""What names a tenant: a claim of a genuine token, a header that comes once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
from typing import Any

import pytest
from cachelayer.adapters.asgi import Header, JwtClaim
from cachelayer.adapters.asgi.principals import Accepted, Principals

KEY = b"k" * 32


def token(claims: Any, *, alg: str = "HS256", key: bytes = KEY, head: Any = None) -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    signed = f"{part({'alg': alg} if head is None else head)}.{part(claims)}"
    signature = hmac.digest(key, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


@pytest.mark.parametrize(("given", "named"), [
    (token({"org": "acme"}), "acme"), (token({"org": "acme", "exp": 2000}), "acme"),
    (token({"org": "acme", "exp": 500}), None), (token({"org": "acme", "nbf": 2000}), None),
    (token({"org": "acme"}, key=b"x" * 32), None), (token({"org": "acme"}, alg="none"), None),
    (token({"sub": "me"}), None), (token({"org": 5}), None), ("", None), ("a.b.c", None), ("x", None),
    (token({"org": "acme", "exp": "soon"}), None), (token({"org": "acme", "nbf": "2026-01-01"}), None),
    (token(["org", "acme"]), None), (token("org"), None), (token({"org": "acme"}, head=["HS256"]), None),
    (token({"org": "acme"}, head={"alg": ["HS256"]}), None), (token({"org": ""}), None),
    (token({"org": "acme", "exp": 1000}), None), (token({"org": "acme", "nbf": 1000}), "acme"),
])  # fmt: skip
def test_a_claim_counts_only_in_a_token_that_is_genuine_and_current(given: str, named: str | None) -> None:
    told = [(b"authorization", f"{scheme} {given}".encode()) for scheme in ("Bearer", "bearer")]
    assert {JwtClaim("org", key=KEY, now=lambda: 1000.0)({"headers": [one]}) for one in told} == {named}


@pytest.mark.parametrize(("said", "named"), [
    ([b"acme"], "acme"), ([b" acme "], "acme"), ([], None), ([b""], None), ([b" "], None),
    ([b"acme", b"globex"], None), ([b"acme", b"acme"], None),
])  # fmt: skip
def test_a_header_names_a_tenant_only_where_it_comes_once_and_says_one(
    said: list[bytes], named: str | None
) -> None:
    told = {"headers": [(b"x-tenant", one) for one in said]}
    assert Header("X-Tenant")(told) == named
    genuine = token({"org": "acme"}).encode()
    assert JwtClaim("org", key=KEY)({"headers": [(b"authorization", genuine)] * 2}) is None


def test_of_those_let_in_the_latest_are_known_and_who_is_refused_is_forgotten_at_once() -> None:
    accepted = Accepted(60.0, capacity=2)
    ann, ben, eve = ((name, "acme", "/") for name in (b"ann", b"ben", b"eve"))
    for who in (ann, ben):
        accepted.heard(who, 200, 0.0)
    bens, anns = accepted.grant(ben), accepted.grant(ann)
    accepted.heard(ann, 204, 10.0)
    accepted.heard(eve, 200, 20.0)
    assert bens is not None and accepted.grant(ben) is None and bens.until == -math.inf
    assert anns is accepted.grant(ann) and anns is not None and anns.until == 70.0
    for status in (500, 302, 404):
        accepted.heard(ann, status, 30.0)
    assert accepted.grant(ann) is anns and anns.until == 70.0
    accepted.heard(ann, 401, 30.0)
    accepted.heard(eve, 403, 30.0)
    assert accepted.grant(ann) is None is accepted.grant(eve) and anns.until == -math.inf


async def test_a_tenant_may_be_told_by_a_coroutine() -> None:
    async def tenant(scope: Any) -> str | None:
        return Header("x-tenant")(scope)

    principals = Principals(tenant, public=False, secret="s" * 16, shared_store=False)
    told = {"headers": [(b"x-tenant", b"acme")]}
    principal = await principals.of(told, [])
    assert principal is not None and principal.name == "named:acme"
    assert await principals.of({"headers": []}, []) is None
