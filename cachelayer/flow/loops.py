"""The event loop that runs in this thread, if any: its turns, whether its task is being cancelled, waking waiters.

Coroutines need a loop. Plain functions may be called in a loop's thread, and must not wait there for its work.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Generator, MutableMapping
from concurrent.futures import Future
from typing import Any, TypeVar

from ..errors import CacheLayerError

T = TypeVar("T")
Waiter = Future[Any] | asyncio.Future[Any]
"""A waiter in a thread, or on a loop."""


def needed_loop() -> asyncio.AbstractEventLoop:
    """The running loop.

    Raises CacheLayerError, which says what to do, if none runs.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise CacheLayerError(
            "coroutines can be cached only while an asyncio loop runs, and none runs here: under anyio choose backend "
            "'asyncio', under trio call from trio_asyncio.aio_as_trio, or cache plain functions"
        ) from None


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that this thread must not block; None if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@types.coroutine
def turn() -> Generator[None, None, None]:
    """Let the event loop turn once, so that what was written to a socket is sent."""
    yield


async def whole_turn() -> None:
    """Let tasks begun before take their first step, even if a task of `eager.Starter` runs in the current turn."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def left_behind(held: MutableMapping[asyncio.AbstractEventLoop, T]) -> list[T]:
    """Takes out what is held for loops that are closed by now. What a loop leads to mostly leads back to it, so that no
    weak reference would let go of either. Another thread may be at it, too."""
    gone = [loop for loop in tuple(held) if loop.is_closed()]
    return [one for loop in gone if (one := held.pop(loop, None)) is not None]


def called_off() -> bool:
    """Whether the running task was cancelled: what it still returns may be only what could be saved, not the whole."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def wake(future: asyncio.Future[None] | None) -> None:
    """Wake who waits for `future`, if anybody does; called in the future's loop."""
    if future is not None and not future.done():
        future.set_result(None)


def settle(waiter: Waiter, result: Any, error: BaseException | None) -> None:
    """Give the result, or the error, to a waiter that still waits; called in its loop, if it has one."""
    if waiter.done():
        return
    if isinstance(error, StopIteration) and isinstance(waiter, asyncio.Future):
        error = stopped(error)
    if error is not None:
        waiter.set_exception(error)
    else:
        waiter.set_result(result)


def stopped(fault: StopIteration) -> RuntimeError:
    """A plain function's StopIteration as an error that a loop's future accepts: it refuses StopIteration itself."""
    error = RuntimeError("the work raised StopIteration")
    error.__cause__ = fault
    return error
