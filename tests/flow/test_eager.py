"""What was started at once is cancelled as any task is, however soon."""

from __future__ import annotations

import asyncio

import pytest

from cachelayer.flow.eager import Starter


async def ready(starter: Starter, warm: bool) -> None:
    """With `warm`, a task that had its first turn stands ready."""

    async def nothing() -> None:
        return

    if warm:
        assert starter.start(asyncio.get_running_loop(), nothing()) == (None, None)
        await asyncio.sleep(0)


@pytest.mark.parametrize("warm", [False, True])
async def test_a_cancellation_before_the_tasks_turn_reaches_its_work_with_its_message(warm: bool) -> None:
    """By which anyio knows whose it is."""
    loop, starter = asyncio.get_running_loop(), Starter()
    waited: asyncio.Future[None] = loop.create_future()

    async def work() -> str:
        try:
            await waited
        except asyncio.CancelledError as told:
            return str(told)
        return "not told"

    await ready(starter, warm)
    task, _ = starter.start(loop, work())
    assert task is not None
    task.cancel("by a scope")  # as timers of uvloop do, which come before what is ready
    assert await task == "by a scope" and waited.cancelled()


@pytest.mark.parametrize("warm", [False, True])
async def test_a_timeout_of_no_length_ends_what_it_bounds_and_nothing_else(warm: bool) -> None:
    loop, starter = asyncio.get_running_loop(), Starter()

    async def work() -> str:
        try:
            async with asyncio.timeout(0):
                await loop.create_future()
        except TimeoutError:
            await asyncio.sleep(0)
            return "went on"
        return "in time"

    await ready(starter, warm)
    task, _ = starter.start(loop, work())
    assert task is not None and await task == "went on"


async def test_a_task_that_stands_ready_may_be_cancelled() -> None:
    loop, starter = asyncio.get_running_loop(), Starter()
    for turns in range(3):
        await ready(starter, True)
        starter._ready[-1].task.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        task, _ = starter.start(loop, asyncio.sleep(0, "done"))
        assert task is not None and await task == "done"


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("caught", [False, True])
async def test_a_first_step_that_cancels_its_own_task_is_told_where_it_first_waits(
    warm: bool, caught: bool
) -> None:
    """As a group of tasks does whose first child fails at once, under a task factory that is eager."""
    loop, starter = asyncio.get_running_loop(), Starter()

    async def work() -> str:
        own = asyncio.current_task()
        assert own is not None
        own.cancel("its own")
        try:
            await loop.create_future()
        except asyncio.CancelledError as told:
            if not caught:
                raise
            own.uncancel()
            await asyncio.sleep(0)
            return str(told)
        return "not told"

    await ready(starter, warm)
    task, _ = starter.start(loop, work())
    assert task is not None
    if caught:
        assert await task == "its own"
    else:
        with pytest.raises(asyncio.CancelledError):
            await task
    after, _ = starter.start(loop, asyncio.sleep(0, "done"))
    assert after is not None and await after == "done"
