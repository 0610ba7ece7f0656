"""`ScopeMiddleware`: whose request a handler serves, what it asked, and how long tiers may take."""

from __future__ import annotations

from typing import Any

import pytest
from asgi_client import Client
from cachelayer.adapters.asgi import Header, ScopeMiddleware
from upstream import Upstream

from cachelayer import CacheLayer, Policy
from cachelayer.testing import ManualClock


class Handler:
    """Answers with a cached function's answer, which counts its calls. `inside`: the scope of the last request."""

    def __init__(self, layer: CacheLayer) -> None:
        self.layer, self.calls, self.types = layer, 0, list[str]()
        self.inside: Any = None

        @layer.cached
        async def answer(question: str) -> str:
            self.calls += 1
            return str(self.calls)

        self.answer = answer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.types.append(scope["type"])
        self.inside = self.layer._scope.get()
        if scope["type"] == "http":
            await receive()
            await Upstream._reply(send, 200, (await self.answer("q")).encode(), [])


@pytest.fixture
def handler(layer: CacheLayer) -> Handler:
    return Handler(layer)


async def asked(client: Client, **headers: str) -> str:
    answer = await client.post("/", b"", **headers)
    assert answer.status == 200
    return answer.body.decode()


async def test_callers_of_nobody_share_where_the_owner_says_so(handler: Handler) -> None:
    client = Client(ScopeMiddleware(handler, layer=handler.layer, public=True), key=None)
    assert [await asked(client) for _ in range(2)] == ["1", "1"]


async def test_a_directive_that_is_not_allowed_asks_nothing(handler: Handler) -> None:
    client = Client(ScopeMiddleware(handler, layer=handler.layer, allow=["max-age"]), key="mine")
    assert [await asked(client, cache_control="no-cache") for _ in range(2)] == ["1", "1"]


@pytest.mark.parametrize("told", [{"cachelayer": "max-error-rate=0.5"}, {"cache_control": "max-stale=60"}])
async def test_what_would_loosen_the_owners_policy_asks_nothing(
    handler: Handler, told: dict[str, str]
) -> None:
    client = Client(ScopeMiddleware(handler, layer=handler.layer), key="mine")
    assert [await asked(client, **told) for _ in range(2)] == ["1", "1"]


async def test_tiers_have_the_time_that_the_owner_gives_from_the_requests_arrival_on() -> None:
    clock = ManualClock()
    handler = Handler(CacheLayer(semantic=False, clock=clock, policy=Policy(ttl="1h")))
    client = Client(ScopeMiddleware(handler, layer=handler.layer, deadline="2s"), key="mine")
    for _ in range(2):
        await asked(client)
        assert handler.inside.deadline == clock.monotonic() + 2.0
        clock.advance(60.0)


async def test_callers_are_the_same_in_all_processes_that_have_one_secret() -> None:
    tenants = []
    for secret in ("a" * 16, "a" * 16, "b" * 16):
        handler = Handler(CacheLayer(semantic=False))
        await asked(Client(ScopeMiddleware(handler, layer=handler.layer, secret=secret), key="mine"))
        tenants.append(handler.inside.tenant)
    assert tenants[0] == tenants[1] != tenants[2]


async def test_a_caller_whom_the_proxy_does_not_name_is_one_like_any_other(handler: Handler) -> None:
    of = Header("x-tenant", caller="x-user")
    client, callers = Client(ScopeMiddleware(handler, layer=handler.layer, principal=of), key=None), []
    for user in ({}, {}, {"x_user": "eve"}):
        await asked(client, x_tenant="acme", **user)
        callers.append(handler.inside.principal)
    assert all(callers) and callers[0] == callers[1] != callers[2]
    assert not handler.layer.stats()["faults"]


async def test_the_word_of_nobody_is_not_the_owners(handler: Handler) -> None:
    """Nor is that of one of whom `caller` fails to tell who it is. Outside a scope, reports have no limit."""

    def broken(scope: Any) -> str:
        raise LookupError

    def of(scope: Any) -> str:
        return "acme"

    of.caller = broken  # type: ignore[attr-defined]
    for principal in (None, lambda scope: None, of):
        client = Client(ScopeMiddleware(handler, layer=handler.layer, principal=principal), key=None)
        await asked(client)
        assert handler.inside.principal


async def test_what_is_no_request_passes(handler: Handler) -> None:
    await ScopeMiddleware(handler, layer=handler.layer)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert handler.types == ["lifespan"] and handler.inside is None
