"""The caller of a miss has the answer before it is kept, and nobody can tell: at once or a moment later is the same.

Where a store stands behind the memory, keeping is put off for a moment; else it is done at once.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.flow.deferred import REST

POLICY = Policy(budgets=Budgets(store="2s"), ttl_jitter=0)


class Backend:
    """Never waits; says how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, question: str) -> dict[str, Any]:
        self.calls += 1
        return {"question": question, "call": self.calls}


def layer_on(server: Server | None) -> CacheLayer:
    return CacheLayer(policy=POLICY, store=server.url if server is not None else None, semantic=False)


async def ready(layer: CacheLayer, backend: Backend, **options: Any) -> Any:
    """The wrapped backend, of which it is known that it is fast: nobody is asked for a lease."""
    ask = layer.wrap(backend, name="ask", **options)
    await ask("warm")
    await layer.flush()
    backend.calls = 0
    return ask


async def test_the_very_next_call_finds_what_is_yet_to_be_kept(server: Server) -> None:
    backend = Backend()
    async with layer_on(server) as layer:
        ask = await ready(layer, backend)
        first = await ask("q")
        assert len(layer._keeper.deferred.due) == 1, "it was kept before its caller had it"
        assert await ask("q") == first and (await ask.outcome("q")).source is Source.MEMORY
        assert backend.calls == 1
        assert layer.stats()["functions"]["ask"]["misses"]["redis"] == {"absent": 2}, (
            "the store was asked in vain"
        )


async def test_an_invalidation_in_between_takes_it_away(server: Server) -> None:
    backend = Backend()
    async with layer_on(server) as layer:
        ask = await ready(layer, backend, tags=["kb"])
        await ask("q")
        assert await ask.invalidate("q") == 1
        await ask("q")
        assert await layer.invalidate(tags=["kb"]) == 2  # with the first, "warm"
        await ask("q")
        assert await layer.erase() == 1 and backend.calls == 3


async def test_what_a_caller_does_to_the_answer_is_not_seen(server: Server) -> None:
    async with layer_on(server) as layer:
        ask = await ready(layer, Backend())
        (await ask("q")).clear()
        assert await ask("q") == {"question": "q", "call": 1}


async def test_a_layer_that_is_closed_at_once_loses_nothing(server: Server) -> None:
    backend = Backend()
    async with layer_on(server) as layer:
        await (await ready(layer, backend))("q")
    async with layer_on(server) as layer:
        assert (await layer.wrap(backend, name="ask").outcome("q")).source is Source.REDIS


async def test_its_caller_is_counted_when_anybody_looks(server: Server) -> None:
    async with layer_on(server) as layer:
        metrics, ask = layer.metrics(), await ready(layer, Backend())
        await ask("q")
        counted = layer.stats()["functions"]["ask"]
        assert counted["requests"] == 2 and counted["misses"]["redis"] == {"absent": 2}
        await ask("r")
        told = metrics.render()[1].decode()
        assert 'requests_total{function="ask",match="none",source="backend"} 3.0' in told


async def test_a_caller_that_is_cancelled_as_it_is_answered_leaves_the_answer_behind(server: Server) -> None:
    callers: list[asyncio.Task[Any]] = []

    class Cancels(Backend):
        async def __call__(self, question: str) -> dict[str, Any]:
            for caller in callers:
                caller.cancel()
            return await super().__call__(question)

    backend = Cancels()
    async with layer_on(server) as layer:
        ask = await ready(layer, backend)
        callers.append(asyncio.create_task(ask("q")))
        await asyncio.wait(callers)
        callers.clear()
        await ask("q")
        assert backend.calls == 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "outcome", "refresh", "invalidate", "tag", "turn", "spoil"]),
        st.sampled_from("ab"),
    ),
    max_size=12,
)


async def walk(steps: list[tuple[str, str]], layer: CacheLayer) -> list[Any]:
    """All that can be seen of a walk: answers, sources, counts."""
    ask = await ready(layer, Backend(), tags=["kb"])
    seen: list[Any] = []
    for step, question in steps:
        if step == "turn":
            await asyncio.sleep(REST)
        elif step == "tag":
            seen.append(await layer.invalidate(tags=["kb"]))
        elif step == "outcome":
            outcome = await ask.outcome(question)
            seen.append((outcome.answer, outcome.source, outcome.stored, outcome.id[0]))
        elif step == "spoil":
            (await ask(question)).clear()
        else:
            act = {"ask": ask, "refresh": ask.refresh, "invalidate": ask.invalidate}[step]
            seen.append(await act(question))
    counted = layer.stats()["functions"]["ask"]
    return [*seen, counted["requests"], counted["hits"], counted["backend_calls"], counted["not_stored"]]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_whatever_comes_between_it_is_as_if_all_were_kept_at_once(
    server: Server, steps: list[tuple[str, str]]
) -> None:
    async def both() -> None:
        server.do("FLUSHALL")
        async with AsyncExitStack() as stack:
            layers = [await stack.enter_async_context(layer_on(one)) for one in (server, None)]
            later, at_once = [await walk(steps, layer) for layer in layers]
            assert later == at_once

    asyncio.run(both())
