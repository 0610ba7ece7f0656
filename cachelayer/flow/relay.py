"""Passes items on to a waiting task in the very step that brings them, without a turn of the loop in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextvars import copy_context
from typing import Any

from .eager import Work, first_step, steps

Hand = Callable[[Any], Coroutine[Any, Any, None]]


class Relay:
    """Made in the task for which items are handed over, on its behalf and in a copy of its context."""

    def __init__(self, hand: Hand) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._hand, self._task, self._loop = hand, task, task.get_loop()
        self._context = copy_context()
        self._woken: asyncio.Future[tuple[Work, Any] | None] = self._loop.create_future()

    @property
    def idle(self) -> bool:
        """Whether the task waits for items, and nothing woke it yet."""
        return not self._woken.done()

    async def wait(self) -> None:
        """Wait to be woken, and finish a hand-over that had to wait; raises what that raises."""
        self._woken = self._loop.create_future()
        try:
            begun = await self._woken
        except asyncio.CancelledError as cancelled:
            woken = self._woken
            if woken.cancelled() or woken.exception() is not None or (begun := woken.result()) is None:
                raise
            await steps(*begun, self._context, cancelled)
            return
        if begun is not None:
            await steps(*begun, self._context)

    def wake(self) -> None:
        """Nothing more is handed over."""
        if not self._woken.done():
            self._woken.set_result(None)

    def give(self, item: Any) -> None:
        """Hand an item over to an idle task. If that has to wait, the task continues it itself, and is busy."""
        work = self._hand(item)
        try:
            waits_for = first_step(self._loop, self._task, work, self._context)
        except StopIteration:
            return
        except BaseException as error:  # noqa: BLE001 - raised where the task waits, not where the item came from
            if self.idle:
                self._woken.set_exception(error)
            return
        if self.idle:
            self._woken.set_result((work, waits_for))
        else:  # it cancelled its own task
            work.close()


async def pass_on(stream: AsyncIterator[Any], hand: Hand) -> None:
    """`hand` over what is left of a stream, by its own `pass_on` where it has one."""
    passing = getattr(stream, "pass_on", None)
    if passing is not None:
        await passing(hand)
        return
    async for item in stream:
        await hand(item)
