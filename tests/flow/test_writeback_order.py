"""Write-back has one worker at a time, on whichever loop: no older answer is written over a newer one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from turns import given_up, turns

from cachelayer.flow.writeback import WriteBack


async def test_nobody_begins_beside_a_worker_that_is_at_work_on_another_loop() -> None:
    written: list[int] = []
    begun, go = threading.Event(), threading.Event()

    async def handle(batch: Sequence[int]) -> None:
        begun.set()
        await asyncio.to_thread(go.wait)
        written.extend(batch)

    queue: WriteBack[int] = WriteBack(handle, batch=1)

    async def there() -> None:
        for item in (1, 2):
            queue.offer(item, asyncio.get_running_loop())
        assert await queue.drain()

    other = asyncio.create_task(asyncio.to_thread(asyncio.run, there()))
    await asyncio.to_thread(begun.wait)
    begun.clear()
    queue.resume(asyncio.get_running_loop())
    queue.offer(3, asyncio.get_running_loop())
    for _ in range(5):
        await asyncio.sleep(0)  # whoever had begun here would be at it
    beside, waiting = begun.is_set(), len(queue)
    go.set()
    await other
    assert await queue.drain() and written == [1, 2, 3]
    assert not beside and waiting == 2


async def test_what_a_loop_that_ended_left_is_handled_where_another_resumes_though_nothing_more_is_offered() -> (
    None
):
    written: list[int] = []
    handled, begun = asyncio.Event(), threading.Event()

    async def handle(batch: Sequence[int]) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        written.extend(batch)
        handled.set()

    queue: WriteBack[int] = WriteBack(handle)

    async def ends() -> None:
        queue.offer(1, asyncio.get_running_loop())
        await asyncio.to_thread(begun.wait)

    async def called_off() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            queue.resume(asyncio.get_running_loop())

    await asyncio.to_thread(asyncio.run, ends())
    leaving = asyncio.create_task(called_off())
    await asyncio.sleep(0)
    await given_up(leaving)
    await turns()
    assert len(queue) == 1  # whoever leaves begins nothing
    queue.resume(asyncio.get_running_loop())
    async with asyncio.timeout(30):
        await handled.wait()
    assert written == [1]


async def test_a_worker_that_was_cancelled_is_followed_by_another_on_the_same_loop() -> None:
    """As where a program cancels every task that it finds, and goes on."""
    written: list[int] = []
    begun, handled = asyncio.Event(), asyncio.Event()

    async def handle(batch: Sequence[int]) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        written.extend(batch)
        if len(written) == 2:
            handled.set()

    queue: WriteBack[int] = WriteBack(handle)
    queue.offer(1, asyncio.get_running_loop())
    await begun.wait()
    (worker,) = asyncio.all_tasks() - {asyncio.current_task()}
    await given_up(worker)
    queue.offer(2, asyncio.get_running_loop())
    async with asyncio.timeout(30):
        await handled.wait()
    assert written == [1, 2]


async def test_what_is_called_off_is_dropped_and_counted_and_what_comes_later_is_handled() -> None:
    written: list[int] = []
    begun, go = asyncio.Event(), asyncio.Event()

    async def handle(batch: Sequence[int]) -> None:
        begun.set()
        await go.wait()
        written.extend(batch)

    queue: WriteBack[int] = WriteBack(handle, batch=1)
    for item in (1, 2):
        queue.offer(item, asyncio.get_running_loop())
    await begun.wait()
    waiting = asyncio.create_task(queue.drain())
    await asyncio.sleep(0)
    await queue.cancel()
    async with asyncio.timeout(30):
        assert await waiting
    assert (len(queue), queue.dropped, queue.handled) == (0, 2, 0)
    go.set()
    queue.offer(3, asyncio.get_running_loop())
    assert await queue.drain() and written == [3]
