"""Plain functions and their leases: what is not kept reaches its caller, and holds up nobody after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis_records import eventually
from redis_servers import Server

from cachelayer import Budgets, CacheLayer, Policy, Source

BUDGETS = Budgets(store="2s")


@pytest.fixture
def layer(server: Server) -> Iterator[CacheLayer]:
    made = CacheLayer(store=server.url, semantic=False, policy=Policy(budgets=BUDGETS, rider_wait="1h"))
    yield made
    asyncio.run(made.aclose())


def nobody_leads(server: Server) -> None:
    async def freed() -> None:
        await eventually(lambda: not server.do("KEYS", "cachelayer:l:*"))

    asyncio.run(freed())


@pytest.mark.parametrize(
    "options",
    [{"cache_if": lambda answer: False}, {"max_item_bytes": 10}, {"ttl": lambda answer: 0}],
    ids=str,
)
def test_an_answer_that_is_not_kept_is_returned_and_its_lease_given_up(
    layer: CacheLayer, server: Server, options: dict[str, Any]
) -> None:
    ask = layer.wrap(lambda text: text * 10, name="ask", **options)
    for _ in range(2):
        assert ask("a text") == "a text" * 10
        nobody_leads(server)


def test_a_fault_of_the_backend_is_raised_and_its_lease_given_up(layer: CacheLayer, server: Server) -> None:
    faults: list[type[BaseException]] = [ValueError, KeyboardInterrupt]

    def fail(text: str) -> str:
        raise faults[0](text)

    ask = layer.wrap(fail, name="ask")
    while faults:
        with pytest.raises(faults[0], match="a text"):
            ask("a text")
        nobody_leads(server)
        faults.pop(0)


@pytest.mark.parametrize("read", [list, next], ids=["to its fault", "left"])
def test_a_stream_that_does_not_end_well_gives_up_its_lease(
    layer: CacheLayer, server: Server, read: Callable[[Any], Any]
) -> None:
    def words(text: str) -> Iterator[str]:
        yield text
        raise ValueError("cut")

    stream = layer.wrap(words, name="stream")
    for _ in range(2):
        if read is list:
            with pytest.raises(ValueError, match="cut"):
                list(stream("a text"))
        else:
            left = stream("a text")
            assert next(left) == "a text"
            left.close()
        nobody_leads(server)


async def test_where_a_stale_answer_stands_in_for_a_fault_the_lease_is_given_up(server: Server) -> None:
    policy = Policy(budgets=BUDGETS, ttl=0.001, ttl_jitter=0, stale_if_error="1h", rider_wait="1h")
    answers = iter(["an answer"])

    async def once(text: str) -> str:
        try:
            return next(answers)
        except StopIteration:
            raise ValueError(text) from None

    async with CacheLayer(store=server.url, semantic=False, policy=policy) as layer:
        ask = layer.wrap(once, name="ask")
        assert await ask("a text") == "an answer"
        await layer.flush()
        for _ in range(2):
            assert (await ask.outcome("a text")).source in (Source.STALE, Source.MEMORY)
            await eventually(lambda: not server.do("KEYS", "cachelayer:l:*"))


async def test_a_plain_function_on_a_loops_thread_waits_for_no_lease_that_this_loop_has_to_give_up(
    server: Server,
) -> None:
    policy = Policy(budgets=BUDGETS, rider_wait="1h")
    layers = [CacheLayer(store=server.url, semantic=False, policy=policy) for _ in range(2)]
    asks = [layer.wrap(lambda text: text * 2, name="ask") for layer in layers]
    assert [ask.outcome("a text").source for ask in asks] == [
        Source.BACKEND
    ] * 2  # no turn of the loop between them
    for layer in layers:
        await layer.flush()
        await layer.aclose()
    await asyncio.to_thread(nobody_leads, server)


def test_a_function_that_asks_itself_again_does_not_wait_for_its_own_lease(layer: CacheLayer) -> None:
    calls = 0

    @layer.cached
    def ask(text: str) -> str:
        nonlocal calls
        calls += 1
        return "an answer" if calls == 2 else ask(text)

    assert (ask("a"), ask("a"), calls) == ("an answer", "an answer", 2)
