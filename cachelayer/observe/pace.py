"""How a stream reaches its reader: time to the first piece, gaps between pieces, time to the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import Any

from ..flow.readers import Closable, PlainReader
from ..flow.relay import Hand, pass_on
from .stats import FunctionStats

Clock = Callable[[], float]
"""Monotonic seconds."""


class _Meter:
    """The times of one reader; counted for the function at the stream's end, however it ends.

    A reader whose waiting was cancelled may come back, as one who sends a sign of life between two pieces does.
    """

    __slots__ = ("_arrived", "_first", "_gaps", "_head", "_last", "_now", "_reported", "_result", "_stats")

    def __init__(self, stats: FunctionStats, result: str, arrived: float, now: Clock) -> None:
        self._stats, self._result, self._arrived, self._now = stats, result, arrived, now
        self._head = stats.headed
        self._first: float | None = None
        self._last = arrived
        self._gaps: list[float] = []
        self._reported = False
        """Whether the first piece's time was counted."""

    def piece(self) -> None:
        """A piece was handed over."""
        if self._head:
            self._head = False
            return
        now = self._now()
        if self._first is None:
            self._first = now - self._arrived
        elif len(self._gaps) < 4096:
            self._gaps.append(now - self._last)
        self._last = now

    def end(self, *, whole: bool) -> None:
        """The stream is over, or its reader was cancelled: `whole` where its end was reached."""
        stats = self._stats
        if self._first is None:
            return
        if not self._reported:
            self._reported = True
            stats.tell("first_token", self._result, [self._first])
        if self._gaps:
            stats.tell("token_gap", self._result, self._gaps)
            self._gaps = []
        if whole:
            stats.tell("stream", self._result, [self._now() - self._arrived])
            self._first = None


class PacedStream(Closable):
    """An asynchronous reader, timed as its caller sees it. Closing it closes the reader behind it."""

    __slots__ = ("_inner", "_meter")

    def __init__(self, inner: Any, stats: FunctionStats, result: str, arrived: float, now: Clock) -> None:
        self._inner, self._meter = inner, _Meter(stats, result, arrived, now)

    async def __anext__(self) -> Any:
        try:
            piece = await self._inner.__anext__()
        except BaseException as end:
            self._meter.end(whole=isinstance(end, StopAsyncIteration))
            raise
        self._meter.piece()
        return piece

    async def pass_on(self, hand: Hand) -> None:
        """`hand` over what is left of the stream, and leave. Raises what the stream raises, and what `hand` raises."""

        def timed(piece: Any) -> Coroutine[Any, Any, None]:
            self._meter.piece()
            return hand(piece)

        try:
            await pass_on(self._inner, timed)
        except BaseException:
            self._meter.end(whole=False)
            raise
        self._meter.end(whole=True)

    async def aclose(self) -> None:
        """Leave the stream."""
        self._meter.end(whole=False)
        await self._inner.aclose()


def timed(answer: Any, stats: FunctionStats, result: str, arrived: float, now: Clock) -> Any:
    """A stream's reader that tells how it was paced; what is no stream comes back as it is."""
    if isinstance(answer, AsyncIterator):
        return PacedStream(answer, stats, result, arrived, now)
    if isinstance(answer, Iterator):
        return PlainReader(_paced(answer, stats, result, arrived, now))
    return answer


def _paced(
    inner: Iterator[Any], stats: FunctionStats, result: str, arrived: float, now: Clock
) -> Generator[Any, None, Any]:
    """A plain reader, timed as its caller sees it."""
    meter, whole = _Meter(stats, result, arrived, now), False
    try:
        while True:
            try:
                piece = next(inner)
            except StopIteration as end:
                whole = True
                return end.value
            meter.piece()
            yield piece
    finally:
        meter.end(whole=whole)
        close = getattr(inner, "close", None)
        if close is not None:
            close()
