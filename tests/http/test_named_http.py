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
from cachelayer.adapters.asgi.accepted import Accepted
from cachelayer.adapters.asgi.principals import Principals

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


def test_who_is_unknown_anywhere_is_known_nowhere_and_who_may_not_do_one_thing_may_do_others() -> None:
    """401 speaks of the credentials in their tenant, 403 of what they were for."""
    accepted = Accepted(60.0)
    chat, same, other = (
        (b"ann", "acme", "/chat"),
        (b"ann", "acme", "/embeddings"),
        (b"ann", "globex", "/chat"),
    )
    for known, status in (([False, True, True], 403), ([False, False, True], 401)):
        for where in (chat, same, other):
            accepted.heard(where, 200, 0.0)
        grants = [accepted.grant(where) for where in (chat, same, other)]
        accepted.heard(chat, status, 1.0)
        assert [accepted.grant(where) is not None for where in (chat, same, other)] == known
        assert [grant is not None and grant.until > 0 for grant in grants] == known


def test_an_answer_that_was_asked_for_before_a_refusal_lets_nobody_in() -> None:
    accepted = Accepted(60.0, capacity=2)
    ann, ben = (b"ann", "acme", "/"), (b"ben", "acme", "/")
    asked = accepted.refusals
    accepted.heard(ann, 401, 0.0, accepted.refusals)
    for who, then, known in ((ann, asked, False), (ben, asked, True), (ann, accepted.refusals, True)):
        accepted.heard(who, 200, 1.0, then)
        assert (accepted.grant(who) is not None) is known
    for n in range(3):  # more refusals than are remembered: any may have been theirs
        accepted.heard((b"%d" % n, "acme", "/"), 401, 2.0, accepted.refusals)
    accepted.heard((b"eve", "acme", "/"), 200, 3.0, asked)
    assert accepted.grant((b"eve", "acme", "/")) is None


def test_what_one_without_credentials_is_refused_is_no_word_on_others() -> None:
    """Many have none: nothing else tells them apart."""
    accepted = Accepted(60.0, nobody=b"")
    here, other, late = (b"", "acme", "/chat"), (b"", "acme", "/embeddings"), (b"", "acme", "/completions")
    for where in (here, other):
        accepted.heard(where, 200, 0.0)
    asked = accepted.refusals
    accepted.heard(here, 401, 1.0, asked)
    assert [accepted.grant(where) is not None for where in (here, other)] == [False, True]
    for where, known in ((here, False), (late, True)):
        accepted.heard(where, 200, 2.0, asked)
        assert (accepted.grant(where) is not None) is known


def test_of_one_caller_not_more_than_so_many_paths_are_remembered() -> None:
    accepted = Accepted(60.0)
    accepted.paths = 2
    grants = []
    for n in range(3):
        accepted.heard((b"ann", "acme", f"/{n}"), 200, 0.0)
        grants.append(accepted.grant((b"ann", "acme", f"/{n}")))
    assert [grant is not None and grant.until > 0 for grant in grants] == [False, False, True]


async def test_a_tenant_may_be_told_by_a_coroutine() -> None:
    async def tenant(scope: Any) -> str | None:
        return Header("x-tenant")(scope)

    principals = Principals(tenant, public=False, secret="s" * 16, shared_store=False)
    told = {"headers": [(b"x-tenant", b"acme")]}
    principal = await principals.of(told, [])
    assert principal is not None and principal.name == "named:acme"
    assert await principals.of({"headers": []}, []) is None
