"""Tasks whose first step runs at once, so that a call which never waits costs no trip round the event loop.

Python 3.12 has `eager_start`. For 3.11 the same is built on what asyncio documents for task implementations
("Extending: Task lifetime support"): the first step runs as the new task's, in the new task's context.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import types
from collections.abc import Coroutine, Generator
from typing import Any

_NATIVE = sys.version_info >= (3, 12)
_EAGER: dict[str, Any] = {"eager_start": True}


class Finished:
    """A coroutine that never waited, and its result."""

    __slots__ = ("result",)

    def __init__(self, result: Any) -> None:
        self.result = result


def start(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | Finished:
    """Run `work` until it first waits, as a task of its own, and return the task, or the result where it never did.

    Raises what `work` raised before it ever waited.
    """
    if not _NATIVE:
        return _start(loop, work)
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **_EAGER)
    if not task.done():
        return task
    return Finished(task.result())


def _start(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | Finished:
    rest = _Rest(work)
    context = contextvars.copy_context()
    task = loop.create_task(_resume(rest), context=context)
    caller = asyncio.current_task(loop)
    if caller is not None:
        asyncio.tasks._leave_task(loop, caller)
    asyncio.tasks._enter_task(loop, task)
    try:
        rest.waits_for = context.run(work.send, None)
    except StopIteration as end:
        rest.work = None
        return Finished(end.value)
    except BaseException:
        rest.work = None
        raise
    finally:
        asyncio.tasks._leave_task(loop, task)
        if caller is not None:
            asyncio.tasks._enter_task(loop, caller)
    return task


class _Rest:
    """What is left of a coroutine after its first step."""

    __slots__ = ("waits_for", "work")

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self.work: Coroutine[Any, Any, Any] | None = work
        self.waits_for: Any = None


async def _resume(rest: _Rest) -> Any:
    return None if rest.work is None else await _steps(rest.work, rest.waits_for)


@types.coroutine
def _steps(work: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    """The steps after the first, passed on to the task that runs them."""
    while True:
        try:
            sent = yield waits_for
        except GeneratorExit:
            work.close()
            raise
        except BaseException as error:  # noqa: BLE001 - passed on to the coroutine
            thrown: BaseException | None = error
        else:
            thrown = None
        try:
            waits_for = work.send(sent) if thrown is None else work.throw(thrown)
        except StopIteration as end:
            return end.value
