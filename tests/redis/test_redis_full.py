"""A server that is full and evicts nothing: it answers, forgets what it is told to, and hides no invalidation."""

from __future__ import annotations

from typing import Any

import pytest
from redis_records import eventually, record, served

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.errors import StoreFault
from cachelayer.testing import Gate


def layer_on(url: str, **policy: Any) -> CacheLayer:
    settings = {"rider_wait": "1h", "budgets": Budgets(store="2s")} | policy
    return CacheLayer(policy=Policy(**settings), store=url, semantic=False)


async def test_a_full_server_refuses_writes_and_still_answers(own_server, open_store):
    server = own_server("--maxmemory-policy", "noeviction")
    store = await open_store(server.url)
    await store.put([record()])
    server.do("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(StoreFault) as fault:
        await store.put([record("b")])
    assert fault.value.reason is Reason.OVERLOAD
    assert await served(store) == b"answer"
    server.do("CONFIG", "SET", "maxmemory", "0")
    assert await store.put([record("b")]) == 1


@pytest.mark.parametrize("act", ["delete", "invalidate", "erase"])
async def test_what_is_to_go_goes_from_a_full_server_too(own_server, open_store, act):
    server = own_server("--maxmemory-policy", "noeviction")
    store = await open_store(server.url)
    made = record(tags=("t",))
    await store.put([made, record("b")])
    server.do("CONFIG", "SET", "maxmemory", "1")
    if act == "delete":
        assert await store.delete([made.key]) == 1
    else:
        await getattr(store, act)(tags=["t"])
    assert server.do("EXISTS", store._names.entry(made.key)) == (act == "invalidate")
    assert await served(store) is None and await served(store, "b") == b"answer"
    server.do("CONFIG", "SET", "maxmemory", "0")
    assert await store.put([made]) == 0  # it was begun before
    assert await store.delete([record("b").key]) == 1


async def test_a_full_server_serves_what_it_holds(own_server: Any) -> None:
    server = own_server("--maxmemory-policy", "noeviction")
    async with layer_on(server.url, max_bytes=0) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("kept")
        await layer.flush()
        server.do("CONFIG", "SET", "maxmemory", "1")
        for number in range(20):
            missed = await ask.outcome(f"another {number}")
            assert missed.misses["redis"] is Reason.ABSENT
            await layer.flush()
        assert (await ask.outcome("kept")).source is Source.REDIS


async def test_a_server_that_takes_no_writes_serves_what_it_holds_but_not_what_was_to_go(
    own_server: Any,
) -> None:
    """Too few replicas, as after a failed save to disk: no answer is kept, and nothing that is held is lost."""
    server, gate = own_server(), Gate(opened=True)
    async with layer_on(server.url, max_bytes=0) as layer:
        ask = layer.wrap(gate, name="ask")
        for question in ("kept", "wrong"):
            await ask(question)
        await layer.flush()
        server.do("CONFIG", "SET", "min-replicas-to-write", "1")
        for number in range(20):
            missed = await ask.outcome(f"another {number}")
            assert missed.misses["redis"] is Reason.ABSENT
            await layer.flush()
        assert (await ask.outcome("kept")).source is Source.REDIS
        await ask.invalidate("wrong")  # owed
        assert (await ask.outcome("wrong")).source is Source.BACKEND


async def test_what_others_hold_that_the_server_was_too_full_to_take_goes_with_an_invalidation(
    own_server: Any,
) -> None:
    server = own_server("--maxmemory-policy", "noeviction", "--maxmemory", "1")
    gate = Gate(opened=True)
    async with layer_on(server.url) as one, layer_on(server.url) as two:
        ask = one.wrap(gate, name="ask", tags=["kb"])
        await ask("q")
        await one.flush()
        assert (await ask.outcome("q")).source is Source.MEMORY
        await two.invalidate(tags=["kb"])
        await eventually(lambda: one.stats()["entries"] == 0)
        assert (await ask.outcome("q")).source is Source.BACKEND
