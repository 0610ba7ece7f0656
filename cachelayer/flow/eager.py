"""Tasks whose first step runs at once, so that a call which never waits costs no trip round the event loop.

Built on what asyncio documents for task implementations ("Extending: Task lifetime support"): the first step runs as a
task that stands ready, in a context of its own. Where it ends the call, the task stands ready for the next one; where
the call has to wait, the task goes on with it. (Python 3.12's `eager_start` makes a new task for each call.)
"""

from __future__ import annotations

import asyncio
import contextvars
import types
from asyncio import current_task
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextvars import copy_context
from typing import Any

from .reentrancy import WITHIN, Around

Work = Coroutine[Any, Any, Any]
Followers = Sequence[Callable[[Any], object]]
_Given = tuple[Work, Any, contextvars.Context, Followers]


class Starter:
    """Starts coroutines. One thread at a time uses the task that stands ready; another makes a task of its own."""

    def __init__(self) -> None:
        self._ready: list[_Standby] = []

    def start(
        self, loop: asyncio.AbstractEventLoop, work: Work, followers: Followers = (), around: Around = ()
    ) -> tuple[asyncio.Task[Any] | None, Any]:
        """Run `work` until it first waits, as a task of its own: (that task, None), or where it never waited
        (None, its result). Those that are in `followers` when the task ends well are called with its result in its last
        step, a turn of the loop before the task's own callbacks. `around`: the calls that it is part of, if others
        than this context is.

        Raises what `work` raised before it ever waited.
        """
        ready = self._ready
        try:
            standby = ready.pop()
        except IndexError:
            standby = _Standby(loop, ready)
        task = standby.task
        if standby.loop is not loop or task.cancelling():  # of another loop, or not left alone
            standby = _Standby(loop, ready)
            task = standby.task
        context = copy_context()
        if around:
            context.run(WITHIN.set, around)
        try:
            waits_for = first_step(loop, task, work, context)
        except StopIteration as end:
            ready.append(standby)
            return None, end.value
        standby.go(work, waits_for, context, followers)
        return task, None


def first_step(
    loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], work: Work, context: contextvars.Context
) -> Any:
    """Begin `work` here and now, in the name of a task that waits: what it waits for first. Raises StopIteration with
    the result of a work that waits for nothing, and what it raises."""
    caller = current_task(loop)
    if caller is not None:
        _leave_task(loop, caller)
    _enter_task(loop, task)
    try:
        return context.run(work.send, None)
    finally:
        _leave_task(loop, task)
        if caller is not None:
            _enter_task(loop, caller)


def heard(done: asyncio.Future[Any]) -> None:
    """Mark a task's result as seen, so that asyncio does not complain of an error that nobody fetched."""
    if not done.cancelled():
        done.exception()


class SideTask:
    """Work that starts at once, and neither delays nor fails the code that starts it; `ended` tells how it went."""

    _task: asyncio.Task[Any] | None = None
    _error: BaseException | None = None

    def begin(self, starter: Starter, work: Coroutine[Any, Any, None]) -> None:
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


class _Standby:
    """A task that waits to be given the rest of a coroutine; until then, asyncio does not list it."""

    __slots__ = ("_given", "_work", "loop", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop, ready: list[_Standby]) -> None:
        self.loop = loop
        self._given: asyncio.Future[None] = loop.create_future()
        self._work: list[_Given] = []
        rest = _go_on(self._given, self._work, ready)
        rest.send(None)  # what was not begun could not catch a cancellation
        # not by the loop's task factory: those of tracing wrap what they are given, which nothing begun can be
        self.task: asyncio.Task[Any] = asyncio.Task(rest, loop=loop)
        self.task._log_destroy_pending = False  # type: ignore[attr-defined]
        asyncio.tasks._unregister_task(self.task)

    def go(self, work: Work, waits_for: Any, context: contextvars.Context, followers: Followers) -> None:
        """Continue `work`, which waits for `waits_for`."""
        asyncio.tasks._register_task(self.task)
        self._work.append((work, waits_for, context, followers))
        if not self._given.done():  # it is where the first step cancelled its own task
            self._given.set_result(None)


@types.coroutine
def _begun() -> Generator[None, None, None]:
    """Waits until the task takes its first step."""
    yield


async def _go_on(given: asyncio.Future[None], handed: list[_Given], ready: list[_Standby]) -> Any:
    cancelled: asyncio.CancelledError | None = None
    try:
        await _begun()
        await given
    except asyncio.CancelledError as early:
        # before the task had its turn: timers of uvloop come before what is ready, a timeout of no length anywhere,
        # and the first step may cancel its own task, as a group does whose first child fails at once
        if not handed:
            raise
        cancelled = early
    work, waits_for, context, followers = handed.pop()
    if cancelled is not None and waits_for is not None and waits_for.cancel(*cancelled.args[:1]):
        cancelled = None  # it reaches the work from there, as it reaches any task that waits
    if not ready:  # the next call finds one, made while this one waits
        ready.append(_Standby(given.get_loop(), ready))
    try:
        result = await steps(work, waits_for, context, cancelled)
        for one in followers:
            one(result)
        return result
    finally:  # an error holds the frames that it passed: what leads from one to it waits for the collector
        del work, waits_for, followers, cancelled


@types.coroutine
def steps(
    work: Work, waits_for: Any, context: contextvars.Context, thrown: BaseException | None = None
) -> Generator[Any, Any, Any]:
    """The steps after the first, in the call's context, passed on to the task that runs them. `thrown`: what ends the
    wait for `waits_for` at once."""
    stepped = False
    while True:
        sent = None
        try:
            # a bare `yield` waits only for the next turn, which comes with the task's own
            if thrown is None and (waits_for is not None or stepped):
                sent = yield waits_for
        except GeneratorExit:
            work.close()
            raise
        except BaseException as error:  # noqa: BLE001 - passed on to the coroutine
            thrown = error
        waits_for = None
        try:
            waits_for = context.run(work.send, sent) if thrown is None else context.run(work.throw, thrown)
        except StopIteration as end:
            return end.value
        finally:
            thrown = None
        stepped = True
