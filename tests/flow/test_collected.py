"""A worker whose loop was closed under it ends whenever the garbage collector comes by."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Sequence

from cachelayer.flow.writeback import WriteBack


class Collecting(asyncio.SelectorEventLoop):
    """A loop whose state is asked for at the moment when the collector comes by."""

    def is_running(self) -> bool:
        gc.collect()
        return super().is_running()


def test_a_dropped_worker_that_ends_inside_the_queue_does_not_lock_it() -> None:
    written: list[int] = []

    async def handle(batch: Sequence[int]) -> None:
        written.extend(batch)

    queue: WriteBack[int] = WriteBack(handle, linger=60)

    def offer(item: int, loop: asyncio.AbstractEventLoop) -> None:
        loop.call_soon(queue.offer, item, loop)
        for _ in range(2):  # its worker begins, and lingers
            loop.call_soon(loop.stop)
            loop.run_forever()

    def settle() -> None:
        gc.disable()
        try:
            offer(1, closed := asyncio.SelectorEventLoop())
            closed.close()
            del closed
            offer(2, still := Collecting())  # its worker takes over
            asyncio.run(queue.drain())
            still.close()
        finally:
            gc.enable()

    thread = threading.Thread(target=settle, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive() and written == [1, 2]
