"""The micro-batcher refuses what comes too late: nobody else is the worse for it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import pytest

from cachelayer.flow.batcher import Batcher, Overloaded


class Machine:
    """Takes one batch at a time, each once `go` is set."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.begun.set()
        await self.go.wait()
        return [item * 10 for item in items]


async def test_who_comes_too_late_holds_up_nobody_behind_them() -> None:
    machine = Machine()
    batcher: Batcher[int, int] = Batcher(machine)
    first = asyncio.create_task(batcher.submit(0))
    await machine.begun.wait()
    late, behind = (
        asyncio.create_task(batcher.submit(n, deadline=by)) for n, by in ((1, 0.0), (2, math.inf))
    )
    await asyncio.sleep(0)
    machine.go.set()
    async with asyncio.timeout(10):
        assert await behind == 20 and await first == 0 and machine.batches == [[0], [2]]
    with pytest.raises(Overloaded):
        await late


async def test_who_is_cancelled_as_their_item_is_refused_is_cancelled() -> None:
    machine = Machine()
    batcher: Batcher[int, int] = Batcher(machine)

    async def lead() -> None:
        await batcher.submit(0)
        assert late.cancel()  # refused in this turn of the loop, and not told yet

    leading = asyncio.create_task(lead())
    await machine.begun.wait()
    late = asyncio.create_task(batcher.submit(1, deadline=0.0))
    await asyncio.sleep(0)
    machine.go.set()
    await leading
    with pytest.raises(asyncio.CancelledError):
        await late
    assert batcher.shed == 1 and await batcher.submit(3) == 30
