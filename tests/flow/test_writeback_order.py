"""Write-back has one worker at a time, on whichever loop: no older answer is written over a newer one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

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
