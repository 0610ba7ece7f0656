"""Several works at once: all results, whether any is true; one run for all who ask, one fetch for several needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Generic, TypeVar

from .eager import heard

T = TypeVar("T")


async def together(works: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run works concurrently; their results in order. The first fault cancels the others and is raised."""
    tasks = [asyncio.get_running_loop().create_task(work) for work in works]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise


async def any_of(works: Iterable[Coroutine[Any, Any, bool]]) -> bool:
    """Whether any of the works, run concurrently, returns True; as soon as one does, the others are cancelled."""
    tasks = [asyncio.get_running_loop().create_task(work) for work in works]
    try:
        for done in asyncio.as_completed(tasks):
            if await done:
                return True
        return False
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Once(Generic[T]):
    """One run of `work()` at a time, for all who ask while it goes on; it goes on though they leave."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None

    async def __call__(self) -> T | None:
        """What the work returns; None if it was cancelled. Raises what it raises."""
        loop, task = asyncio.get_running_loop(), self._task
        if task is None or task.get_loop() is not loop:
            task = self._task = loop.create_task(self._work())
            task.add_done_callback(self._done)
        await asyncio.wait([task])
        return None if task.cancelled() else task.result()

    def _done(self, task: asyncio.Task[T]) -> None:
        if self._task is task:
            self._task = None
        heard(task)  # by those who still wait

    async def cancel(self) -> None:
        """End what goes on."""
        task = self._task
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.wait([task])


class Gathering:
    """`need(i)` for those of `expected` members that are not known yet; one `call(needed)` answers them all, in the
    order of their numbers.

    The call starts when every member either needs or is `known`, at the latest `patience` seconds after the first need:
    a member may be waiting for somebody else's call, which may be waiting for ours. It is cancelled once nobody waits
    for it any more.
    """

    def __init__(
        self, expected: int, call: Callable[[list[int]], Coroutine[Any, Any, Sequence[Any]]], patience: float
    ) -> None:
        self._left, self._call, self._patience = expected, call, patience
        self._next = _Batch()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def need(self, member: int) -> Any:
        """The member's result. Raises what the call raises."""
        loop, batch = asyncio.get_running_loop(), self._next
        future = batch.needed[member] = loop.create_future()
        if self._timer is None:
            self._timer = loop.call_later(self._patience, self._fire)
        self.known()
        try:
            return await future
        except asyncio.CancelledError:
            if future.cancelled():
                batch.leave(member)
            raise

    def known(self) -> None:
        """One member fewer to wait for."""
        self._left -= 1
        if self._left <= 0:
            self._fire()

    def _fire(self) -> None:
        batch, self._next = self._next, _Batch()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if batch.needed:
            task = batch.task = asyncio.get_running_loop().create_task(self._fetch(batch.needed))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _fetch(self, needed: dict[int, asyncio.Future[Any]]) -> None:
        members = sorted(needed)
        futures = [needed[member] for member in members]
        try:
            results = await self._call(members)
        except BaseException as fault:
            for future in futures:
                if not future.done():
                    future.set_exception(fault)
                    future.exception()  # told to those who still wait; the others left
            if isinstance(fault, Exception):
                return
            raise
        for future, result in zip(futures, results, strict=True):
            if not future.done():
                future.set_result(result)


class _Batch:
    """Members that one call answers, and the task that makes it."""

    def __init__(self) -> None:
        self.needed: dict[int, asyncio.Future[Any]] = {}
        self.task: asyncio.Task[None] | None = None
        self._left = 0

    def leave(self, member: int) -> None:
        """A member stops waiting."""
        if self.task is None:
            del self.needed[member]
            return
        self._left += 1
        if self._left == len(self.needed):
            self.task.cancel()
