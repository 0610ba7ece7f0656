"""What was started at once is a task as any other is: of its loop, listed, and cancelled however soon."""

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


async def test_a_call_that_waits_is_listed_among_the_tasks_of_its_loop_and_one_that_stands_ready_is_not() -> (
    None
):
    """At the end of a loop what is listed is cancelled."""
    loop, starter = asyncio.get_running_loop(), Starter()
    await ready(starter, True)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    task, _ = starter.start(loop, asyncio.sleep(0, "done"))
    assert asyncio.all_tasks() == {asyncio.current_task(), task}
    assert task is not None and await task == "done"
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_what_is_started_on_one_loop_after_another_is_a_task_of_the_loop_that_it_runs_on() -> None:
    starter = Starter()

    async def own() -> bool:
        loop = asyncio.get_running_loop()

        async def work() -> bool:
            task = asyncio.current_task()
            await asyncio.sleep(0)
            return task is not None and task.get_loop() is loop and task is asyncio.current_task()

        task, _ = starter.start(loop, work())
        return task is not None and await task is True

    loops = [asyncio.new_event_loop() for _ in range(2)]
    for loop in (*loops, *loops):
        assert loop.run_until_complete(own())
    for loop in loops:
        loop.close()


async def test_those_who_follow_a_task_have_its_result_before_its_callbacks_and_nothing_where_it_fails() -> (
    None
):
    loop, starter, told = asyncio.get_running_loop(), Starter(), []

    async def work(fault: Exception | None) -> str:
        await asyncio.sleep(0)
        if fault is not None:
            raise fault
        return "done"

    task, _ = starter.start(loop, work(None), [lambda result: told.append(("first", result)), told.append])
    assert task is not None
    task.add_done_callback(lambda done: told.append("callback"))
    assert await task == "done"
    failing, _ = starter.start(loop, work(LookupError()), [told.append])
    assert failing is not None
    with pytest.raises(LookupError):
        await failing
    assert told == [("first", "done"), "done", "callback"]
