"""Flights whose callers and loops come and go in the least convenient order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cachelayer.flow.singleflight import SingleFlight
from cachelayer.flow.within import Alone
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
