"""A lookup with a head start on a call: whichever answers first wins, the other is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def _drop(made: object) -> None:
    """Nothing has to be done about an unwanted result."""


class _Race(Generic[T]):
    """The call beside the lookup: a timer starts it, and it cancels the lookup if it is first."""

    __slots__ = ("_call", "_cancelling", "_looking", "_task", "_unwanted", "_won", "calling")

    def __init__(self, task: asyncio.Task[Any], call: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._task, self._call = task, call
        self._cancelling = task.cancelling()
        self.calling: asyncio.Task[T] | None = None
        self._looking, self._won = True, False
        self._unwanted: Callable[[T], object] | None = None

    def begin(self) -> None:
        self.calling = asyncio.get_running_loop().create_task(self._call())
        self.calling.add_done_callback(self._over)

    def _over(self, made: asyncio.Task[T]) -> None:
        if made.cancelled() or made.exception() is not None:
            return
        if self._looking:
            self._won = True
            self._task.cancel()
        elif self._unwanted is not None:  # it made something though it was cancelled
            self._unwanted(made.result())

    async def found(self, lookup: Coroutine[Any, Any, T | None]) -> T | None:
        """What the lookup found, or None; raises what it raised."""
        found = None
        try:
            found = await lookup
        except asyncio.CancelledError:
            if not self._won or self._task.cancelling() > self._cancelling + 1:  # somebody else wants the end
                raise
        finally:
            self._looking = False
            if self._won:
                self._task.uncancel()
        return found

    def end(self, unwanted: Callable[[T], object] | None) -> None:
        """Cancel what still runs; `unwanted` is told what the call made."""
        calling = self.calling
        if calling is None:
            return
        if calling.cancel():
            self._unwanted = unwanted
        elif unwanted is not None and not (calling.cancelled() or calling.exception()):
            unwanted(calling.result())


async def race(
    lookup: Coroutine[Any, Any, T | None],
    call: Callable[[], Coroutine[Any, Any, T]],
    head_start: float,
    unwanted: Callable[[T], object] = _drop,
) -> tuple[T, bool]:
    """(result, whether the lookup gave it). `call` starts once the lookup gave None or took `head_start` seconds.

    The lookup runs in the caller's task, as it mostly ends alone. What the call raises is raised, unless the lookup
    still answers. Neither outlives this coroutine; what the call made and nobody gets is given to `unwanted`.
    """
    task = asyncio.current_task()
    assert task is not None
    beside = _Race(task, call)
    timer = task.get_loop().call_later(head_start, beside.begin)
    taken = False
    try:
        found = await beside.found(lookup)
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
        del task, beside  # which lead to an error that holds this frame
