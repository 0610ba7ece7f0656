"""How a ride on a call in flight ends where its answer cannot be shared, is not there yet, or time is short."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from types import FrameType
from typing import Any

import numpy as np
import pytest
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.semantic.inflight import Flight, InFlight
from cachelayer.testing import Gate, ManualClock, WordEmbedder
from cachelayer.types import Embedded, Query

FORWARDS, BACKWARDS = "where is my red parcel today", "today where is my parcel red"


def make(embedder: Any = None, clock: ManualClock | None = None) -> CacheLayer:
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=Budgets(embed="20s", search="20s", verify="20s"))
    embedder = embedder or WordEmbedder()
    return CacheLayer(policy=policy, embedder=embedder, verifier=SameWords(), clock=clock)


async def test_a_stream_whose_beginning_is_gone_is_shared_with_no_near_duplicate() -> None:
    runs = []
    more = asyncio.Event()

    async def stream(prompt: str) -> AsyncIterator[str]:
        runs.append(prompt)
        for _ in range(4):
            yield "a" * 1000
        await more.wait()
        yield "b"

    layer = make()
    ask = layer.wrap(stream, name="stream", max_item_bytes=2000)
    async with layer, asyncio.timeout(30):
        first = ask(FORWARDS)
        for _ in range(4):
            await anext(first)
        near = ask(BACKWARDS)
        assert await anext(near) == "a" * 1000
        more.set()
        assert [len([chunk async for chunk in one]) for one in (first, near)] == [1, 4]
    assert runs == [FORWARDS, BACKWARDS]


class Waiting(WordEmbedder):
    """Embeds in the next turn of the loop."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        await asyncio.sleep(0)
        return await super().embed(texts)


@pytest.mark.parametrize("turns", range(8))
async def test_a_stream_whose_beginning_goes_as_it_is_shared_is_read_whole_all_the_same(turns: int) -> None:
    """Between the turn in which it could be shared and that of its reader it grew too large: its end came first."""
    more = asyncio.Event()

    async def stream(prompt: str) -> AsyncIterator[str]:
        for part in range(6):
            await asyncio.sleep(0)
            if part == 1:
                await more.wait()
            yield f"{part}" * 1000

    layer = make(embedder=Waiting())
    ask = layer.wrap(stream, name="stream", max_item_bytes=2000)

    async def read(prompt: str) -> list[str]:
        return [chunk[0] async for chunk in ask(prompt)]

    async with layer, asyncio.timeout(30):
        first = asyncio.create_task(read(FORWARDS))
        tier = layer._similar
        assert tier is not None
        while not len(tier.inflight):
            await asyncio.sleep(0)
        for _ in range(4):  # the first chunk comes
            await asyncio.sleep(0)
        near = asyncio.create_task(read(BACKWARDS))
        for _ in range(turns):
            await asyncio.sleep(0)
        more.set()
        assert await near == await first == list("012345")


async def test_a_rider_on_a_stream_reports_the_entry_that_the_stream_becomes() -> None:
    more = asyncio.Event()

    async def stream(prompt: str) -> AsyncIterator[str]:
        yield "a"
        await more.wait()
        yield "b"

    layer = make()
    ask = layer.wrap(stream, name="stream")
    async with layer, asyncio.timeout(30):
        first, near = await ask.outcome(FORWARDS), await ask.outcome(BACKWARDS)
        assert (near.source, near.match) == (Source.COALESCED, "similar")
        more.set()
        for one in (first, near):
            assert [chunk async for chunk in one.answer] == ["a", "b"]
        await layer.flush()
        assert layer.stats()["entries"] == 1
        assert near.id.partition(".")[0] == first.id and await layer.report_wrong(near)
        assert layer.stats()["entries"] == 0


@pytest.mark.parametrize("known", [False, True])
async def test_a_stream_that_was_shared_in_flight_is_served_to_no_near_duplicate_past_its_lifetime(
    known: bool,
) -> None:
    """It stood in the near-duplicate's flight for good, and was served from there for `flight_age`."""
    runs = []
    more = asyncio.Event()

    async def stream(prompt: str) -> AsyncIterator[str]:
        runs.append(prompt)
        yield f"{len(runs)}"
        await more.wait()

    clock = ManualClock()
    layer = make(clock=clock)
    ask = layer.wrap(stream, name="stream", ttl=60)
    async with layer, asyncio.timeout(30):
        if known:  # its vector is remembered: the ride begins without a wait
            await ask.explain(BACKWARDS)
        first, near, same = [await ask.outcome(prompt) for prompt in (FORWARDS, BACKWARDS, BACKWARDS)]
        assert (near.source, near.match, same.match) == (Source.COALESCED, "similar", "similar")
        more.set()
        assert [[chunk async for chunk in one.answer] for one in (first, near, same)] == [["1"]] * 3
        await layer.flush()
        clock.advance(61)
        late = await ask.outcome(BACKWARDS)
        assert [chunk async for chunk in late.answer] == ["2"] and late.source is Source.BACKEND


class Hanging(WordEmbedder):
    """Embeds nothing until the end of the test."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        await self.let.wait()
        return await super().embed(texts)


async def test_the_head_start_of_similar_answers_ends_with_the_callers_deadline() -> None:
    embedder: Any = Hanging()
    layer = make(embedder=embedder)
    ask = layer.wrap(Gate(opened=True), name="ask")
    async with layer, asyncio.timeout(15):
        with layer.scope(deadline="50ms"):
            assert (await ask.outcome(FORWARDS)).source is Source.BACKEND
        embedder.let.set()


async def test_who_comes_after_an_invalidation_rides_on_no_stream_that_began_before_it() -> None:
    runs = []
    more = asyncio.Event()

    async def stream(prompt: str) -> AsyncIterator[str]:
        runs.append(prompt)
        yield f"{len(runs)}"
        await more.wait()

    layer = make()
    ask = layer.wrap(stream, name="stream", tags=["kb"])
    async with layer, asyncio.timeout(30):
        first = ask(FORWARDS)
        assert await anext(first) == "1"
        await layer.invalidate(tags=["kb"])
        near = await ask.outcome(BACKWARDS)
        more.set()
        assert [chunk async for chunk in near.answer] == ["2"] and [chunk async for chunk in first] == []
    assert near.misses["similar"] is Reason.INVALIDATED


async def test_calls_that_two_threads_begin_at_once_each_end() -> None:
    """One got the other's number, and was held, with its answer, for as long as the process ran."""
    flights, query = InFlight(), Query("a", np.ones(1, np.float32))
    begun: list[Flight | None] = []

    def meanwhile(frame: FrameType, event: str, arg: Any) -> None:
        if frame.f_code is Flight.__init__.__code__:
            sys.settrace(None)
            begun.append(flights.begin(b"another", query))

    traced = sys.gettrace()
    sys.settrace(meanwhile)
    try:
        begun.append(flights.begin(b"p", query))
    finally:
        sys.settrace(traced)
    for flight in begun:
        assert flight is not None
        flights.end(flight)
    assert len(begun) == 2 and len(flights) == 0


async def test_who_waits_for_a_call_is_told_on_its_own_loop_though_another_writes_the_answer() -> None:
    asyncio.get_running_loop().set_debug(True)
    flights, query = InFlight(), Query("a", np.ones(1, np.float32))
    flight = flights.begin(b"p", query)
    assert flight is not None
    waiting = asyncio.ensure_future(asyncio.wait((flight.wait(),)))
    await asyncio.sleep(0)
    await asyncio.to_thread(flights.end, flight)
    assert [done.result() for done in (await waiting)[0]] == [None] and len(flights) == 0


async def test_who_joins_what_has_landed_is_told_after_those_whose_call_it_was() -> None:
    """They read its stream from the beginning, which would be gone where a rider had read on."""
    flight, told = InFlight().begin(b"p", Query("a", np.ones(1, np.float32))), list[str]()
    assert flight is not None
    flight.land("a stream")
    asyncio.get_running_loop().call_soon(told.append, "its own caller")
    told.append(await flight.wait())
    assert told == ["its own caller", "a stream"]
