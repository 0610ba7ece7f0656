"""Freshness: an answer's lifetime, and when a stale one may serve."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from shelf import Shelf
from turns import turns

from cachelayer import CacheLayer, Policy, Reason, Source
from cachelayer.testing import Gate, ManualClock, WordEmbedder


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def make(clock: ManualClock | None = None, **policy: Any) -> CacheLayer:
    return CacheLayer(policy=Policy(ttl_jitter=0, **policy), semantic=False, clock=clock)


async def test_an_answer_expires_with_its_ttl(clock: ManualClock) -> None:
    ask = make(clock, ttl="10s").wrap(Gate(opened=True), name="ask")
    await ask("q")
    clock.advance(9.9)
    assert (await ask.outcome("q")).source is Source.MEMORY
    clock.advance(0.2)
    late = await ask.outcome("q")
    assert (late.source, late.misses["memory"]) == (Source.BACKEND, Reason.EXPIRED)


async def test_answers_made_together_expire_one_after_the_other_within_the_jitter(clock: ManualClock) -> None:
    layer = CacheLayer(policy=Policy(ttl=100, ttl_jitter=0.5), semantic=False, clock=clock)
    ask = layer.wrap(Gate(opened=True), name="ask")
    for n in range(64):
        await ask(str(n))
    held = []
    for seconds in (49.9, 25.1, 25.1):
        clock.advance(seconds)
        told = [await ask.explain(str(n)) for n in range(64)]
        held.append(sum(one.verdict == "exact hit" for one in told))
    assert held[0] == 64 and 0 < held[1] < 64 and held[2] == 0


async def test_a_refresh_replaces_an_answer_that_took_longer_than_has_passed_since(
    clock: ManualClock,
) -> None:
    took = iter((60, 1))

    async def slow(question: str) -> float:
        clock.advance(next(took))
        return clock.now

    ask = make(clock).wrap(slow, name="ask")
    assert await ask("q") < await ask.refresh("q") == await ask("q")


async def test_the_ttl_may_be_a_function_of_the_answer(clock: ManualClock) -> None:
    ask = make(clock, ttl=lambda answer: "1h" if "1" in answer else 0).wrap(Gate(opened=True), name="ask")
    assert await ask("a") == "answer 1" == await ask("a")
    outcome = await ask.outcome("b")
    assert outcome.stored is Reason.TTL_ZERO and await ask("b") == "answer 3"


async def test_who_wants_nothing_that_stale_is_answered_anew_by_one_call(clock: ManualClock) -> None:
    gate = Gate(opened=True)
    layer = make(clock, ttl=10, stale_while_revalidate=60)
    ask = layer.wrap(gate, name="ask")
    await ask("q")
    clock.advance(30)
    with layer.tighten(max_stale="15s"):
        told = await ask.explain("q")
        outcome = await ask.outcome("q")
    assert told.reasons["memory"] is outcome.misses["memory"] is Reason.EXPIRED
    await layer.flush()
    assert (outcome.answer, gate.calls) == ("answer 2", 2)
    clock.advance(20)
    with layer.tighten(max_stale="15s"):
        assert (await ask.outcome("q")).source is Source.STALE


async def test_a_refresh_that_ends_unkept_leaves_what_was_begun_after_it(clock: ManualClock) -> None:
    """The newer answer went from memory, and from the store, with the one that was to be refreshed."""
    gate, layer, anew = Gate(lambda question: []), make(clock), [True]

    @layer.cached
    async def ask(question: str) -> list[int]:
        return await gate(question) if anew.pop() else [1]

    refresh = asyncio.create_task(ask.refresh("q"))
    await gate.entered()
    clock.advance(1)
    anew.append(False)
    assert await ask("q") == [1]
    clock.advance(1)
    gate.open()
    assert await refresh == []
    assert (await ask.outcome("q")).source is Source.MEMORY


async def test_stale_while_revalidate_answers_at_once_and_refreshes_once(clock: ManualClock) -> None:
    gate = Gate(opened=True)
    ask = make(clock, ttl=10, stale_while_revalidate=60).wrap(gate, name="ask")
    await ask("q")
    clock.advance(30)
    gate.close()
    stale = [await ask.outcome("q") for _ in range(3)]
    assert {o.source for o in stale} == {Source.STALE} and stale[0].answer == "answer 1"
    gate.open()
    await turns()
    assert (await ask.outcome("q")).source is Source.MEMORY
    assert gate.calls == 2 and await ask("q") == "answer 2"


async def test_who_comes_too_late_for_the_stale_answer_waits_for_its_refresh(clock: ManualClock) -> None:
    gate = Gate(opened=True)
    ask = make(clock, ttl=10, stale_while_revalidate=10).wrap(gate, name="ask")
    await ask("q")
    clock.advance(15)
    gate.close()
    assert (await ask.outcome("q")).source is Source.STALE
    clock.advance(10)
    late = asyncio.ensure_future(ask.outcome("q"))
    await gate.entered()
    await asyncio.sleep(0)
    gate.open()
    assert (await late).source is Source.COALESCED
    assert late.result().answer == "answer 2" and gate.calls == 2


async def test_a_refresh_that_fails_at_once_is_not_the_business_of_who_gets_the_stale_answer(
    clock: ManualClock,
) -> None:
    down = [False]

    async def backend(question: str) -> str:
        if down[0]:
            raise ConnectionError("down")
        return "an answer"

    ask = make(clock, ttl=10, stale_while_revalidate=60).wrap(backend, name="ask")
    await ask("q")
    clock.advance(30)
    down[0] = True
    assert (await ask.outcome("q")).source is Source.STALE


async def test_stale_if_error_answers_for_a_failing_backend(clock: ManualClock) -> None:
    gate = Gate(opened=True)
    ask = make(clock, ttl=10, stale_if_error=60).wrap(gate, name="ask")
    await ask("q")
    gate.error = ConnectionError("down")
    clock.advance(30)
    assert (await ask.outcome("q")).source is Source.STALE
    clock.advance(60)
    with pytest.raises(ConnectionError):
        await ask("q")


@pytest.mark.parametrize(("accepted", "served"), [(0, False), (20, False), (21, True), (3600, True)])
async def test_what_stands_in_for_a_failing_backend_is_no_staler_than_its_caller_takes(
    clock: ManualClock, accepted: float, served: bool
) -> None:
    gate = Gate(opened=True)
    layer = make(clock, ttl=10, stale_if_error=60)
    ask = layer.wrap(gate, name="ask")
    await ask("q")
    gate.error = ConnectionError("down")
    clock.advance(30)
    with layer.tighten(max_stale=accepted), nullcontext() if served else pytest.raises(ConnectionError):
        assert (await ask.outcome("q")).source is Source.STALE


async def test_nothing_stands_in_for_a_failing_backend_unless_asked_for(clock: ManualClock) -> None:
    gate = Gate(opened=True)
    ask = make(clock, ttl=10).wrap(gate, name="ask")
    await ask("q")
    gate.error = ConnectionError("down")
    clock.advance(10)
    with pytest.raises(ConnectionError):
        await ask("q")


async def test_what_is_not_pure_is_not_called_behind_its_callers_backs(clock: ManualClock) -> None:
    gate = Gate(opened=True)
    async with make(clock, ttl=10, stale_while_revalidate=60, pure=False) as layer:
        ask = layer.wrap(gate, name="ask")
        await ask("q")
        clock.advance(15)
        assert (await ask.outcome("q")).source is Source.STALE
        for _ in range(9):  # a refresh would have its turn
            await asyncio.sleep(0)
        await layer.flush()
    assert gate.calls == 1


@pytest.mark.parametrize("asked", ["How do I return the product?", "how do i return a product"])
@pytest.mark.parametrize(
    ("ttl", "accepted", "served"), [(60, {}, True), (60, {"max_age": 20}, False), (10, {}, False)]
)
async def test_a_similar_answer_is_no_older_than_an_equal_one_may_be(
    asked: str, ttl: float, accepted: dict[str, Any], served: bool, clock: ManualClock
) -> None:
    policy = Policy(ttl=ttl, ttl_jitter=0, stale_if_error=600, max_error_rate=1.0, shadow=0)
    async with CacheLayer(policy=policy, embedder=WordEmbedder(), clock=clock) as layer:
        ask = layer.wrap(Gate(opened=True), name="ask")
        await ask("How do I return a product?")
        await layer.flush()
        clock.advance(30)
        with layer.tighten(**accepted):
            assert (await ask.outcome(asked)).source is (Source.INDEX if served else Source.BACKEND)


@pytest.mark.parametrize("streamed", [False, True])
def test_the_same_holds_for_a_plain_function(clock: ManualClock, streamed: bool) -> None:
    down = False

    def chunks() -> Iterator[str]:
        if down:
            raise ConnectionError("down")
        yield "answer"

    def ask(question: str) -> Any:
        return chunks() if streamed else next(chunks())

    def read(answer: Any) -> str:
        return "".join(answer)

    asked = make(clock, ttl=10, stale_if_error=60).wrap(ask, name="ask")
    assert read(asked("q")) == "answer"
    down = True
    clock.advance(30)
    outcome = asked.outcome("q")
    assert read(outcome.answer) == "answer" and outcome.source is Source.STALE
    clock.advance(60)
    with pytest.raises(ConnectionError):
        read(asked("q"))


async def test_what_was_invalidated_meanwhile_does_not_stand_in_for_a_failing_backend(
    clock: ManualClock,
) -> None:
    gate = Gate(opened=True)
    layer = make(clock, ttl=10, stale_if_error=60)
    ask = layer.wrap(gate, name="ask", tags=["kb"])
    await ask("q")
    await gate.entered()
    gate.close()
    clock.advance(30)
    asked = asyncio.create_task(ask("q"))
    await gate.entered()
    await layer.invalidate(tags=["kb"])
    gate.error = ConnectionError("down")
    gate.open()
    with pytest.raises(ConnectionError):
        await asked


@pytest.mark.parametrize("store", [None, Shelf()], ids=["alone", "shared"])
async def test_what_is_about_to_expire_is_made_anew_before_it_does_once_in_all_processes(
    clock: ManualClock, store: Shelf | None
) -> None:
    """The store had what was about to expire, too, and that was taken for a newer answer: none was ever made."""
    policy, calls = Policy(ttl=1000, ttl_jitter=0, refresh_ahead=True), list[str]()

    async def slow(question: str) -> int:
        calls.append(question)
        clock.advance(10 if len(calls) == 1 else 0)
        return len(calls)

    layers = [CacheLayer(policy=policy, store=store, semantic=False, clock=clock) for _ in range(2)]
    asks = [layer.wrap(slow, name="ask") for layer in (layers if store else layers[:1])]
    for layer, ask in zip(layers, asks, strict=False):
        assert await ask("q") == 1
        await layer.flush()
    clock.advance(999.999_999)  # after which each reader is as good as sure to refresh it
    for layer, ask in zip(layers, asks, strict=False):
        assert await ask("q") == 1
        while layer.stats()["flights"]:
            await asyncio.sleep(0)
        await layer.flush()
    clock.advance(1)
    for ask in asks:
        assert (await ask("q"), len(calls)) == (2, 2)
    for layer in layers:
        await layer.aclose()
