"""The loop that runs in this thread, where one does, whether its task is to end, and waking who waits in it.

Coroutines need one; plain functions may be called beside one, and must not wait in its thread for what it has to do.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

from ..errors import CacheLayerError

Waiter = Future[Any] | asyncio.Future[Any]
"""Of a thread, or of a loop."""


def needed_loop() -> asyncio.AbstractEventLoop:
    """The running loop.

    Raises CacheLayerError that says what to do where none runs.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise CacheLayerError(
            "coroutines can be cached only while an asyncio loop runs, and none runs here: under anyio choose backend "
            "'asyncio', under trio call from trio_asyncio.aio_as_trio, or cache plain functions"
        ) from None


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that this thread must not be kept from; None if it has none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def called_off() -> bool:
    """Whether the running task was told to end: what is made in it yet is what could be saved, and not the whole."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def wake(future: asyncio.Future[None] | None) -> None:
    """Let go on who waits for `future`, where somebody does; called in the future's loop."""
    if future is not None and not future.done():
        future.set_result(None)


def settle(waiter: Waiter, result: Any, error: BaseException | None) -> None:
    """Tell who still waits the result, or the error; called in the loop of one that is a loop's."""
    if waiter.done():
        return
    if isinstance(error, StopIteration) and isinstance(waiter, asyncio.Future):
        error = stopped(error)
    if error is not None:
        waiter.set_exception(error)
    else:
        waiter.set_result(result)


def stopped(fault: StopIteration) -> RuntimeError:
    """A plain function's StopIteration for who awaits it: no future of a loop takes one, nobody would be told."""
    told = RuntimeError("the work raised StopIteration")
    told.__cause__ = fault
    return told
