"""Write-back: batches, company, urgency, and loops of others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

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
