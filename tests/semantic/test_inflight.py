"""Near-duplicates in flight: one call for all of them, by the rules that decide hits, and nobody left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from turns import turns
from verifiers import SameWords

from cachelayer import Budgets, CacheLayer, Policy, Reason, Source
from cachelayer.flow.reentrancy import WITHIN, Made
from cachelayer.semantic.inflight import InFlight
from cachelayer.testing import Gate, ManualClock, WordEmbedder
from cachelayer.types import Query

FORWARDS, BACKWARDS = "where is my red parcel today", "today where is my parcel red"


def make(clock: ManualClock | None = None, **policy: Any) -> CacheLayer:
    patient = Budgets(embed="20s", search="20s", verify="20s")
    settings = Policy(**{"max_error_rate": 0.05, "shadow": 0, "budgets": patient, **policy})
    return CacheLayer(policy=settings, embedder=WordEmbedder(), verifier=SameWords(), clock=clock)


async def test_a_near_duplicate_in_flight_is_waited_for() -> None:
    gate, layer = Gate(), make()
    ask = layer.wrap(gate, name="ask")
    async with layer:
        callers = [asyncio.create_task(ask.outcome(q)) for q in (FORWARDS, BACKWARDS, FORWARDS)]
        await gate.entered()
        tier = layer._similar
        assert tier is not None
        while not tier.inflight.joined:
            await asyncio.sleep(0)
        gate.open()
        first, near, same = await asyncio.gather(*callers)
        assert gate.calls == 1 and {first.answer, near.answer, same.answer} == {"answer 1"}
        assert (first.source, near.source, near.match) == (Source.BACKEND, Source.COALESCED, "similar")
        assert (same.source, same.match) == (Source.COALESCED, "exact")
        assert near.similarity == pytest.approx(1.0) and near.confidence > 0.9
        await layer.flush()
        assert len(tier.inflight) == 0
        assert layer.stats()["similar"]["joined"] == 1


async def test_a_near_duplicate_is_waited_for_no_longer_than_the_deadline() -> None:
    gate, layer = Gate(), make(rider_wait="1h")
    ask = layer.wrap(gate, name="ask")

    async def hurried() -> Any:
        with layer.scope(deadline="50ms"):
            return await ask.outcome(BACKWARDS)

    async with layer, asyncio.timeout(30):
        first = asyncio.create_task(ask.outcome(FORWARDS))
        await gate.entered()
        near = asyncio.create_task(hurried())
        await gate.entered()
        gate.open()
        assert (await first).source is (await near).source is Source.BACKEND


async def test_a_flight_that_brings_a_stale_answer_for_a_failing_backend_ends() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "track", "arguments": "{}"}}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call],
    }  # such an answer is findable by no other
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    gate, clock = Gate(lambda question: {"choices": [choice]}, opened=True), ManualClock()
    layer = make(clock=clock, ttl=10, stale_if_error=3600)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        await ask(FORWARDS)
        await layer.flush()
        gate.error = ConnectionError("down")
        clock.advance(30)
        assert (await ask.outcome(FORWARDS)).source is Source.STALE
        await layer.flush()
        tier = layer._similar
        assert tier is not None and len(tier.inflight) == 0


@pytest.mark.parametrize("question", [FORWARDS, BACKWARDS])
async def test_an_answer_that_expired_before_it_was_findable_is_not_shared(question: str) -> None:
    gate, clock = Gate(opened=True), ManualClock()
    layer = make(clock=clock, ttl=60)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        await ask(FORWARDS)
        clock.advance(61)  # the index has not been written to yet
        outcome = await ask.outcome(question)
        assert (outcome.source, outcome.answer) == (Source.BACKEND, "answer 2")


async def test_what_the_rules_refuse_makes_its_own_call() -> None:
    gate, layer = Gate(), make()
    ask = layer.wrap(gate, name="ask")
    async with layer:
        callers = [asyncio.create_task(ask.outcome(q)) for q in (FORWARDS, "where is my blue parcel today")]
        await gate.entered()
        await gate.entered()
        gate.open()
        outcomes = await asyncio.gather(*callers)
    assert [outcome.source for outcome in outcomes] == [Source.BACKEND] * 2


async def test_tenants_and_stricter_requests_never_ride_along() -> None:
    gate, layer = Gate(), make()
    ask = layer.wrap(gate, name="ask")

    async def as_tenant(tenant: str, question: str) -> Any:
        with layer.scope(tenant=tenant):
            return await ask.outcome(question)

    async def strict(question: str) -> Any:
        with layer.scope(tenant="a"), layer.tighten(max_error_rate=0):
            return await ask.outcome(question)

    async with layer:
        callers = [asyncio.create_task(one) for one in (as_tenant("a", FORWARDS), as_tenant("b", BACKWARDS))]
        callers.append(asyncio.create_task(strict(BACKWARDS)))
        for _ in callers:
            await gate.entered()
        gate.open()
        assert [o.source for o in await asyncio.gather(*callers)] == [Source.BACKEND] * 3


class Held(WordEmbedder):
    """Embeds once it is let, and tells that it is to."""

    def __init__(self) -> None:
        super().__init__()
        self.let, self.asked = asyncio.Event(), asyncio.Event()
        self.let.set()

    async def embed(self, texts: Any) -> Any:
        self.asked.set()
        await self.let.wait()
        return await super().embed(texts)


async def test_of_equal_requests_tightened_in_other_ways_the_strict_one_is_given_no_similar_answer() -> None:
    gate, embedder = Gate(opened=True), Held()
    policy = Policy(max_error_rate=0.05, shadow=0, budgets=Budgets(embed="20s", search="20s", verify="20s"))
    layer = CacheLayer(policy=policy, embedder=embedder, verifier=SameWords())
    ask = layer.wrap(gate, name="ask")

    async def tightened(**fields: Any) -> Any:
        with layer.tighten(**fields):
            return await ask.outcome(BACKWARDS)

    async with layer:
        await ask(FORWARDS)
        await layer.flush()
        embedder.let.clear()
        embedder.asked.clear()
        lax = asyncio.create_task(tightened(no_store=True))
        await embedder.asked.wait()
        strict = asyncio.create_task(tightened(max_error_rate=0))
        await turns(9)
        embedder.let.set()
        matches = [(await one).match for one in (lax, strict)]
    assert matches == ["similar", None]


async def test_when_the_first_call_fails_the_others_make_their_own() -> None:
    calls = []
    failing = asyncio.Event()

    async def answer(question: str) -> str:
        calls.append(question)
        if len(calls) == 1:
            await failing.wait()
            raise KeyError("down")
        return "well"

    layer = make()
    ask = layer.wrap(answer, name="ask")
    async with layer:
        first = asyncio.create_task(ask.outcome(FORWARDS))
        tier = layer._similar
        assert tier is not None
        while not len(tier.inflight):
            await asyncio.sleep(0)
        second = asyncio.create_task(ask.outcome(BACKWARDS))
        while not tier.inflight.joined:
            await asyncio.sleep(0)
        failing.set()
        with pytest.raises(KeyError):
            await first
        outcome = await second
        assert (outcome.answer, outcome.source) == ("well", Source.BACKEND)
        assert len(tier.inflight) == 0 or (await layer.flush()) is None


async def test_a_first_caller_who_leaves_does_not_strand_the_others() -> None:
    gate, layer = Gate(), make()
    ask = layer.wrap(gate, name="ask")
    async with layer:
        first = asyncio.create_task(ask.outcome(FORWARDS))
        await gate.entered()
        second = asyncio.create_task(ask.outcome(BACKWARDS))
        tier = layer._similar
        assert tier is not None
        while not tier.inflight.joined:
            await asyncio.sleep(0)
        first.cancel()
        await gate.entered()  # the second one's own call
        gate.open()
        assert (await second).source is Source.BACKEND and gate.cancelled == 1


async def test_a_rider_who_waits_too_long_goes_alone() -> None:
    gate, layer = Gate(), make(rider_wait=0.02)
    ask = layer.wrap(gate, name="ask")
    async with layer:
        callers = [asyncio.create_task(ask.outcome(q)) for q in (FORWARDS, BACKWARDS)]
        await gate.entered()
        await gate.entered()
        gate.open()
        first, near = await asyncio.gather(*callers)
        assert (first.source, near.source) == (Source.BACKEND, Source.BACKEND)
        assert near.misses["similar"] is Reason.BUDGET


async def test_a_stream_in_flight_is_read_from_its_beginning() -> None:
    runs = []
    more = asyncio.Event()

    async def stream(prompt: str) -> AsyncIterator[str]:
        runs.append(prompt)
        yield "a"
        await more.wait()
        yield "b"

    layer = make()
    ask = layer.wrap(stream, name="stream")
    async with layer:
        first = ask(FORWARDS)
        assert await anext(first) == "a"
        near = ask(BACKWARDS)
        assert await anext(near) == "a"
        more.set()
        assert [c async for c in first] == [c async for c in near] == ["b"]
    assert runs == [FORWARDS]


async def test_flights_are_bounded_and_none_is_left() -> None:
    gate, layer = Gate(), make()
    ask = layer.wrap(gate, name="ask")
    async with layer:
        callers = [asyncio.create_task(ask(f"w{n} x{n} y{n}")) for n in range(300)]
        for _ in callers:
            await gate.entered()
        tier = layer._similar
        assert tier is not None and len(tier.inflight) == 128
        gate.open()
        await asyncio.gather(*callers)
        await layer.flush()
        assert len(tier.inflight) == 0


async def test_a_flight_that_another_loop_ends_meanwhile_costs_no_lookup() -> None:
    """Whichever loop writes an answer behind its caller ends its flight; the lookup failed as 'stage verify'."""
    flights = InFlight()
    query = Query("a b", np.array([1.0, 0.0], np.float32))
    first, other = (flights.begin(b"here", query) for _ in range(2))
    assert first is not None and other is not None

    class Ends:
        def __eq__(self, asked: object) -> bool:
            flights.end(other)
            return False

    first.made = Ends()  # type: ignore[assignment]
    token = WITHIN.set((Made(b"one that asks"),))
    near = flights.near(b"here", query)
    WITHIN.reset(token)
    assert [flight for _, flight in near] == [first, other] and len(flights) == 1
