"""What names a tenant: a claim of a genuine token, a header that comes once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest
from cachelayer.adapters.asgi import Header, JwtClaim

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
