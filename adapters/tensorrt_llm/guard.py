"""The laws of the event sequence and the deadline, enforced once for every transport."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType

from .errors import Cancelled, DeadlineExceeded, Interrupted, ProtocolFault, Unavailable
from .events import COMPLETE, Delta, End, Event, Transport, weakest
from .request import Request


class Deadline:
    """Interrupts the await it wraps when the loop's time passes `when`.

    One timer serves a whole stream, where `asyncio.timeout` would arm one per token. It cancels the task that
    waits at that moment; between waits it only remembers.
    """

    __slots__ = ("_handle", "_task", "expired", "when")

    def __init__(self, when: float) -> None:
        self.when = when
        self.expired = False
        self._task: asyncio.Task[object] | None = None
        self._handle = asyncio.get_running_loop().call_at(when, self._expire)

    def _expire(self) -> None:
        self.expired = True
        if self._task is not None:
            self._task.cancel()

    def __enter__(self) -> None:
        if self.expired:
            raise DeadlineExceeded("the request's deadline passed")
        self._task = asyncio.current_task()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if self.expired and task is not None and task.uncancel() <= 0 and kind is asyncio.CancelledError:
            raise DeadlineExceeded("the request's deadline passed") from error

    def close(self) -> None:
        self._handle.cancel()


async def guarded(
    transport: Transport, request: Request, ready: Callable[[Request], Awaitable[object]]
) -> AsyncGenerator[Event, None]:
    """The transport's events once `ready(request)` returned, seen to be Start, Delta*, Usage?, End.

    `timeout` and `cancelled` as finish reasons, a break in the stream, a missing end: all become errors, so
    that what reaches End is a complete answer. Closing the generator closes the transport's."""
    limit = None if request.deadline is None else Deadline(request.deadline)
    finish = Finish(request)
    begun = False
    events = transport.events(request)
    try:
        if limit is None:
            await ready(request)
        else:
            with limit:
                await ready(request)
        while True:
            try:
                if limit is None:
                    event = await anext(events)
                else:
                    with limit:
                        event = await anext(events)
            except StopAsyncIteration:
                raise ProtocolFault("the transport ended without an end event") from None
            if type(event) is Delta:
                begun = True
                finish.saw(event)
            elif type(event) is End:
                yield finish.end()
                return
            yield event
    except Unavailable as error:
        if begun and request.stream:
            raise Interrupted(f"the stream broke after its first delta: {error}") from error
        raise
    finally:
        if limit is not None:
            limit.close()
        await events.aclose()


class Finish:
    """Whether every choice of an answer came to an end that means a complete one."""

    __slots__ = ("_choices", "_reasons")

    def __init__(self, request: Request) -> None:
        self._choices = request.choices
        self._reasons: dict[int, str] = {}

    def saw(self, delta: Delta) -> None:
        """Raises DeadlineExceeded, Cancelled or ProtocolFault for a reason that speaks of something else."""
        reason = delta.finish_reason
        if reason is None:
            return
        if reason == "timeout":
            raise DeadlineExceeded("the engine ended the request: timeout")
        if reason == "cancelled":
            raise Cancelled("the server ended the request: cancelled")
        if reason not in COMPLETE:
            raise ProtocolFault(f"finish_reason={reason!r} is not known to mean a complete answer")
        self._reasons[delta.index] = reason

    def end(self) -> End:
        """The end, with the weakest of the reasons. Raises Unavailable if a choice has none."""
        missing = self._choices - len(self._reasons)
        if missing > 0:
            raise Unavailable(f"{missing} of {self._choices} choices never finished")
        return End(weakest(list(self._reasons.values())))
