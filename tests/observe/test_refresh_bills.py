"""What a refresh behind the caller's back takes is spent like any call's, and it is no request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from cachelayer import CacheLayer
from cachelayer.testing import ManualClock

TOLD = {"choices": [{"delta": {"content": "so"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}


async def whole(question: str, model: str) -> dict[str, Any]:
    return {"answer": question, "usage": {"prompt_tokens": 3}}


def plain(question: str, model: str) -> dict[str, Any]:
    return {"answer": question, "usage": {"prompt_tokens": 3}}


async def stream(question: str, model: str) -> AsyncIterator[dict[str, Any]]:
    yield TOLD


@pytest.mark.parametrize("backend", [whole, plain, stream])
async def test_spent_is_what_every_call_took_and_requests_are_those_of_callers(
    backend: Callable[..., Any],
) -> None:
    clock = ManualClock()
    layer = CacheLayer(semantic=False, clock=clock)
    ledger = layer.account({"models": {"m": {"prompt": 1e6}}}, tenants=1)
    cached = layer.wrap(backend, name="ask", ttl="10s", ttl_jitter=0, stale_while_revalidate="1h")
    ask = cached.aio if backend is plain else cached
    async with layer:
        for calls in (1, 2, 3):
            with layer.scope(tenant="acme"):
                outcome = await ask.outcome("why?", model="m")
            if hasattr(outcome.answer, "__anext__"):
                assert [piece async for piece in outcome.answer]
            async with asyncio.timeout(20):
                while (
                    layer.stats()["flights"]
                    or ledger.stats()["models"].get("m", {}).get("prompt") != 3 * calls
                ):
                    await asyncio.sleep(0)
            clock.advance(20)
        told, of = ledger.stats(), layer.stats()["functions"]["ask"]
    assert of["backend_calls"] == 3 and of["hits"]["stale:exact"] == 2
    assert told["models"]["m"]["prompt"] == 9 and told["models"]["m"]["spent_cost"] == 9
    assert told["tenants"]["acme"] == {"miss": 1, "spent": 9, "hit": 2, "saved": 6}
