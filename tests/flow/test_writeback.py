"""Write-back: batches, company, urgency, and loops of others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from turns import given_up, turns

from cachelayer.flow.writeback import WriteBack


class Written:
    """Batches as they were handled, and in which thread."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.threads: set[int] = set()

    async def __call__(self, batch: Sequence[int]) -> None:
        self.batches.append(list(batch))
        self.threads.add(threading.get_ident())


async def test_what_comes_within_the_linger_is_one_batch() -> None:
    written = Written()
    queue: WriteBack[int] = WriteBack(written, linger=60)
    for n in range(3):
        assert queue.offer(n, asyncio.get_running_loop())
        await asyncio.sleep(0)
    assert not written.batches
    assert await queue.drain()
    assert written.batches == [[0, 1, 2]] and queue.handled == 3


async def test_what_is_urgent_takes_the_others_along_at_once() -> None:
    written = Written()
    queue: WriteBack[int] = WriteBack(written, linger=60)
    loop = asyncio.get_running_loop()
    queue.offer(1, loop)
    await asyncio.sleep(0)
    queue.offer(2, loop, urgent=True)
    async with asyncio.timeout(10):
        while not written.batches:
            await asyncio.sleep(0)
    assert written.batches == [[1, 2]]


async def test_a_full_batch_does_not_linger() -> None:
    written = Written()
    queue: WriteBack[int] = WriteBack(written, batch=2, linger=60)
    for n in range(2):
        queue.offer(n, asyncio.get_running_loop())
    async with asyncio.timeout(10):
        while not written.batches:
            await asyncio.sleep(0)
    assert written.batches == [[0, 1]]


async def test_a_full_queue_drops_the_newest_and_counts_it() -> None:
    queue: WriteBack[int] = WriteBack(Written(), capacity=1, linger=60)
    assert queue.offer(1, asyncio.get_running_loop())
    assert not queue.offer(2, asyncio.get_running_loop()) and queue.dropped == 1
    assert await queue.drain()


async def test_what_another_loop_was_given_is_handled_there() -> None:
    """Its connections know what was invalidated while the answer was made; those of the loop that drains may not."""
    written = Written()
    queue: WriteBack[int] = WriteBack(written, linger=60)
    other = asyncio.new_event_loop()
    thread = threading.Thread(target=other.run_forever)
    thread.start()
    try:
        offered = asyncio.run_coroutine_threadsafe(_offer(queue, other), other)
        await asyncio.wrap_future(offered)
        assert await queue.drain(30)
        assert written.batches == [[7]] and written.threads == {thread.ident}
    finally:
        other.call_soon_threadsafe(other.stop)
        thread.join()
        other.close()


async def _offer(queue: WriteBack[int], loop: asyncio.AbstractEventLoop) -> None:
    queue.offer(7, loop)
    await asyncio.sleep(0)


async def test_what_is_offered_as_a_worker_of_another_thread_ends_is_handled_too() -> None:
    handled: set[int] = set()

    async def handle(batch: Sequence[int]) -> None:
        handled.update(batch)

    queue: WriteBack[int] = WriteBack(handle)

    async def offers(first: int) -> None:
        for n in range(first, first + 500):
            assert queue.offer(n, asyncio.get_running_loop())
            while n not in handled:
                await asyncio.sleep(0)
        while len(handled) < 1000:  # a worker of this loop may be at what the other offered
            await asyncio.sleep(0)

    there = asyncio.to_thread(asyncio.run, offers(1000))
    await asyncio.wait_for(asyncio.gather(offers(0), there), 60)
    assert not len(queue)


async def test_what_a_loop_could_not_finish_is_handled_on_another() -> None:
    written, begun = Written(), asyncio.Event()

    async def handle(batch: Sequence[int]) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        await written(batch)

    queue: WriteBack[int] = WriteBack(handle)

    async def ends() -> None:
        queue.offer(1, asyncio.get_running_loop())
        await begun.wait()

    await asyncio.to_thread(asyncio.run, ends())
    assert await queue.drain()
    assert written.batches == [[1]]


def test_what_a_loop_that_stands_still_was_given_is_handled_where_more_is_offered() -> None:
    """As where something was asked by `run_until_complete` before a server's own loop began."""
    written, standing = Written(), asyncio.new_event_loop()
    queue: WriteBack[int] = WriteBack(written, linger=60)

    async def offers(n: int) -> None:
        queue.offer(n, asyncio.get_running_loop())
        await asyncio.sleep(0)

    async def served() -> None:
        queue.offer(2, asyncio.get_running_loop(), urgent=True)
        async with asyncio.timeout(30):
            while not written.batches:
                await asyncio.sleep(0)

    standing.run_until_complete(offers(1))
    asyncio.run(served())
    standing.run_until_complete(offers(3))
    assert len(asyncio.all_tasks(standing)) == 1  # it goes on with the one that it has
    assert standing.run_until_complete(queue.drain()) and written.batches == [[1, 2], [3]]
    standing.close()


async def test_a_loop_that_ends_begins_nothing() -> None:
    """What is kept as its tasks are cancelled is handled on another loop, and no task of it is destroyed."""
    written = Written()
    queue: WriteBack[int] = WriteBack(written, linger=60)

    async def leaves() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            queue.offer(1, asyncio.get_running_loop())

    async def ends() -> set[asyncio.Task[None]]:
        task = asyncio.create_task(leaves())
        await asyncio.sleep(0)
        await given_up(task)
        return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]

    assert not await asyncio.to_thread(asyncio.run, ends())
    assert await queue.drain()
    assert written.batches == [[1]]


class Held:
    """Handles a batch when it is let; tells how many were under way at once."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.begun, self.let = asyncio.Event(), asyncio.Event()
        self.now = self.most = 0

    async def __call__(self, batch: Sequence[int]) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.set()
        try:
            await self.let.wait()
            self.done += batch
        finally:
            self.now -= 1


async def test_who_drains_waits_for_what_another_drains() -> None:
    held = Held()
    queue: WriteBack[int] = WriteBack(held, linger=60)
    queue.offer(1, asyncio.get_running_loop())
    await asyncio.sleep(0)
    first = asyncio.create_task(queue.drain())
    await held.begun.wait()
    await turns(9)
    second = asyncio.create_task(queue.drain())
    assert not await queue.drain(timeout=0)
    assert not second.done()
    held.let.set()
    assert await second and held.done == [1] and await first


async def test_who_drains_does_not_wait_for_what_comes_later() -> None:
    async def handle(batch: Sequence[int]) -> None:
        queue.offer(batch[-1] + 1, asyncio.get_running_loop())
        await asyncio.sleep(0)

    queue: WriteBack[int] = WriteBack(handle)
    queue.offer(1, asyncio.get_running_loop())
    async with asyncio.timeout(10):
        assert await queue.drain()


async def test_a_drain_that_is_given_up_leaves_nothing_that_nobody_handles() -> None:
    held = Held()
    queue: WriteBack[int] = WriteBack(held, linger=60)
    queue.offer(1, asyncio.get_running_loop())
    await asyncio.sleep(0)
    drain = asyncio.create_task(queue.drain())
    await held.begun.wait()
    await turns(9)
    await given_up(drain)
    held.let.set()
    async with asyncio.timeout(10):
        while not held.done:
            await asyncio.sleep(0)


async def test_no_batch_overtakes_another_where_some_drain() -> None:
    """An older answer would be written over a newer one."""
    held = Held()
    queue: WriteBack[int] = WriteBack(held, batch=2)
    for n in range(8):
        queue.offer(n, asyncio.get_running_loop())
    drains = [asyncio.create_task(queue.drain()) for _ in range(3)]
    await held.begun.wait()
    held.let.set()
    assert all(await asyncio.gather(*drains))
    assert held.done == [*range(8)] and held.most == 1


async def test_who_drains_lets_nothing_linger() -> None:
    written = Written()
    queue: WriteBack[int] = WriteBack(written, linger=60)
    queue.offer(1, asyncio.get_running_loop())
    async with asyncio.timeout(10):
        assert await queue.drain()
    assert written.batches == [[1]]


async def test_who_drains_goes_on_by_himself_when_the_loop_that_was_at_it_ends() -> None:
    """As where each thread has a loop per job: the end of another's loop is no cancellation of ours."""
    written, begun, go = Written(), threading.Event(), threading.Event()

    async def handle(batch: Sequence[int]) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()
        await written(batch)

    queue: WriteBack[int] = WriteBack(handle)

    async def ends() -> None:
        queue.offer(1, asyncio.get_running_loop())
        await asyncio.to_thread(go.wait)

    there = asyncio.create_task(asyncio.to_thread(asyncio.run, ends()))
    await asyncio.to_thread(begun.wait)
    draining = asyncio.create_task(queue.drain())
    await asyncio.sleep(0)
    go.set()
    assert await draining
    assert written.batches == [[1]] and written.threads == {threading.get_ident()}
    await there


async def test_many_loops_in_threads_drain_what_others_work_on() -> None:
    written = Written()
    queue: WriteBack[int] = WriteBack(written, linger=0.001)

    async def job(number: int) -> None:
        queue.offer(number, asyncio.get_running_loop())
        assert await queue.drain()

    def jobs(first: int) -> None:
        for number in range(first, first + 20):
            asyncio.run(job(number))

    await asyncio.gather(*(asyncio.to_thread(jobs, 20 * n) for n in range(8)))
    assert sorted(number for batch in written.batches for number in batch) == list(range(160))
