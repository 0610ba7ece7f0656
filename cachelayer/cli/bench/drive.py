"""Sends the requests: open loop, by arrival times, or closed loop, N at a time. Late requests count in full."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from .measured import Sample
from .targets import Target
from .traffic import Item

Done = Callable[[int, Sample], None]
"""Told of each request that ended: its place, and what was measured."""
_LEAD = 0.05
_FINE = 0.0015
"""Seconds."""


async def open_loop(items: Sequence[Item], target: Target, done: Done, *, in_flight: int) -> None:
    """Send each request when it is due, whatever the others do; latencies count from then (no coordinated omission).

    Past `in_flight` at a time a request waits, and its wait counts.
    """
    room = asyncio.Semaphore(in_flight)
    start = time.monotonic() + _LEAD

    async def one(place: int, item: Item, due: float) -> None:
        try:
            sample = Sample(due)
            await target.serve(item, sample)
        finally:
            room.release()
        done(place, sample)

    async with asyncio.TaskGroup() as tasks:
        for place, item in enumerate(items):
            due = start + (item.at or 0.0)
            await _until(due)
            await room.acquire()
            tasks.create_task(one(place, item, due))


async def _until(due: float) -> None:
    """Timers of the loop are a millisecond or two late: the last of it is waited for by letting others run."""
    delay = due - time.monotonic()
    if delay > _FINE:
        await asyncio.sleep(delay - _FINE)
    while time.monotonic() < due:  # noqa: ASYNC110 - it is a time that is waited for
        await asyncio.sleep(0)


async def closed_loop(items: Sequence[Item], target: Target, done: Done, *, concurrency: int) -> None:
    """So many at a time, each sent when the one before it ended. A slow target is then asked less: no arrival times."""
    queue = iter(enumerate(items))

    async def worker() -> None:
        for place, item in queue:
            sample = Sample(time.monotonic())
            await target.serve(item, sample)
            done(place, sample)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(min(concurrency, len(items))):
            tasks.create_task(worker())
