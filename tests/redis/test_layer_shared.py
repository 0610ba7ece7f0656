"""Layers on one Redis: warm restarts, one call in the fleet, invalidation everywhere, faults that hurt nobody."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fault_proxy import FaultProxy
from redis_records import eventually
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.flow.breaker import State
from cachelayer.testing import Gate

PATIENT = Budgets(store="2s")


def layer_on(server: Server, **options: Any) -> CacheLayer:
    policy = Policy(budgets=options.pop("budgets", PATIENT), **options.pop("policy", {}))
    return CacheLayer(policy=policy, store=options.pop("url", server.url), semantic=False, **options)


@dataclass
class Invoice:
    number: int


async def test_a_second_layer_finds_what_the_first_one_made(server: Server) -> None:
    gate = Gate(lambda question: {"items": [question, 1.5, None]}, opened=True)
    for expected in (Source.BACKEND, Source.REDIS):
        async with layer_on(server) as layer:
            ask = layer.wrap(gate, name="ask")
            outcome = await ask.outcome("q")
            assert outcome.source is expected and outcome.answer == {"items": ["q", 1.5, None]}
            assert (await ask.outcome("q")).source is Source.MEMORY
            await layer.flush()
    assert gate.calls == 1 and outcome.age is not None and outcome.saved.seconds > 0


async def test_a_stream_is_shared_whole(server: Server) -> None:
    runs = []

    async def stream(prompt: str) -> AsyncIterator[dict[str, str]]:
        runs.append(prompt)
        for word in ("a", "b"):
            yield {"text": word}

    for _ in range(2):
        async with layer_on(server) as layer:
            cached = layer.wrap(stream, name="stream")
            assert [c async for c in cached("p")] == [{"text": "a"}, {"text": "b"}]
            await layer.flush()
    assert runs == ["p"]


async def test_an_invalidation_that_returned_is_obeyed_everywhere_within_100_ms(server: Server) -> None:
    gate = Gate(opened=True)
    strict = {"url": server.strict_url}
    async with layer_on(server, **strict) as one, layer_on(server, **strict) as two:
        here, there = (layer.wrap(gate, name="ask", tags=["kb"]) for layer in (one, two))
        await here("q")
        await one.flush()
        assert (await there.outcome("q")).source is Source.REDIS
        for forget in (
            lambda: one.invalidate(tags=["kb"]),
            lambda: here.invalidate("q"),
            lambda: one.erase(),
        ):
            calls = gate.calls
            await there("q")
            await two.flush()
            await forget()
            await asyncio.sleep(0.1)
            assert (await there.outcome("q")).source is Source.BACKEND
            assert gate.calls > calls


async def test_what_is_read_back_while_its_call_is_declared_invalid_is_not_kept(server: Server) -> None:
    """It is in memory before Redis hears that it is to be deleted, and the process that says so hears nothing."""
    async with FaultProxy(server.port) as proxy:
        slow = {"url": f"{proxy.url}?lag=5s"}
        async with layer_on(server) as one, layer_on(server, **slow) as two:
            here, there = (layer.wrap(Gate(opened=True), name="ask") for layer in (one, two))
            await here("q")
            await one.flush()
            await there("another")
            proxy.hold = b"UNLINK"
            forgetting = asyncio.create_task(there.invalidate("q"))
            await proxy.held.wait()
            assert (await there.outcome("q")).source is Source.REDIS
            proxy.go.set()
            await forgetting
            assert (await there.outcome("q")).source is Source.BACKEND


async def test_erasing_a_tenant_leaves_the_others_in_every_process(server: Server) -> None:
    strict = {"url": server.strict_url}
    async with layer_on(server, **strict) as one, layer_on(server, **strict) as two:
        here, there = (layer.wrap(Gate(opened=True), name="ask") for layer in (one, two))
        for tenant in ("acme", "beta"):
            with one.scope(tenant=tenant):
                await here("q")
        await one.flush()
        await one.erase(tenant="acme")
        await asyncio.sleep(0.1)
        with two.scope(tenant="beta"):
            assert (await there.outcome("q")).source is Source.REDIS
        with two.scope(tenant="acme"):
            assert (await there.outcome("q")).source is Source.BACKEND


async def test_two_layers_make_one_call(server: Server) -> None:
    gate = Gate()
    async with AsyncExitStack() as stack:
        layers = [await stack.enter_async_context(layer_on(server)) for _ in range(2)]
        asks = [layer.wrap(gate, name="ask") for layer in layers]
        callers = [asyncio.create_task(ask("q")) for ask in asks for _ in range(16)]
        await gate.entered()
        gate.open()
        assert set(await asyncio.gather(*callers)) == {"answer 1"}
    assert gate.calls == 1


async def test_a_follower_goes_alone_when_it_has_waited_enough(server: Server) -> None:
    gate = Gate()
    async with layer_on(server) as one, layer_on(server, policy={"rider_wait": "50ms"}) as two:
        leader = asyncio.create_task(one.wrap(gate, name="ask")("q"))
        await gate.entered()
        follower = asyncio.create_task(two.wrap(gate, name="ask")("q"))
        assert await gate.entered() == 2
        gate.open()
        await asyncio.gather(leader, follower)


async def test_a_failing_leader_lets_its_followers_go_on_at_once(server: Server) -> None:
    failing, working = Gate(), Gate(opened=True)
    failing.error = ConnectionError("down")
    async with layer_on(server) as one, layer_on(server) as two:
        leader = asyncio.create_task(one.wrap(failing, name="ask")("q"))
        await failing.entered()
        follower = asyncio.create_task(two.wrap(working, name="ask")("q"))
        await asyncio.sleep(0.05)
        assert working.calls == 0
        failing.open()
        with pytest.raises(ConnectionError):
            await leader
        assert await asyncio.wait_for(follower, 5) == "answer 1"


async def test_a_dead_redis_costs_reasons_and_then_nothing_and_comes_back_by_itself(
    own_server: Callable[..., Server],
) -> None:
    server = own_server()
    async with layer_on(server, budgets=Budgets(store="50ms")) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("q")
        server.kill()
        reasons = [(await ask.outcome(f"q{i}")).misses["redis"] for i in range(12)]
        assert set(reasons) <= {Reason.FAULT, Reason.BUDGET, Reason.BREAKER_OPEN}
        assert reasons[-1] is Reason.BREAKER_OPEN
        own_server(port=server.port)
        async with asyncio.timeout(30):
            for i in range(10**6):
                if (await ask.outcome(f"again {i}")).misses["redis"] is Reason.ABSENT:
                    break
                await asyncio.sleep(0.05)


async def test_a_redis_that_stands_again_is_asked_at_once_however_long_the_pause(
    own_server: Callable[..., Server],
) -> None:
    server = own_server()
    async with layer_on(server, budgets=Budgets(store="2s")) as layer:
        ask, shared = layer.wrap(Gate(opened=True), name="ask"), layer._shared
        assert shared is not None
        shared.breaker.pause = shared.breaker.longest = shared.breaker._pause = 3600.0
        server.kill()
        while shared.breaker.state is not State.OPEN:
            await ask(f"q{shared.breaker.share}")
        assert (await ask.outcome("q")).misses["redis"] is Reason.BREAKER_OPEN
        own_server(port=server.port)
        await eventually(shared.breaker.allow)
        shared.breaker.abandoned()
        assert (await ask.outcome("again")).misses["redis"] is Reason.ABSENT


async def test_a_frozen_redis_costs_a_caller_its_budget_at_most(own_server: Callable[..., Server]) -> None:
    server = own_server()
    async with layer_on(server, budgets=Budgets(store="20ms")) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        server.freeze()
        try:
            outcome = await ask.outcome("q")
            assert outcome.misses["redis"] in (Reason.BUDGET, Reason.FAULT) and outcome.answer == "answer 1"
        finally:
            server.thaw()


async def test_classes_travel_only_when_they_are_on_the_list(server: Server) -> None:
    async def ask(question: str) -> Invoice:
        return Invoice(7)

    for types, expected in (([], Source.BACKEND), ([Invoice], Source.REDIS)):
        for _ in range(2):
            async with layer_on(server, types=types) as layer:
                outcome = await layer.wrap(ask, name=f"ask{len(types)}").outcome("q")
                await layer.flush()
                stats = layer.stats()["functions"][f"ask{len(types)}"]
        assert outcome.answer == Invoice(7) and outcome.source is expected
        assert bool(stats["not_stored"]) is (not types)


async def test_plain_functions_share_too(server: Server) -> None:
    calls = []

    def classify(text: str) -> str:
        calls.append(text)
        return text.upper()

    for _ in range(2):
        layer = layer_on(server)
        assert await asyncio.to_thread(layer.wrap(classify, name="classify"), "a") == "A"
        await layer.flush()
        await layer.aclose()
    assert calls == ["a"]


CHILD = """
import asyncio, json, sys
from cachelayer import Budgets, CacheLayer, Policy
calls = 0
async def main():
    layer = CacheLayer(policy=Policy(budgets=Budgets(store="2s")), store=sys.argv[1], semantic=False)
    @layer.cached(name="ask")
    async def ask(question: str) -> str:
        global calls
        calls += 1
        await asyncio.sleep(0.3)
        return question
    async with layer:
        print("ready", flush=True)
        sys.stdin.readline()
        await asyncio.gather(*(ask("q") for _ in range(64)))
    print(json.dumps(calls), flush=True)
asyncio.run(main())
"""


def test_a_stampede_of_64_callers_in_each_of_4_processes_makes_one_call(
    server: Server, tmp_path: Path
) -> None:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    children = [
        subprocess.Popen([sys.executable, script, server.url], stdin=-1, stdout=-1, text=True)
        for _ in range(4)
    ]
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    calls = [json.loads(child.communicate(timeout=60)[0]) for child in children]
    assert sum(calls) == 1
