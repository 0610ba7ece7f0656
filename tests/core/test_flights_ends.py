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
