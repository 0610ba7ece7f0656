"""What the similar tier let go of, since answers changed or too many were wrong, is taken in by meaning by nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis_servers import Server

from cachelayer import Source
from cachelayer.testing import Gate

from .test_layer_feed import layer_on

MANY = 20


@pytest.mark.parametrize("tenant", [None, "acme"])
async def test_what_was_let_go_of_is_found_word_for_word_alone_after_a_restart(
    server: Server, tenant: str | None
) -> None:
    async with layer_on(server.url) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        with layer.scope(tenant=tenant):
            for number in range(MANY):
                await ask(f"where is parcel {number}x")
            await layer.flush()
            tier = layer._similar
            assert tier is not None
            decider: Any = tier.decider
            (here,) = decider._functions["ask"].scopes.values()
            decider._restart(here)  # as it does where answers changed, or too many were wrong
            await ask("where is a violin")
            await layer.flush()
    layer = layer_on(server.url)
    ask = layer.wrap(Gate(opened=True), name="ask")
    async with layer:
        async with asyncio.timeout(20):
            while not layer.stats()["elsewhere"]["taken"]:
                await asyncio.sleep(0.01)
        with layer.scope(tenant=tenant):
            assert (await ask.outcome("a violin is where")).source is Source.INDEX
            found = [await ask.outcome(f"parcel where is {number}x") for number in range(MANY)]
            assert {one.source for one in found} == {Source.BACKEND}
            for number in range(MANY):
                assert (await ask.outcome(f"where is parcel {number}x")).source is Source.REDIS
