"""A lookup with a head start on a call: whichever answers first wins, the other is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def _drop(made: object) -> None:
    """Nothing has to be done about it."""


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
    calling: asyncio.Task[T] | None = None
    taken = False
    try:
        await asyncio.wait((looking,), timeout=head_start)
        if looking.done():
            found = looking.result()
            return (found, True) if found is not None else (await call(), False)
        calling = loop.create_task(call())
        await asyncio.wait((looking, calling), return_when=asyncio.FIRST_COMPLETED)
        failed = calling.done() and not calling.cancelled() and calling.exception() is not None
        if looking.done() or failed:
            found = await looking
            if found is not None:
                return found, True
        made, taken = await calling, True
        return made, False
    finally:
        for task in (looking, calling):
            if task is not None and not task.done():
                task.cancel()
        lost = calling if not taken and calling is not None and calling.done() else None
        if lost is not None and not (lost.cancelled() or lost.exception()):
            unwanted(lost.result())
