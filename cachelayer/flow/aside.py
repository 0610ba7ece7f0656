"""Work that starts at once and is awaited only by those who need its result."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any

from .eager import Starter, heard

Work = Coroutine[Any, Any, None]


class Aside:
    """A piece of work that neither delays the code that starts it nor raises in it."""

    _task: asyncio.Task[Any] | None = None
    _error: BaseException | None = None

    def begin(self, starter: Starter, work: Work) -> None:
        """Run `work` until it first waits."""
        try:
            self._task, _ = starter.start(asyncio.get_running_loop(), work)
        except BaseException as error:
            self._error = error
            if isinstance(error, Exception):
                return  # `ended` raises it
            raise
        if self._task is not None:
            self._task.add_done_callback(heard)

    async def ended(self) -> None:
        """Wait for the end. Raises what the work raised; a caller that is cancelled meanwhile cancels the work."""
        if self._task is not None:
            await self._task
        if self._error is not None:
            raise self._error


@types.coroutine
def turn() -> Generator[None, None, None]:
    """Let the event loop turn once, so that what was written to a socket is sent."""
    yield


async def whole_turn() -> None:
    """Let tasks begun before take their first step, even if a task of `Starter` runs in the current turn."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)
