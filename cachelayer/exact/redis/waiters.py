"""What waits for a reply: a future, a callback that runs at once, or all the reads of one turn of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...errors import StoreFault
from ...flow.deadlines import Deadlines


class Waiter(Protocol):
    """Whoever waits for a reply: a future, or something that acts at once, before later pushes are seen."""

    def done(self) -> bool: ...
    def set_result(self, reply: Any, /) -> None: ...
    def set_exception(self, fault: Any, /) -> None: ...


NONSENSE = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
"""What reading a reply raises that is not of the form its command gives."""


class OutOfStep(StoreFault):
    """A reply that cannot be the one to what was asked: the connection is good for nothing more."""


def mistaken(wrong: Exception) -> OutOfStep:
    """What is told of a reply that could not be read."""
    return OutOfStep(f"Redis answered one question with the reply to another: {type(wrong).__name__}")


class Act:
    """A waiter that calls `act(reply)` in the order of the connection, then resolves `future`.

    The StoreFault that `act` raises becomes the future's. Where it cannot make sense of the reply, raises OutOfStep.
    """

    __slots__ = ("_act", "future")

    def __init__(self, loop: asyncio.AbstractEventLoop, act: Callable[[Any], None]) -> None:
        self._act = act
        self.future: asyncio.Future[Any] = loop.create_future()

    def done(self) -> bool:
        return False

    def set_result(self, reply: Any, /) -> None:
        try:
            self._act(reply)
        except StoreFault as fault:
            self.set_exception(fault)
        except NONSENSE as wrong:
            error = mistaken(wrong)
            self.set_exception(error)  # this one is no longer among those that wait
            raise error from wrong
        else:
            if not self.future.done():
                self.future.set_result(reply)

    def set_exception(self, fault: Any, /) -> None:
        if not self.future.done():
            self.future.set_exception(fault)
            self.future.exception()  # whoever no longer waits for it needs no warning


class Reads:
    """Reads of one kind: how long they may take, and what is made of the values."""

    def __init__(self, limit: Deadlines) -> None:
        self._limit = limit

    def sent(self, many: Many) -> None:
        """These reads are sent now: start their time limit."""
        self._limit.watch(many)

    def open(self, many: Many, values: Sequence[Any]) -> Sequence[Any]:
        """What the waiting callers get for the values; called once for all of one turn, so that each costs little."""
        return values


class Many:
    """Those who wait for the values of one MGET, or of a GET, in order. An error goes to all of them."""

    __slots__ = ("_done", "futures", "items", "reads", "since")

    def __init__(
        self,
        futures: list[asyncio.Future[Any]],
        items: list[Any],
        reads: Reads | None,
        done: Callable[[int], None],
    ) -> None:
        self.futures, self.items, self.reads, self._done = futures, items, reads, done
        self.since = 0
        """For `reads` to use."""

    def done(self) -> bool:
        """Whether the reply came, whether or not anybody still waits for it."""
        return not self.futures

    def set_result(self, reply: Any, /) -> None:
        futures = self.futures
        self._done(len(futures))
        values: Sequence[Any] = (
            reply if type(reply) is list and len(reply) == len(futures) else [reply] * len(futures)
        )
        if self.reads is not None:
            values = self.reads.open(self, values)
        self.futures = []  # whoever watches this holds no values
        for future, value in zip(futures, values, strict=True):
            if not future.done():
                future.set_result(value)

    def set_exception(self, fault: Any, /) -> None:
        for future in self.futures:
            if not future.done():
                future.set_exception(fault)
                future.exception()  # whoever no longer waits for it needs no warning
