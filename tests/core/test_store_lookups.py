"""What a store of one's own gives is judged before it is served, whatever the store makes of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest
from shelf import Shelf

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.testing import Gate, ManualClock, WordEmbedder
from cachelayer.types import Record


@pytest.mark.parametrize("max_bytes", [0, 2**20])
async def test_what_a_store_keeps_beyond_its_lifetime_is_not_served_nor_kept(max_bytes: int) -> None:
    shelf, clock = Shelf(), ManualClock()
    policy = Policy(ttl=10, ttl_jitter=0, max_bytes=max_bytes)
    here, there = (CacheLayer(store=shelf, semantic=False, clock=clock, policy=policy) for _ in range(2))
    async with here, there:
        await here.wrap(Gate(opened=True), name="ask")("q")
        await here.flush()
        clock.advance(10)
        late = there.wrap(
            Gate(lambda question: "anew", opened=True), name="ask", cache_if=lambda answer: False
        )
        asked = await late.outcome("q")
        assert (asked.answer, asked.misses["shelf"]) == ("anew", Reason.EXPIRED)
        assert there.stats()["entries"] == 0


async def test_what_cannot_be_read_is_a_counted_miss() -> None:
    shelf = Shelf()
    async with CacheLayer(store=shelf, semantic=False, policy=Policy(max_bytes=0)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("q")
        await layer.flush()
        (key,) = shelf.held
        shelf.held[key] = replace(shelf.held[key], payload=b"\xc1")
        asked = await ask.outcome("q")
        assert (asked.answer, asked.misses["shelf"]) == ("answer 2", Reason.CORRUPT)


async def test_a_trial_whose_caller_leaves_makes_room_for_the_next() -> None:
    shelf, clock = Shelf(), ManualClock()
    async with CacheLayer(store=shelf, semantic=False, clock=clock, policy=Policy(max_bytes=0)) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("q")
        await layer.flush()
        assert layer._shared is not None
        layer._shared.breaker._open()
        clock.advance(layer._shared.breaker.pause)
        shelf.stuck = True
        trial = asyncio.create_task(ask("q"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        trial.cancel()
        with suppress(asyncio.CancelledError):
            await trial
        shelf.stuck = False
        assert (await ask.outcome("q")).source is Source.REDIS


def test_a_plain_caller_who_wants_nothing_kept_is_given_nothing_that_is() -> None:
    layer = CacheLayer(embedder=WordEmbedder(), store=Shelf())
    calls = 0

    @layer.cached
    def ask(question: str) -> str:
        nonlocal calls
        calls += 1
        return f"answer {calls}"

    with layer:
        assert ask("is it open") == ask("is it open") == "answer 1"
        layer._portal.run(layer.flush())
        with layer.tighten(no_cache=True):
            asked = ask.outcome("Is it open?")
            assert (asked.answer, asked.misses) == ("answer 2", {"memory": Reason.NO_CACHE})


class Asked(Shelf):
    """Says that it was asked, and answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def get(self, key: bytes, canonical: bytes, budget: float | None = None) -> Record | None:
        self.asked.set()
        await self.go.wait()
        return await super().get(key, canonical)


@pytest.mark.parametrize(("tag", "kept"), [("prices", False), ("hours", True)])
async def test_an_invalidation_meanwhile_keeps_from_memory_what_it_covers_and_nothing_else(
    tag: str, kept: bool
) -> None:
    shelf = Asked()
    policy = Policy(budgets=Budgets(store="20s"))
    here, there = (CacheLayer(store=shelf, semantic=False, policy=policy) for _ in range(2))
    async with here, there:
        ask, asked = (layer.wrap(Gate(opened=True), name="ask", tags=["prices"]) for layer in (here, there))
        shelf.go.set()
        await ask("q")
        await here.flush()
        shelf.asked.clear()
        shelf.go.clear()
        asking = asyncio.create_task(asked("q"))
        await shelf.asked.wait()
        await there.invalidate(tags=[tag])
        shelf.go.set()
        await asking
        assert (there.stats()["entries"] == 1) is kept


async def test_a_store_that_is_left_alone_is_asked_for_no_lease_either() -> None:
    shelf = Shelf()
    async with CacheLayer(store=shelf, semantic=False, clock=ManualClock()) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        assert layer._shared is not None
        layer._shared.breaker._open()
        assert await ask("q") == "answer 1" and shelf.given == []
