"""The path: hits, single flight, admission, invalidation, and what an outcome tells."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import pytest
from turns import cancelled, given_up, turns

from cachelayer import CacheLayer, Policy, Reason, Source
from cachelayer.testing import Gate, ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def make(clock: ManualClock | None = None, **policy: Any) -> CacheLayer:
    return CacheLayer(policy=Policy(ttl_jitter=0, **policy), semantic=False, clock=clock)


async def test_an_equal_request_is_answered_without_the_backend() -> None:
    gate = Gate(opened=True)
    ask = make().wrap(gate, name="ask")
    assert await ask("a question") == await ask("a question") == "answer 1"
    assert await ask("  a question ") == "answer 1"
    assert await ask("another") == "answer 2"
    assert gate.calls == 2


async def test_an_outcome_tells_source_reasons_timings_and_savings() -> None:
    ask = make().wrap(Gate(opened=True), name="ask")
    first, second = await ask.outcome("q"), await ask.outcome("q")
    assert (first.source, first.match, first.misses["memory"]) == (Source.BACKEND, None, Reason.ABSENT)
    assert (second.source, second.match) == (Source.MEMORY, "exact")
    assert set(first.timings) >= {"memory", "backend"}
    assert second.id == first.id and second.age is not None
    assert second.saved.seconds == pytest.approx(first.timings["backend"])


async def test_64_identical_misses_make_one_call() -> None:
    gate = Gate()
    ask = make().wrap(gate, name="ask")
    callers = [asyncio.create_task(ask.outcome("q")) for _ in range(64)]
    await gate.entered()
    gate.open()
    outcomes = await asyncio.gather(*callers)
    assert gate.calls == 1
    assert [o.source for o in outcomes].count(Source.COALESCED) == 63


async def test_an_error_reaches_all_riders_unchanged_and_is_not_kept() -> None:
    gate = Gate()
    gate.error = KeyError("down")
    ask = make().wrap(gate, name="ask")
    callers = [asyncio.create_task(ask("q")) for _ in range(5)]
    await gate.entered()
    gate.open()
    failures = await asyncio.gather(*callers, return_exceptions=True)
    assert all(failure is gate.error for failure in failures)
    gate.error = None
    assert await ask("q") == "answer 2"


async def test_one_callers_cancellation_leaves_the_others_and_newcomers_alone() -> None:
    gate = Gate()
    ask = make().wrap(gate, name="ask")
    leader, rider = asyncio.create_task(ask("q")), asyncio.create_task(ask("q"))
    await gate.entered()
    await cancelled(leader)
    newcomer = asyncio.create_task(ask("q"))
    await asyncio.sleep(0)
    gate.open()
    assert await asyncio.gather(rider, newcomer) == ["answer 1"] * 2
    assert gate.calls == 1 and gate.cancelled == 0


async def test_a_call_that_ends_in_a_cancellation_of_its_own_is_not_made_again() -> None:
    calls = 0

    async def gives_up(question: str) -> str:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        raise asyncio.CancelledError("given up")

    ask = CacheLayer(semantic=False).wrap(gives_up, name="ask")
    with pytest.raises(asyncio.CancelledError, match="given up"):
        await ask("q")
    assert calls == 1


async def test_who_rides_on_a_call_that_ends_in_a_cancellation_makes_one_of_its_own() -> None:
    calls, go = 0, asyncio.Event()

    async def gives_up_once(question: str) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            await go.wait()
            raise asyncio.CancelledError("given up")
        return "answer"

    ask = CacheLayer(semantic=False).wrap(gives_up_once, name="ask")
    leader, rider = asyncio.create_task(ask("q")), asyncio.create_task(ask.outcome("q"))
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError, match="given up"):
        await leader
    outcome = await rider
    assert (outcome.answer, outcome.source, calls) == ("answer", Source.BACKEND, 2)


async def test_the_last_riders_leaving_cancels_the_call() -> None:
    gate = Gate()
    ask = make().wrap(gate, name="ask")
    callers = [asyncio.create_task(ask("q")) for _ in range(3)]
    await gate.entered()
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    await turns()
    assert gate.cancelled == 1
    gate.open()
    assert await ask("q") == "answer 2"


async def test_a_rider_does_not_wait_longer_than_it_may() -> None:
    gate = Gate()
    ask = make(rider_wait="1ms").wrap(gate, name="ask")
    leader = asyncio.create_task(ask("q"))
    await gate.entered()
    rider = asyncio.create_task(ask("q"))
    assert await gate.entered() == 2
    gate.open()
    await asyncio.gather(leader, rider)


def test_a_rider_in_a_thread_does_not_wait_longer_either() -> None:
    calls, made, entered, go = itertools.count(1), [], threading.Event(), threading.Event()

    def answer(question: str) -> int:
        number = next(calls)
        if number == 1:
            entered.set()
            go.wait(60)
        return number

    ask = make(rider_wait="1ms").wrap(answer, name="ask")
    leader = threading.Thread(target=lambda: made.append(ask.outcome("q")))
    leader.start()
    assert entered.wait(60)
    rider = ask.outcome("q")
    go.set()
    leader.join()
    assert [(told.answer, told.source) for told in (rider, *made)] == [
        (2, Source.BACKEND),
        (1, Source.BACKEND),
    ]


async def test_newcomers_do_not_join_a_flight_that_is_too_old(clock: ManualClock) -> None:
    gate = Gate()
    ask = make(clock, flight_age="1m").wrap(gate, name="ask")
    first = asyncio.create_task(ask("q"))
    await gate.entered()
    clock.advance(61)
    second = asyncio.create_task(ask("q"))
    assert await gate.entered() == 2
    gate.open()
    await asyncio.gather(first, second)


async def test_the_end_of_a_flight_that_was_too_old_leaves_the_newer_one_up(clock: ManualClock) -> None:
    gate = Gate()
    ask = make(clock, flight_age="1m").wrap(gate, name="ask")
    old = asyncio.create_task(ask("q"))
    await gate.entered()
    clock.advance(61)
    newer = asyncio.create_task(ask("q"))
    assert await gate.entered() == 2
    await given_up(old)
    joining = asyncio.create_task(ask("q"))
    await turns()
    gate.open()
    assert await asyncio.gather(newer, joining) == ["answer 2"] * 2 and gate.calls == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", Reason.EMPTY_ANSWER),
        ({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}, Reason.TRUNCATED),
        ({"choices": [{"message": {"content": "x"}, "finish_reason": "content_filter"}]}, Reason.FILTERED),
        (
            {"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}]},
            Reason.REFUSED,
        ),
        ("x" * 3_000_000, Reason.OVERSIZE),
        (iter([1]), None),
    ],
)
async def test_what_must_not_be_kept_is_returned_and_not_kept(answer: Any, reason: Reason | None) -> None:
    gate = Gate(lambda q: answer, opened=True)
    ask = make().wrap(gate, name="ask")
    outcome = await ask.outcome("q")
    assert outcome.answer is answer and outcome.stored is (reason or Reason.NOT_KEEPABLE)
    await ask("q")
    assert gate.calls == 2


async def test_cache_if_is_a_veto_and_its_fault_keeps_nothing() -> None:
    no = make(cache_if=lambda answer: False).wrap(Gate(opened=True), name="ask")
    assert (await no.outcome("q")).stored is Reason.VETOED
    broken = make(cache_if=lambda answer: answer.nothing).wrap(Gate(opened=True), name="ask")
    outcome = await broken.outcome("q")
    assert outcome.answer == "answer 1" and outcome.stored is Reason.FAULT


async def test_cache_if_admits_nothing_that_is_unfit() -> None:
    gate = Gate(
        lambda q: {"choices": [{"message": {"content": "cut"}, "finish_reason": "length"}]}, opened=True
    )
    ask = make(cache_if=lambda answer: True).wrap(gate, name="ask")
    assert [(await ask.outcome("q")).stored for _ in range(2)] == [Reason.TRUNCATED] * 2
    assert gate.calls == 2


async def test_what_a_caller_does_to_an_answer_never_changes_the_cache() -> None:
    ask = make().wrap(Gate(lambda q: {"items": [1, {"a": []}]}, opened=True), name="ask")
    first = await ask("q")
    first["items"].append(2)
    second = await ask("q")
    second["items"][1]["a"].append(3)
    assert await ask("q") == {"items": [1, {"a": []}]}


async def test_nobody_joins_a_call_that_set_out_before_an_invalidation() -> None:
    """Its answer may be older than what was declared; who asks afterwards has a call of his own, shared again."""
    gate = Gate()
    layer = make()
    ask = layer.wrap(gate, name="ask", tags=["kb"])
    for n, forget in enumerate(
        (lambda: layer.invalidate(tags=["kb"]), lambda: ask.invalidate("q"), layer.erase)
    ):
        before = asyncio.create_task(ask("q"))
        await gate.entered()
        rider = asyncio.create_task(ask("q"))
        await asyncio.sleep(0)
        await forget()
        after = [asyncio.create_task(ask("q")) for _ in range(3)]
        assert await gate.entered() == 2 * n + 2
        gate.open()
        await asyncio.gather(before, rider, *after)
        assert gate.calls == 2 * n + 2
        gate.close()
        await ask.invalidate("q")


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "at rest"])
def test_a_flight_whose_loop_does_not_run_holds_nobody_up(closed: bool) -> None:
    layer, started = CacheLayer(semantic=False), []

    @layer.cached
    async def slow(text: str) -> str:
        started.append(text)
        if len(started) == 1:
            await asyncio.Event().wait()
        return text

    loop = asyncio.new_event_loop()
    left = loop.create_task(slow("a"))
    while not started:
        loop.run_until_complete(asyncio.sleep(0))
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    if closed:
        loop.close()
    assert asyncio.run(asyncio.wait_for(slow("a"), 10)) == "a" and len(started) == 2
    assert not left.done()
    loop.close()
