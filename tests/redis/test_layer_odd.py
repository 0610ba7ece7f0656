"""Layers on a Redis: odd texts harm nobody else, odd hosts and full servers are borne, what lies there is explained."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from redis_records import Skewed, eventually
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.testing import Gate, WordEmbedder

ODD = "what costs \ud800 today"
TEXTS = ("where is my parcel", ODD, "how are refunds paid")


PATIENT = Policy(budgets=Budgets(store="2s"))


def layer_on(url: str) -> CacheLayer:
    return CacheLayer(policy=PATIENT, store=url, embedder=WordEmbedder())


def layer_by(clock: Skewed, url: str) -> CacheLayer:
    return CacheLayer(policy=PATIENT, store=url, semantic=False, clock=clock)


@pytest.mark.parametrize("tags", [[], ["about:{question}"]])
async def test_a_text_that_is_no_unicode_stays_in_memory_and_harms_no_other(
    server: Server, tags: list[str]
) -> None:
    sources = []
    for _ in range(2):
        async with layer_on(server.url) as layer:
            ask = layer.wrap(Gate(opened=True), name="ask", tags=tags, text="question")
            outcomes = await asyncio.gather(*(ask.outcome(question=text) for text in TEXTS))
            assert (await ask.outcome(question=ODD)).source is Source.MEMORY
            await layer.flush()
            sources.append([outcome.source for outcome in outcomes])
            assert {stage.split(":")[0] for stage in layer.stats()["faults"]} <= {"encode"}
    assert sources[1] == [Source.REDIS, Source.BACKEND, Source.REDIS]


async def test_an_invalidation_on_a_full_server_is_heard_all_the_same(
    own_server: Callable[..., Server],
) -> None:
    server = own_server("--maxmemory-policy", "noeviction")
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(layer_on(server.url)) for _ in range(2)]
        gate = Gate(opened=True)
        asks = [layer.wrap(gate, name="ask", tags=["kb"]) for layer in (one, other)]
        await asks[0]("a question")
        await one.flush()
        assert (await asks[1].outcome("a question")).source is Source.REDIS
        server.do("CONFIG", "SET", "maxmemory", "1")
        assert await one.invalidate(tags=["kb"]) == 1
        await eventually(lambda: other.stats()["entries"] == 0)
        assert (await asks[1].outcome("a question")).source is Source.BACKEND
        server.do("CONFIG", "SET", "maxmemory", "0")
        third = await stack.enter_async_context(layer_on(server.url))
        assert await third.wrap(gate, name="ask", tags=["kb"])("a question") != "answer 1"


async def test_a_host_that_can_be_no_name_is_a_store_that_is_away() -> None:
    async with layer_on(f"redis://{'a' * 70}.example:6379") as layer:
        outcome = await layer.wrap(Gate(opened=True), name="ask").outcome("a question")
        assert outcome.misses["redis"] in (Reason.FAULT, Reason.BREAKER_OPEN)


async def test_what_lies_in_redis_is_explained_as_the_hit_that_it_would_be(server: Server) -> None:
    async with layer_on(server.url) as one, layer_on(server.url) as other:
        asks = [layer.wrap(Gate(opened=True), name="ask") for layer in (one, other)]
        assert (await asks[1].explain("a question")).reasons["redis"] is Reason.ABSENT
        await asks[0]("a question")
        await one.flush()
        told = await asks[1].explain("a question")
        assert (
            told.verdict == "exact hit" and told.reasons == {"memory": Reason.ABSENT} and told.age is not None
        )
        assert other.stats()["entries"] == 0
        assert (await asks[1].outcome("a question")).source is Source.REDIS


async def test_what_a_partial_binds_by_position_is_part_of_what_is_asked(server: Server) -> None:
    async def call(model: str, question: str) -> str:
        return f"{model} on {question}"

    for model in ("small", "large"):
        async with layer_on(server.url) as layer:
            ask = layer.wrap(functools.partial(call, model), name="ask")
            assert await ask("a question") == f"{model} on a question"
            await layer.flush()


async def test_an_answer_is_no_younger_than_new_where_a_clock_jumped_back(server: Server) -> None:
    clock = Skewed(0.0)
    async with layer_on(server.url) as one, layer_by(clock, server.url) as two:
        here, there = (layer.wrap(Gate(opened=True), name="ask") for layer in (one, two))
        await here("q")
        await one.flush()
        clock.by = -60.0
        for source in (Source.REDIS, Source.MEMORY):
            outcome = await there.outcome("q")
            assert outcome.source is source and outcome.age is not None and outcome.age >= 0.0


async def test_an_answer_from_redis_is_as_old_as_the_time_since_it_was_made(server: Server) -> None:
    clock = Skewed(-3600.0)
    async with layer_on(server.url) as one, layer_by(clock, server.url) as two:
        here, there = (layer.wrap(Gate(opened=True), name="ask") for layer in (one, two))
        for question in ("q", "another"):
            await here(question)
        made = time.monotonic()
        await one.flush()
        await eventually(lambda: time.monotonic() - made > 0.3)
        told = await there.explain("q")
        met = [(await there.outcome("q")) for _ in range(2)]
        assert [outcome.source for outcome in met] == [Source.REDIS, Source.MEMORY]
        assert all(age is not None and 0.2 < age < 60 for age in (told.age, *(o.age for o in met)))
        with two.tighten(max_age=0.2):
            assert (await there.explain("another")).reasons["redis"] is Reason.EXPIRED
            assert {(await there.outcome(q)).source for q in ("q", "another")} == {Source.BACKEND}


async def test_of_many_calls_that_fail_at_once_none_keeps_its_lease(server: Server) -> None:
    """It would be renewed as long as this process lives, and other processes would wait for nothing."""
    gate = Gate()
    gate.error = ValueError()
    policy = Policy(budgets=Budgets(store="2s"))
    async with CacheLayer(store=server.url, semantic=False, policy=policy) as layer:
        ask = layer.wrap(gate, name="ask")
        calls = [asyncio.create_task(ask(f"text {n}")) for n in range(200)]
        await eventually(lambda: gate.calls == len(calls))
        assert len(server.do("KEYS", "cachelayer:l:*")) == len(calls)
        gate.open()
        assert {type(fault) for fault in await asyncio.gather(*calls, return_exceptions=True)} == {ValueError}
        await layer.flush()
        assert server.do("KEYS", "cachelayer:l:*") == []


def returns(question: str) -> list[str]:
    return ["returned"]


def yields(question: str) -> Iterator[str]:
    yield "yielded"


async def answers(question: str) -> str:
    return "answered"


async def streams(question: str) -> AsyncIterator[str]:
    yield "streamed"


async def asked(cached: Any) -> Any:
    """What a caller makes of a function that it knows."""
    if cached.__wrapped__ is streams:
        return [chunk async for chunk in cached("q")]
    if cached.__wrapped__ is answers:
        return await cached("q")
    return await asyncio.to_thread(lambda: list(cached("q")))


@pytest.mark.parametrize(("before", "after"), [(returns, yields), (answers, streams)])
async def test_a_function_that_becomes_a_generator_or_ceases_to_be_one_gives_its_callers_what_they_expect(
    server: Server, before: Any, after: Any
) -> None:
    name = f"{before.__name__}-{after.__name__}"
    async with AsyncExitStack() as stack:
        seen = []
        for fn in (before, after, before):
            layer = await stack.enter_async_context(layer_on(server.url))
            seen.append(await asked(layer.cached(name=name, semantic=False)(fn)))
            await layer.flush()
    assert seen[0] == seen[2] != seen[1] == ["yielded" if after is yields else "streamed"]


async def test_an_answer_that_claims_any_number_of_tokens_is_shared_and_harms_no_other(
    server: Server,
) -> None:
    numbers = {"none": -1, "two": 2, "absurd": 2**70}
    gate = Gate(lambda question: {"usage": {"total_tokens": numbers[question]}}, opened=True)
    for expected in (Source.BACKEND, Source.REDIS):
        async with layer_on(server.url) as layer:
            ask = layer.wrap(gate, name="counted", semantic=False)
            outcomes = await asyncio.gather(*map(ask.outcome, numbers))
            assert [outcome.source for outcome in outcomes] == [expected] * 3
            await layer.flush()


@pytest.mark.parametrize("max_bytes", [0, 2**20])
@pytest.mark.parametrize("large", [b"x" * 200_000, [[n] for n in range(20_000)]], ids=["bytes", "lists"])
async def test_what_a_refresh_found_too_large_to_keep_takes_the_place_of_the_older_answer_for_all(
    server: Server, max_bytes: int, large: Any
) -> None:
    """Memory let the older one go and the store brought it back: a refresh was followed by what it had replaced."""
    policy, said = Policy(max_bytes=max_bytes, max_item_bytes=100_000, budgets=Budgets(store="2s")), ["old"]

    async def ask(question: str) -> Any:
        return said[-1]

    async with AsyncExitStack() as stack:
        layers = [CacheLayer(policy=policy, store=server.url, semantic=False) for _ in range(2)]
        one, other = [(await stack.enter_async_context(layer)).wrap(ask, name="ask") for layer in layers]
        assert await one("q") == "old"
        await layers[0].flush()
        assert await other("q") == "old"
        said.append(large)
        assert await one.refresh("q") == large
        await layers[0].flush()
        said.append("new")
        for _ in range(2):
            assert await one("q") == "new"
        await layers[0].flush()
        await eventually(lambda: layers[1].stats()["entries"] == 0)
        assert await other("q") == "new"


async def test_without_a_memory_what_is_too_large_is_not_stored_either(server: Server) -> None:
    policy = Policy(max_bytes=0, max_item_bytes=100_000, budgets=Budgets(store="2s"))
    async with CacheLayer(policy=policy, store=server.url, semantic=False) as layer:

        @layer.cached
        async def ask(question: str) -> bytes:
            return b"x" * 200_000

        assert (await ask.outcome("q")).stored is Reason.OVERSIZE
        await layer.flush()
        assert (await ask.outcome("q")).source is Source.BACKEND


async def test_a_stream_that_a_refresh_found_too_large_takes_the_place_of_the_older_one(
    server: Server,
) -> None:
    policy, said = Policy(max_item_bytes=20_000, budgets=Budgets(store="2s")), ["old"]

    async def ask(question: str) -> AsyncIterator[str]:
        for chunk in said[-1].split():
            yield chunk

    async with CacheLayer(policy=policy, store=server.url, semantic=False) as layer:
        stream = layer.wrap(ask, name="ask")
        assert [chunk async for chunk in stream("q")] == ["old"]
        await layer.flush()
        said.append("x" * 9000 + " " + "y" * 19_000)
        assert len([chunk async for chunk in await stream.refresh("q")]) == 2
        await layer.flush()
        said.append("new")
        assert [chunk async for chunk in stream("q")] == ["new"]
