"""One call in the air, and what becomes of a stream that it landed with."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from .loops import Waiter
from .reentrancy import Made


class Flight:
    """One call in the air and those who wait for it."""

    task: asyncio.Task[Any] | None = None
    waiters: dict[Waiter, asyncio.AbstractEventLoop | None] | None
    """None before anybody waits, and once nobody does any more."""
    landed = error = False
    trace: TracebackType | None = None
    """The traceback of a failed call, without the frames in which riders raised it again."""
    result: Any = None

    def __init__(
        self,
        born: float,
        loop: asyncio.AbstractEventLoop | None,
        proof: bytes,
        made: Made,
        first: Waiter | None = None,
    ) -> None:
        """`first` waits for it before anybody can join it, and leave it as the last."""
        self.born, self.loop, self.proof, self.made = born, loop, proof, made
        self.waiters, self.first = None if first is None else {first: loop}, first

    def unread(self, *, woken: bool = False) -> None:
        """A rider left before it read a live stream, or was `woken` and may not read it: close the source if nobody
        else reads; of one that was woken, if nobody has begun to.

        That is decided in the next turn of the loop, when the riders woken in this one have begun to read. A flight
        without a loop needs none of this: its leader waits for nobody.
        """
        recording = getattr(self.result, "recording", None)
        if recording is not None and self.loop is not None:
            self.loop.call_soon(_unread_by_all if woken else _unread, recording)


def joinable(result: Any) -> bool:
    """Whether it is a live stream of this flight's own: one lent by another flight, whose end closes that one, is
    joined there."""
    return getattr(result, "recording", None) is not None and not getattr(result, "lent", False)


def _unread(recording: Any) -> None:
    recording.leave(0)


def _unread_by_all(recording: Any) -> None:
    if not recording.readers:
        recording.leave(0)
