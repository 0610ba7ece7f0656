"""A block that is cancelled by a sign: by nothing else, and only while it runs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from turns import cancelled

from cachelayer.flow.watch import Rounds, Watch


async def test_a_sign_cancels_the_block_and_nothing_after_it() -> None:
    sign = asyncio.Event()

    async def given() -> None:
        await sign.wait()

    with Watch(given) as watch:
        asyncio.get_running_loop().call_soon(sign.set)
        await asyncio.Event().wait()
    assert watch.rang
    await asyncio.sleep(0)


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("ended", [False, True])
async def test_a_sign_that_comes_as_the_block_ends_cancels_nothing_after_it(turns: int, ended: bool) -> None:
    sign = asyncio.Event()

    async def given() -> None:
        await sign.wait()

    rang = False
    try:
        with Watch(given) as watch:
            await asyncio.sleep(0)
            sign.set()
            if ended:
                watch.end()
            for _ in range(turns):
                await asyncio.sleep(0)
    finally:
        rang = watch.rang
    for _ in range(6):
        await asyncio.sleep(0)  # no cancellation is left over
    assert not (ended and rang)


async def test_a_cancellation_from_elsewhere_passes() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async def block() -> None:
        with Watch(never):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(block())
    await asyncio.sleep(0)
    await cancelled(task)


async def test_rounds_begin_every_watch_within_the_grace_and_none_that_ended() -> None:
    rounds, loop, begun = Rounds(0.02), asyncio.get_running_loop(), []

    def sign(name: int) -> Any:
        async def never() -> None:
            begun.append((name, loop.time()))
            await asyncio.Event().wait()

        return never

    with Watch(sign(1), rounds):
        started = loop.time()
        with Watch(sign(2), rounds):
            pass
        while not begun:
            await asyncio.sleep(0)
        with Watch(sign(3), rounds):
            while len(begun) < 2:
                await asyncio.sleep(0)
    assert [name for name, _ in begun] == [1, 3]
    assert begun[0][1] - started >= 0.01


def test_rounds_serve_several_loops() -> None:
    rounds = Rounds(0.002)

    async def block() -> bool:
        with Watch(partial(asyncio.sleep, 0), rounds) as watch:
            await asyncio.Event().wait()
        return watch.rang

    for _ in range(2):
        assert asyncio.run(block())


async def test_one_timer_starts_all_watches_of_a_round_however_many_join() -> None:
    class Counting:
        def __init__(self) -> None:
            self.timers: list[Any] = []

        def call_later(self, _seconds: float, tick: Any) -> None:
            self.timers.append(tick)

    async def never() -> None:
        await asyncio.Event().wait()

    loop, rounds = Counting(), Rounds(1.0)
    with Watch(never) as first, Watch(never) as second:
        for watch in (first, second, first):
            rounds.join(watch, loop)  # type: ignore[arg-type]
        assert len(loop.timers) == 1
    ticks = 0
    while loop.timers and ticks < 5:
        loop.timers.pop()()
        ticks += 1
    assert ticks <= 2 and not loop.timers  # with nobody to start no timer is left


async def test_a_fault_of_the_block_is_raised_though_the_sign_came() -> None:
    sign, task = asyncio.Event(), asyncio.current_task()
    with pytest.raises(ValueError, match="of the block"), Watch(sign.wait) as watch:  # type: ignore[arg-type]
        sign.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("of the block")
    assert watch.rang and task is not None and not task.cancelling()
