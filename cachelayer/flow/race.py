"""A lookup with a head start on a call: whichever answers first wins, the other is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def _drop(made: object) -> None:
    """Nothing has to be done about it."""


class _Race(Generic[T]):
    """The call beside the lookup: started by a timer, and what it does to the lookup when it is first."""

    def __init__(self, looking: asyncio.Task[T | None], call: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._looking, self._call = looking, call
        self.calling: asyncio.Task[T] | None = None
        self.won = False

    def begin(self) -> None:
        if not self._looking.done():
            self.calling = asyncio.get_running_loop().create_task(self._call())
            self.calling.add_done_callback(self._over)

    def _over(self, made: asyncio.Task[T]) -> None:
        if not made.cancelled() and made.exception() is None and not self._looking.done():
            self.won = True
            self._looking.cancel()

    async def found(self) -> T | None:
        """What the lookup found, or None; raises what it raised."""
        try:
            return await self._looking
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.won or (task is not None and task.cancelling()):
                raise
            return None

    def end(self, unwanted: Callable[[T], object] | None) -> None:
        """Cancel what still runs; `unwanted` is told what the call made."""
        self._looking.cancel()
        calling = self.calling
        if calling is None or calling.cancel() or unwanted is None:
            return
        if not (calling.cancelled() or calling.exception()):
            unwanted(calling.result())


async def race(
    lookup: Coroutine[Any, Any, T | None],
    call: Callable[[], Coroutine[Any, Any, T]],
    head_start: float,
    unwanted: Callable[[T], object] = _drop,
) -> tuple[T, bool]:
    """(result, whether the lookup gave it). `call` starts once the lookup gave None or took `head_start` seconds.

    What the call raises is raised, unless the lookup still answers. Neither outlives this coroutine; what the call made
    and nobody gets is given to `unwanted`.
    """
    loop = asyncio.get_running_loop()
    looking = loop.create_task(lookup)
    beside = _Race(looking, call)
    timer = loop.call_later(head_start, beside.begin)
    taken = False
    try:
        found = await beside.found()
        timer.cancel()
        if found is not None:
            return found, True
        if beside.calling is None:
            return await call(), False
        made, taken = await beside.calling, True
        return made, False
    finally:
        timer.cancel()
        beside.end(None if taken else unwanted)
