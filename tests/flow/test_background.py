"""Background work is bounded, owed work excepted; each loop waits for and ends its own."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cachelayer.flow.background import Background, Busy

SPAN = contextvars.ContextVar("SPAN", default="none")


@asynccontextmanager
async def another_loop() -> AsyncIterator[asyncio.AbstractEventLoop]:
    """A loop that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def test_what_is_too_much_is_refused_and_counted_but_not_what_is_owed() -> None:
    background, go, done = Background(limit=2), asyncio.Event(), []

    async def work() -> None:
        await go.wait()
        done.append(1)

    assert [background.spawn(work) for _ in range(4)] == [True, True, False, False]
    assert background.spawn(work, owed=True)
    assert (len(background), background.refused) == (3, 2)
    go.set()
    await background.settle()
    assert (len(background), len(done)) == (0, 3)
    assert background.spawn(work)  # what is done makes room
    await background.settle()


async def test_work_runs_in_the_context_that_it_is_given() -> None:
    background, seen = Background(), []

    async def work() -> None:
        seen.append(SPAN.get())

    here = contextvars.copy_context()
    here.run(SPAN.set, "request")
    assert background.spawn(work, here) and background.spawn(work)
    await background.settle()
    assert seen == ["request", "none"]


async def test_settling_waits_for_what_was_begun_meanwhile_but_not_for_itself() -> None:
    background, order = Background(), []

    async def second() -> None:
        await asyncio.sleep(0)
        order.append("second")

    async def first() -> None:
        await asyncio.sleep(0)
        background.spawn(second)
        await background.settle()
        order.append("first")

    background.spawn(first)
    async with asyncio.timeout(10):
        await background.settle()
    assert order == ["second", "first"]


async def test_settling_and_cancelling_leave_the_tasks_of_other_loops_alone() -> None:
    background = Background()

    async def begin() -> asyncio.Event:
        go = asyncio.Event()
        assert background.spawn(go.wait)
        return go

    async with another_loop() as there:
        go = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(begin(), there))
        await begin()
        await asyncio.wait_for(background.cancel(), 10)
        await asyncio.wait_for(background.settle(), 10)
        assert len(background) == 1
        there.call_soon_threadsafe(go.set)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(background.settle(), there))
    assert len(background) == 0


async def test_what_goes_on_for_ever_is_not_waited_for_and_its_like_takes_its_place() -> None:
    background, begun, ended = Background(limit=1), [], []

    def lasting(name: str) -> None:
        async def work() -> None:
            begun.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(name)

        background.spawn_always(work, name)

    async def elsewhere() -> None:
        lasting("one")
        await asyncio.sleep(0)

    for name in ("one", "two", "one"):
        lasting(name)
        await asyncio.sleep(0)
    await asyncio.wait_for(background.settle(), 10)
    assert (begun, ended) == (["one", "two", "one"], ["one"])
    async with another_loop() as there:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(elsewhere(), there))
        assert ended == ["one"]  # it takes the place of nothing here
        await background.cancel()
        assert sorted(ended) == ["one", "one", "two"]
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(background.cancel(), there))
    assert len(ended) == 4


def test_work_that_is_under_way_is_not_where_its_loop_has_ended() -> None:
    busy = Busy()

    async def begins() -> bool:
        busy.begin()
        return bool(busy)

    async def begins_and_ends() -> bool:
        busy.begin()
        busy.end()
        return bool(busy)

    assert not busy
    assert asyncio.run(begins()) and not busy
    assert not asyncio.run(begins_and_ends())


def test_what_is_begun_while_its_loop_ends_ends_with_it_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    background = Background()

    async def asking() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            background.spawn(asyncio.Event().wait)

    async def main() -> None:
        background.spawn(asking)
        await asyncio.sleep(0)

    asyncio.run(main())
    background.reset()
    gc.collect()
    assert not caplog.records
