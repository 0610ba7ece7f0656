"""A store of one's own that implements `Store`, and layers without an in-process tier."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from shelf import Lease, Shelf, SlowShelf

from cachelayer import Budgets, CacheLayer, CacheLayerError, ConfigurationError, Policy, Reason, Source
from cachelayer.errors import StoreFault
from cachelayer.layer import engine_of
from cachelayer.testing import Gate, ManualClock
from cachelayer.types import Record


def off(shelf: Shelf, **policy: Any) -> CacheLayer:
    return CacheLayer(policy=Policy(max_bytes=0, **policy), store=shelf, semantic=False)


async def test_without_an_in_process_tier_every_hit_comes_from_the_store() -> None:
    shelf, gate = Shelf(), Gate(lambda question: {"items": [question]}, opened=True)
    async with off(shelf) as layer:
        ask = layer.wrap(gate, name="ask")
        first = await ask.outcome("q")
        await layer.flush()
        hits = [await ask.outcome("q") for _ in range(3)]
        hits[0].answer["items"].append("mine alone")
        assert (await ask("q")) == {"items": ["q"]} == first.answer
        stats = layer.stats()
    assert gate.calls == 1 and {hit.source for hit in hits} == {Source.REDIS}
    assert hits[0].misses == {"memory": Reason.OFF} and hits[0].saved.seconds > 0
    assert stats["entries"] == 0 == stats["bytes"]


async def test_a_stream_is_replayed_without_an_in_process_tier() -> None:
    shelf, runs = Shelf(), []

    async def speak(prompt: str) -> AsyncIterator[dict[str, str]]:
        runs.append(prompt)
        for word in ("a", "b"):
            yield {"text": word}

    async with off(shelf) as layer:
        cached = layer.wrap(speak, name="speak")
        for _ in range(3):
            assert [chunk async for chunk in cached("p")] == [{"text": "a"}, {"text": "b"}]
            await layer.flush()
    assert runs == ["p"]


async def test_callers_at_once_share_one_call_without_an_in_process_tier() -> None:
    gate = Gate()
    async with off(Shelf()) as layer:
        ask = layer.wrap(gate, name="ask")
        callers = [asyncio.create_task(ask("q")) for _ in range(16)]
        await gate.entered()
        gate.open()
        assert set(await asyncio.gather(*callers)) == {"answer 1"} and gate.calls == 1


async def test_who_holds_the_lease_says_so_when_the_answer_is_stored() -> None:
    shelf = Shelf()
    async with CacheLayer(store=shelf, semantic=False) as layer:
        await layer.wrap(Gate(opened=True), name="ask")("q")
        await layer.flush()
    assert len(shelf.leases) == 1 and isinstance(shelf.leases[0], Lease)


async def test_a_store_that_knows_no_budgets_is_held_to_them() -> None:
    shelf = Shelf()
    async with CacheLayer(store=shelf, semantic=False, policy=Policy(budgets=Budgets(store="10ms"))) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        shelf.stuck = True
        outcome = await ask.outcome("q")
    assert outcome.answer == "answer 1" and outcome.misses["shelf"] is Reason.BUDGET


@pytest.mark.parametrize("max_bytes", [0, 2**20])
@pytest.mark.parametrize("declared", [False, True])
async def test_a_stale_answer_from_the_store_stands_in_for_a_failing_backend_unless_it_was_declared_invalid(
    max_bytes: int, declared: bool
) -> None:
    shelf, gate, clock = Shelf(), Gate(opened=True), ManualClock()
    policy = Policy(ttl=20, ttl_jitter=0, stale_if_error="1h", max_bytes=max_bytes)
    async with CacheLayer(store=shelf, semantic=False, policy=policy, clock=clock) as layer:
        await layer.wrap(gate, name="ask")("q")
        await layer.flush()
    clock.advance(30)
    gate = Gate()
    gate.error = ConnectionError("down")
    async with CacheLayer(store=shelf, semantic=False, policy=policy, clock=clock) as layer:
        ask = layer.wrap(gate, name="ask", tags=["t"])
        asking = asyncio.create_task(ask.outcome("q"))
        await gate.entered()
        if declared:
            await ask.invalidate("q")
        gate.open()
        if declared:
            with pytest.raises(ConnectionError):
                await asking
            return
        outcome = await asking
    assert outcome.source is Source.STALE and outcome.answer == "answer 1"


async def test_memory_keeps_what_a_clock_that_is_ahead_dated_no_longer_than_its_lifetime() -> None:
    shelf, clock = Shelf(), ManualClock(0)
    ahead, behind = (CacheLayer(store=shelf, semantic=False, clock=c) for c in (ManualClock(36_000), clock))
    asks = [layer.wrap(Gate(opened=True), name="ask", ttl=60, ttl_jitter=0) for layer in (ahead, behind)]
    async with ahead, behind:
        await asks[0]("q")
        await ahead.flush()
        assert (await asks[1].outcome("q")).source is Source.REDIS
        shelf.held.clear()
        clock.advance(59)
        assert (await asks[1].outcome("q")).source is Source.MEMORY
        clock.advance(2)
        assert (await asks[1].outcome("q")).source is Source.BACKEND


def test_similar_answers_need_memory() -> None:
    with pytest.raises(ConfigurationError, match="max_bytes=0: similar answers are served from memory"):
        Policy(max_bytes=0, semantic=True)


def test_what_the_layer_s_own_loop_calls_may_call_plain_functions_of_the_layer() -> None:
    """A refresh of a plain function asks its owner there; who waited for that loop in it waited for ever."""
    clock, refused = ManualClock(), list[CacheLayerError]()
    layer = CacheLayer(store=Shelf(), semantic=False, clock=clock)
    kept = threading.Event()

    @layer.cached
    def judged(answer: str) -> bool:
        return True

    def wanted(answer: str) -> bool:
        if threading.current_thread() is not threading.main_thread():
            judged.invalidate("another answer")
            with pytest.raises(CacheLayerError, match="await it instead") as fault:
                judged.explain(answer)
            refused.append(fault.value)
            kept.set()
        return judged(answer)

    @layer.cached(ttl=10, ttl_jitter=0, stale_while_revalidate="1h", cache_if=wanted)
    def ask(question: str) -> str:
        return question.upper()

    assert ask("q") == "Q"
    clock.advance(30)
    assert ask.outcome("q").source is Source.STALE
    assert kept.wait(10) and refused and layer._portal.run(asyncio.sleep(0, True))
    asyncio.run(layer.aclose())


async def test_a_refresh_takes_what_another_process_has_made_meanwhile() -> None:
    shelf, clock, gates = Shelf(), ManualClock(), [Gate(opened=True), Gate(opened=True)]
    policy = Policy(ttl=10, ttl_jitter=0, stale_while_revalidate=60)
    here, there = (CacheLayer(policy=policy, store=shelf, semantic=False, clock=clock) for _ in gates)
    async with here, there:
        mine, other = here.wrap(gates[0], name="ask"), there.wrap(gates[1], name="ask")
        await mine("q")
        await here.flush()
        clock.advance(15)
        await other.refresh("q")
        await there.flush()
        clock.advance(1)
        assert (await mine.outcome("q")).source is Source.STALE
        while here.stats()["flights"]:
            await asyncio.sleep(0)
        found = await mine.outcome("q")
        assert (found.source, found.age) == (Source.MEMORY, 1)
    assert [gate.calls for gate in gates] == [1, 1]


async def test_an_answer_of_the_store_is_reported_wrong_by_its_id_where_the_store_is() -> None:
    shelf = Shelf()
    async with off(shelf) as layer, CacheLayer(semantic=False) as elsewhere:
        ask = layer.wrap(Gate(opened=True), name="ask")
        wrong = await ask.outcome("q")
        await layer.flush()
        assert not await elsewhere.report_wrong(wrong.id) and shelf.held
        assert await layer.report_wrong(wrong.id) and not shelf.held


async def test_who_waits_for_another_process_waits_no_longer_than_its_deadline() -> None:
    waits = list[float]()

    class Taken(Shelf):
        async def acquire(self, key: bytes, ttl: float) -> Lease | None:  # type: ignore[override]
            return None

        async def wait(self, key: bytes, timeout: float) -> None:
            waits.append(timeout)

    async with CacheLayer(policy=Policy(rider_wait="1h"), store=Taken(), semantic=False) as layer:
        asks = [layer.wrap(Gate(opened=True), name=name) for name in ("patient", "hurried")]
        await asks[0]("q")
        with layer.scope(deadline="5s"):
            assert await asks[1]("q") == "answer 1"
    assert 3590 < waits[0] <= 3600 and 0 < waits[1] <= 5


@pytest.mark.parametrize(("accepted", "source"), [(60, Source.REDIS), (20, Source.BACKEND)])
async def test_an_answer_of_the_store_is_no_older_than_its_caller_takes(
    accepted: float, source: Source
) -> None:
    shelf, clock = Shelf(), ManualClock()
    policy = Policy(max_bytes=0, ttl="1h", ttl_jitter=0)
    async with CacheLayer(policy=policy, store=shelf, semantic=False, clock=clock) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("q")
        await layer.flush()
        clock.advance(30)
        with layer.tighten(max_age=accepted):
            assert (await ask.outcome("q")).source is source


@pytest.mark.parametrize("how", ["one call", "a tag", "a tenant"])
async def test_what_was_declared_invalid_before_it_was_written_does_not_reach_the_store(how: str) -> None:
    shelf = Shelf()
    async with CacheLayer(store=shelf, semantic=False) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask", tags=["kb"])
        with layer.scope(tenant="acme"):
            await ask("q")
            if how == "one call":
                await ask.invalidate("q")
        if how == "a tag":
            await layer.invalidate(tags=["kb"])
        if how == "a tenant":
            await layer.erase(tenant="acme")
        await layer.flush()
        assert not shelf.held


async def test_what_comes_late_from_the_store_takes_no_newer_answer_s_place() -> None:
    shelf, clock, policy = SlowShelf(), ManualClock(), Policy(budgets=Budgets(store="1h"))
    shelf.hearing.set()
    there, here = (CacheLayer(store=shelf, semantic=False, policy=policy, clock=clock) for _ in range(2))
    async with there, here:
        await there.wrap(Gate(lambda question: "old", opened=True), name="ask")("q")
        await there.flush()
        ask = here.wrap(Gate(lambda question: "new", opened=True), name="ask")
        clock.advance(1)
        shelf.giving.clear()
        asking = asyncio.create_task(ask("q"))
        await asyncio.sleep(0)
        assert await ask.refresh("q") == "new"
        shelf.giving.set()
        assert await asking == "old"
        outcome = await ask.outcome("q")
        assert (outcome.source, outcome.answer) == (Source.MEMORY, "new")


@dataclass
class Foreign:
    """May not leave the process."""

    number: int


class Full(Shelf):
    """Takes nothing new while it is `full`."""

    full = False

    async def put(self, records: Sequence[Record], leases: Sequence[object] = ()) -> None:
        if self.full:
            raise StoreFault("full", Reason.OVERLOAD)
        await super().put(records, leases)


@pytest.mark.parametrize("store", ["there", "full", "not asked"])
@pytest.mark.parametrize("newer", ["new", Foreign(1), "x" * 200_000], ids=["kept", "foreign", "too large"])
@pytest.mark.parametrize("max_bytes", [0, 2**20])
async def test_what_was_replaced_is_read_from_no_store_though_it_was_not_told_yet_or_takes_nothing_new(
    max_bytes: int, newer: Any, store: str
) -> None:
    shelf, said = Full(), list[Any](["old"])
    policy = Policy(max_bytes=max_bytes, max_item_bytes=100_000)

    async def ask(question: str) -> Any:
        return said[-1]

    for _ in range(2):
        async with CacheLayer(policy=policy, store=shelf, semantic=False) as layer:
            cached = layer.wrap(ask, name="ask")
            assert await cached("q") == said[-1]
            await layer.flush()
            said.append(newer)
            shelf.full = store == "full"
            engine_of(layer).tiers.writeback.capacity = 0 if store == "not asked" else 100
            assert await cached.refresh("q") == newer == await cached("q")
            await layer.flush()
