"""The layer's own loop, which plain functions wait for and anybody may close."""

from __future__ import annotations

import asyncio
import threading

import pytest
from turns import cancelled

from cachelayer.errors import CacheLayerError
from cachelayer.flow.attempt import Faults
from cachelayer.flow.portal import Portal
from cachelayer.testing import ManualClock


class Endless:
    """Work that tells when it was begun and ends when it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


@pytest.mark.parametrize("by", ["closing", "caller"])
async def test_what_a_closing_portal_cuts_short_cancels_nobody_who_waits_for_it(by: str) -> None:
    portal, work = Portal(Faults(ManualClock())), Endless()
    await asyncio.to_thread(portal.run, asyncio.sleep(0))
    waiting = asyncio.create_task(portal.arun(work))
    assert await asyncio.to_thread(work.begun.wait, 10)
    if by == "closing":
        await asyncio.to_thread(portal.close)
        assert await waiting is None
    else:
        await cancelled(waiting)
        assert await asyncio.to_thread(work.ended.wait, 10)
        await asyncio.to_thread(portal.close)
    assert await portal.arun(work) is None and not portal.running


def test_nobody_waits_for_the_portal_in_its_own_thread() -> None:
    portal = Portal(Faults(ManualClock()))

    async def waits() -> None:
        portal.run(asyncio.sleep(0))

    with pytest.raises(CacheLayerError, match="await it instead"):
        portal.run(waits())
    portal.close()
