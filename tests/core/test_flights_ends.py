"""Flights whose callers and loops come and go in the least convenient order."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest
from turns import given_up

from cachelayer import CacheLayer
from cachelayer.flow.reentrancy import Alone
from cachelayer.flow.singleflight import SingleFlight
from cachelayer.testing import ManualClock


async def test_who_joins_and_leaves_a_flight_as_it_begins_does_not_cancel_it() -> None:
    """A plain function on another loop's thread does, which cannot wait there: who led had a CancelledError."""
    flights = SingleFlight(ManualClock())

    async def answer(_: object) -> str:
        for _turn in range(5):
            await asyncio.sleep(0)
        return "answer"

    ride: Any = flights.ride("key", answer, None, 10, 10)
    with pytest.raises(Alone):
        flights.ride_sync("key", lambda: "own answer", 10, 10)
    assert await ride == ("answer", True) and len(flights) == 0


async def test_a_loop_that_closes_as_it_is_told_of_an_answer_keeps_it_from_nobody_else() -> None:
    flights, go = SingleFlight(ManualClock()), asyncio.Event()

    class Closing(asyncio.SelectorEventLoop):
        def call_soon_threadsafe(self, *args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("Event loop is closed")

    async def answer(_: object) -> str:
        await go.wait()
        return "answer"

    def ride() -> Any:
        return flights.ride("key", answer, None, 10, 10)

    async def briefly() -> None:
        asyncio.ensure_future(ride())  # noqa: RUF006 - its loop ends before it does
        await asyncio.sleep(0)

    def elsewhere() -> asyncio.AbstractEventLoop:
        loop = Closing()
        loop.run_until_complete(briefly())
        return loop

    leader = asyncio.create_task(ride())
    await asyncio.sleep(0)
    other = await asyncio.to_thread(elsewhere)
    rider = asyncio.create_task(ride())
    await asyncio.sleep(0)
    go.set()
    assert await leader == ("answer", True) and await asyncio.wait_for(rider, 5) == ("answer", False)
    for task in asyncio.all_tasks(other):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    other.close()


async def test_who_awaits_a_plain_call_that_raises_stop_iteration_is_told_at_once() -> None:
    """Python's own futures of a loop take none: who waited so waited for as long as riders may, then called anew."""
    calls, begun, go = [], threading.Event(), threading.Event()

    @CacheLayer(semantic=False).cached
    def first(question: str) -> str:
        calls.append(question)
        begun.set()
        go.wait(5)
        return next(iter(()))

    def lead() -> None:
        with pytest.raises(StopIteration):
            first("q")

    leader = asyncio.create_task(asyncio.to_thread(lead))
    await asyncio.to_thread(begun.wait, 5)
    rider = asyncio.create_task(first.aio("q"))
    await asyncio.sleep(0)
    go.set()
    await leader
    with pytest.raises(RuntimeError) as told:
        await asyncio.wait_for(rider, 5)
    assert isinstance(told.value.__cause__, StopIteration) and calls == ["q"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_riders_of_a_thread_that_is_to_end_make_their_own_call(end: type[BaseException]) -> None:
    flights = SingleFlight(ManualClock())

    def ends() -> str:
        rider.start()
        while not flights._flights["key"].waiters:
            os.sched_yield()
        raise end

    def ride() -> None:
        with pytest.raises(Alone):
            flights.ride_sync("key", lambda: "own answer", 10, 10)
        told.append(Alone)

    told: list[type[BaseException]] = []
    rider = threading.Thread(target=ride)
    with pytest.raises(end):
        flights.ride_sync("key", ends, 10, 10)
    rider.join()
    assert told == [Alone]


async def test_a_call_ends_with_its_last_rider_whatever_loop_that_is_on() -> None:
    flights, ended = SingleFlight(ManualClock()), asyncio.Event()
    ridden, leave = threading.Event(), threading.Event()

    async def answer(_: object) -> str:
        try:
            return await asyncio.Future()
        finally:
            ended.set()

    def ride() -> Any:
        return flights.ride("key", answer, None, 10, 10)

    async def briefly() -> None:
        rider = asyncio.create_task(ride())
        await asyncio.sleep(0)
        ridden.set()
        await asyncio.to_thread(leave.wait)
        await given_up(rider)

    leader = asyncio.create_task(ride())
    await asyncio.sleep(0)
    elsewhere = asyncio.create_task(asyncio.to_thread(asyncio.run, briefly()))
    await asyncio.to_thread(ridden.wait)
    await given_up(leader)
    assert not ended.is_set() and len(flights) == 1
    leave.set()
    async with asyncio.timeout(60):
        await ended.wait()
    await elsewhere
    assert len(flights) == 0
