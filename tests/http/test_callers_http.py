"""Who asks within a tenant is who was proved to: headers that anybody may add make nobody a second caller."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import CacheLayerMiddleware, Header, JwtClaim, ScopeMiddleware
from upstream import Upstream

from cachelayer import CacheLayer, Policy
from cachelayer.cli.serve.gateway import Keys
from cachelayer.cli.serve.parts import KeyPart
from cachelayer.testing import WordEmbedder

from .test_named_http import KEY
from .test_named_http import token as signed

CHOICE = {"index": 0, "message": {"role": "assistant", "content": "planted"}, "finish_reason": "stop"}
BODY = json.dumps(
    {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}
).encode()


async def answers(scope: Any, receive: Any, send: Any) -> None:
    """The same to everybody."""
    await receive()
    await Upstream._reply(send, 200, BODY, [(b"content-type", b"application/json")])


def token(**claims: str) -> str:
    return f"Bearer {signed({'org': 'acme', **claims})}"


def keys() -> Keys:
    return Keys([KeyPart(tenant="acme", sha256=hashlib.sha256(name.encode()).hexdigest()) for name in "abc"])


def respelled(bearer: str) -> str:
    """The last of 43 characters has two bits that mean nothing."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return bearer[:-1] + letters[letters.index(bearer[-1]) ^ 1]


RESOLVERS: dict[str, tuple[Any, dict[str, str], dict[str, str], dict[str, str]]] = {
    "claim": (JwtClaim("org", key=KEY), {"authorization": token(sub="eve")}, {"cookie": "a=2"},
              {"authorization": token(sub="ann")}),
    "token": (JwtClaim("org", key=KEY), {"authorization": token()},
              {"authorization": respelled(token())}, {"authorization": token(jti="2")}),
    "renewed": (JwtClaim("org", key=KEY), {"authorization": token(sub="eve")},
                {"authorization": token(sub="eve", jti="2")}, {"authorization": token(sub="ann")}),
    "key": (keys(), {"authorization": "Bearer a"}, {"x_api_key": "more"}, {"authorization": "Bearer b"}),
    "header": (Header("x-tenant", caller="x-user"), {"x_tenant": "acme", "x_user": "eve"},
               {"authorization": "Bearer 2"}, {"x_user": "ann"}),
    "credentials": (Header("x-tenant"), {"x_tenant": "acme", "authorization": "Bearer eve"},
                    {"x_user": "more"}, {"authorization": "Bearer ann"}),
}  # fmt: skip


@pytest.mark.parametrize("named", RESOLVERS)
async def test_one_caller_does_not_stand_behind_an_answer_twice(named: str) -> None:
    resolver, eve, more, other = RESOLVERS[named]
    layer = CacheLayer(
        embedder=WordEmbedder(), policy=Policy(quarantine=2, max_error_rate=0.2, shadow=0, write_quota=0)
    )
    app = CacheLayerMiddleware(
        answers, layer=layer, principal=resolver, authorize=lambda scope: True, trust=True
    )
    client = Client(app, key=None)

    async def asked(question: str, headers: dict[str, str]) -> str:
        answer = await client.chat(question, headers=headers)
        await layer.flush()
        return answer.header("cache-status")

    async with layer:
        assert "stored" in await asked("how do i return the device", eve)
        assert "hit" in await asked("hi, how do i return the device", {**eve, **more})
        assert "quarantined" in await asked("hello, how do i return the device", {**eve, **other})
        assert "hit" in await asked("hey, how do i return the device", {**eve, **other})


async def test_a_resolver_that_fails_to_name_the_caller_costs_nobody_an_answer() -> None:
    def tenant(scope: Any) -> str:
        return "acme"

    def fails(scope: Any) -> str:
        raise ValueError(scope)

    tenant.caller = fails  # type: ignore[attr-defined]
    layer = CacheLayer(semantic=False)
    client = Client(CacheLayerMiddleware(answers, layer=layer, principal=tenant), key=None)
    assert (await client.chat("x", headers={"authorization": "Bearer a"})).status == 200


@pytest.mark.parametrize("named", RESOLVERS)
async def test_functions_inside_handlers_know_which_caller_of_the_tenant_asks(named: str) -> None:
    layer = CacheLayer(semantic=False)
    callers = set()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        inside = layer._scope.get()
        assert inside is not None
        assert inside.tenant == "named:acme"
        callers.add(inside.principal)
        await Upstream._reply(send, 200, b"", [])

    resolver, eve, more, other = RESOLVERS[named]
    client = Client(ScopeMiddleware(app, layer=layer, principal=resolver), key=None)
    for headers in (eve, {**eve, **more}):
        await client.post("/", b"", **headers)
    assert len(callers) == 1
    await client.post("/", b"", **eve | other)
    assert len(callers) == 2


async def test_the_log_says_where_in_a_callable_of_the_owner_the_fault_is(
    upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(scope: Any) -> Any:
        raise ValueError("Bearer a")

    at = f"ValueError at {Path(__file__).name}:{fails.__code__.co_firstlineno + 1}; requests"
    for name in ("principal", "authorize", "trust"):
        given: Any = {"principal": Header("x-tenant"), name: fails}
        client = Client(CacheLayerMiddleware(upstream, layer=CacheLayer(semantic=False), **given))
        for _ in range(2):
            assert (await client.chat("x", headers={"x_tenant": "acme"})).status == 200
        assert f"stage {name} failed with {at} are answered without it" in caplog.text
    assert "Bearer a" not in caplog.text
