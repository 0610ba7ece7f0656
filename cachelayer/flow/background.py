"""Bounded background work: refreshes, shadow checks, warm-up."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from .eager import heard
from .loops import stopped

T = TypeVar("T")


class Background:
    """At most `limit` tasks at a time; more are refused and counted, unless they are owed."""

    def __init__(self, *, limit: int = 64) -> None:
        self.limit = limit
        self.refused = 0
        self.reset()

    def reset(self) -> None:
        """Forget all tasks: after a fork they are the parent's."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._lasting: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(
        self, work: Callable[[], Coroutine[Any, Any, Any]], context: contextvars.Context | None = None,
        *, owed: bool = False,
    ) -> bool:  # fmt: skip
        """Start `work()` on the running loop, in `context`; False if too many tasks run, unless it is `owed`."""
        if len(self._tasks) >= self.limit:
            self._tasks -= {task for task in self._tasks if task.get_loop().is_closed()}
        if len(self._tasks) >= self.limit and not owed:
            self.refused += 1
            return False
        create = asyncio.get_running_loop().create_task
        task = create(work()) if context is None else context.run(create, work())
        # what is begun as its loop ends, as the return of a lease that nobody waits for, ends with it in silence
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def spawn_always(self, work: Callable[[], Coroutine[Any, Any, Any]], name: str | None = None) -> None:
        """Start work that goes on until `cancel`; neither limited nor waited for. On its loop it takes the place of
        what goes on there under the same `name`."""
        loop = asyncio.get_running_loop()
        self._lasting -= {task for task in self._lasting if task.get_loop().is_closed()}
        for task in [task for task in self._lasting if task.get_loop() is loop and task.get_name() == name]:
            task.cancel()
        task = loop.create_task(work(), name=name)
        self._lasting.add(task)
        task.add_done_callback(self._lasting.discard)

    async def settle(self) -> None:
        """Wait until the tasks of this loop are done."""
        loop = asyncio.get_running_loop()
        while mine := [t for t in self._tasks if t.get_loop() is loop and t is not asyncio.current_task()]:
            await asyncio.wait(mine)

    async def cancel(self) -> None:
        """Cancel this loop's tasks and wait for them."""
        loop = asyncio.get_running_loop()
        mine = [t for t in (*self._tasks, *self._lasting) if t.get_loop() is loop]
        for task in mine:
            task.cancel()
        if mine:
            await asyncio.wait(mine)


class Busy:
    """Whether work that may only be done once at a time is being done: in this process, on a loop that runs."""

    def __init__(self) -> None:
        self._where: tuple[int, asyncio.AbstractEventLoop] | None = None

    def __bool__(self) -> bool:
        if self._where is None:
            return False
        process, loop = self._where
        return process == os.getpid() and loop.is_running()

    def begin(self) -> None:
        """The work has begun, on the running loop."""
        self._where = os.getpid(), asyncio.get_running_loop()

    def end(self) -> None:
        """It is done."""
        self._where = None


async def offload(work: Callable[[], T]) -> T:
    """The result of `work()`, run in a thread of the loop's default executor, in this context (tenant, span)."""
    here = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(None, here.run, _ended, work)


async def offload_whole(work: Callable[[], T]) -> T:
    """`offload` of what must not go on once nobody waits for it: a cancellation waits until the thread is done."""
    going = asyncio.ensure_future(offload(work))
    try:
        return await asyncio.shield(going)
    except asyncio.CancelledError:
        going.add_done_callback(heard)
        await asyncio.wait((going,))
        raise


def _ended(work: Callable[[], T]) -> T:
    try:
        return work()
    except StopIteration as fault:
        raise stopped(fault) from fault


def offloaded(work: Callable[..., T]) -> Callable[..., Coroutine[Any, Any, T]]:
    """`work` as a coroutine function that runs it in such a thread."""
    return lambda *args, **kwargs: offload(partial(work, *args, **kwargs))


def later(seconds: float, work: Callable[..., object], *args: object) -> asyncio.TimerHandle:
    """Run `work(*args)` on the loop in `seconds`, unless the returned handle is cancelled before."""
    return asyncio.get_running_loop().call_later(seconds, work, *args)
