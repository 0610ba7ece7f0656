"""Who shares a call that is being made, and who makes one of their own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cachelayer import CacheLayer, Outcome, Reason, Source
from cachelayer.layer import engine_of
from cachelayer.testing import Gate, ManualClock


def test_who_rides_on_an_answer_that_cannot_be_copied_makes_one_of_its_own_in_a_thread_too() -> None:
    layer, began, made = CacheLayer(semantic=False), threading.Event(), []
    flights = engine_of(layer).flights

    def answer(question: str) -> object:
        if not began.is_set():
            began.set()
            while not any(flight.waiters for flight in flights._flights.values()):
                time.sleep(0.001)
        return threading.Lock()

    ask = layer.wrap(answer, name="ask")
    leader, rider = (threading.Thread(target=lambda: made.append(ask.outcome("q"))) for _ in range(2))
    leader.start()
    assert began.wait(60)
    rider.start()
    leader.join()
    rider.join()
    one, other = made
    assert one.answer is not other.answer and None not in (one.answer, other.answer)
    assert one.source is other.source is Source.BACKEND


async def test_calls_that_are_tightened_in_different_ways_share_no_flight() -> None:
    gate, layer = Gate(), CacheLayer(semantic=False)
    ask = layer.wrap(gate, name="ask")

    async def tightened(**how: Any) -> Outcome:
        with layer.tighten(**how):
            return await ask.outcome("q")

    asking = [tightened(no_store=True), tightened(no_similar=True), tightened(no_similar=True), tightened()]
    tasks = [asyncio.create_task(one) for one in asking]
    for number in (1, 2, 3):
        assert await gate.entered() == number
    gate.open()
    private, *others = await asyncio.gather(*tasks)
    assert private.stored is Reason.NO_STORE and all(one.stored is None for one in others)
    assert [one.source for one in others] == [
        Source.BACKEND,
        Source.COALESCED,
        Source.BACKEND,
    ] and gate.calls == 3


def test_several_loops_in_threads_share_one_layer_and_its_flights() -> None:
    layer, calls = CacheLayer(semantic=False), []
    flights = engine_of(layer).flights

    @layer.cached
    async def ask(question: str) -> str:
        calls.append(question)
        async with asyncio.timeout(60):
            while sum(len(flight.waiters or ()) for flight in flights._flights.values()) < 64:
                await asyncio.sleep(0.001)
        return question

    async def many() -> list[str]:
        return await asyncio.gather(*(ask("a") for _ in range(16)))

    answers: list[str] = []
    threads = [threading.Thread(target=lambda: answers.extend(asyncio.run(many()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["a"] * 64 and len(calls) == 1


class Overtaken(ManualClock):
    """Runs something in another thread, to its end, when it is looked at for the n-th time."""

    looks = 0
    then: Callable[[], object] | None = None

    def monotonic(self) -> float:
        self.looks -= 1
        if self.looks == 0 and self.then is not None:
            other = threading.Thread(target=self.then, daemon=True)
            other.start()
            other.join(60)
            assert not other.is_alive()
        return super().monotonic()


@pytest.mark.parametrize("streams", [False, True])
def test_what_another_thread_is_answered_meanwhile_is_not_asked_for_again(streams: bool) -> None:
    """Between its lookup and its turn a call was overtaken: one in thirty, of four threads that asked the same."""
    clock, calls = Overtaken(), Counter[str]()
    layer = CacheLayer(semantic=False, clock=clock)

    def whole(question: str) -> str:
        calls[question] += 1
        return question

    def pieces(question: str) -> Iterator[str]:
        calls[question] += 1
        yield from question

    ask = layer.wrap(pieces if streams else whole, name="ask")
    for look in (1, 2 + streams):  # as a call arrives, and when it has asked memory
        question = f"question {look}"
        clock.looks, clock.then = look, lambda question=question: list(ask(question))
        assert "".join(ask(question)) == question
    assert {*calls.values()} == {1}
