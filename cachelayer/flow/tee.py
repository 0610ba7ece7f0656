"""The recording of a plain generator: whichever thread needs the next chunk pulls it; the others find it recorded."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from types import TracebackType
from typing import Any

from .background import offload
from .readers import Chunk, PlainReader, StreamOverrun, nothing
from .reentrancy import Alone


class Tee:
    """A generator shared by threads. See `Recording` for the callbacks; `finish` is told what the generator returned,
    too, which its readers return."""

    def __init__(
        self,
        source: Iterator[Any],
        *,
        freeze: Callable[[Any], Chunk],
        limit: int,
        finish: Callable[[list[Chunk], Any], None],
        oversize: Callable[[], None],
        closed: Callable[[], None],
    ) -> None:
        self._source, self._freeze, self._limit = source, freeze, limit
        self._finish, self._oversize, self._closed = finish, oversize, closed
        self._lock = threading.RLock()  # never held while the source is waited for; see `SingleFlight`
        self._news = threading.Condition(self._lock)
        self._pulling = False  # whether a reader waits for the source
        self._waiting = 0  # readers that wait for that one
        self._chunks: deque[Chunk] = deque()
        self._first = 0  # position of _chunks[0] in the stream
        self._end = 0  # position past the last chunk
        self._bytes = 0
        self._positions: dict[int, int] = {}
        self._next_reader = 0
        self.complete = True
        self.ended = self._deserted = self._left = False  # `_left`: by all, before its end
        self.went_on = False  # whether chunks came after a reader had left
        self.error: BaseException | None = None
        self._trace: TracebackType | None = None  # of the source: no reader sees where the others were
        self._here = copy_context()  # whose the source's calls are, and for which answer, whoever pulls
        self._returned: Any = None

    @property
    def readers(self) -> int:
        """How many readers there have been so far."""
        return self._next_reader

    def reader(self) -> PlainReader:
        """A new reader, from the start, whose `close` leaves the stream. Raises Alone where the start is gone."""
        with self._lock:
            if self._first or self._left:
                raise Alone
            self._next_reader += 1
            self._positions[self._next_reader] = 0
            reader = self._read(self._next_reader)
        next(reader)  # one that is dropped unread leaves as any other
        return PlainReader(reader)

    def failed_at_once(self) -> bool:
        """Whether the source fails before its first chunk; pulls that chunk, before there are readers."""
        with suppress(Exception):  # its readers' to raise
            self._pull()
        return self.error is not None

    def read_off(self) -> Callable[[], Coroutine[Any, Any, None]]:
        """The work of reading on, on nobody's behalf, to the end or as far as is kept; in a thread."""
        return partial(offload, partial(_read_off, self, self.reader()))

    def _read(self, reader: int) -> Generator[Any, None, Any]:
        try:
            yield None
            while (chunk := self._next(reader)) is not None:
                yield chunk.answer()
            if self.error is not None:
                raise self.error.with_traceback(self._trace)
            return self._returned
        finally:
            self.leave(reader)
            del self

    def _next(self, reader: int) -> Chunk | None:
        """The reader's next chunk, None after the last. Of those who have had all that there is one pulls the next."""
        with self._lock:
            while self._positions[reader] == self._end and self._pulling:
                self._waiting += 1
                self._news.wait()
                self._waiting -= 1
            if self._positions[reader] < self._end:
                return self._taken(reader)
            if self.ended:
                return None
            self._pulling = True
        chunk = None
        try:
            chunk = self._pull()
        finally:
            with self._lock:
                self._pulling = False
                if chunk is not None:
                    self._positions[reader] += 1
                    if not self.complete:
                        self._trim()
                if self._waiting:
                    self._news.notify_all()
            del self
        return chunk

    def _taken(self, reader: int) -> Chunk:
        """The reader's next chunk, which is there. Under the lock."""
        chunk = self._chunks[self._positions[reader] - self._first]
        self._positions[reader] += 1
        if not self.complete:
            self._trim()
        return chunk

    def _trim(self) -> None:
        """Forget what all readers have had and no new reader will need. Under the lock."""
        slowest = min(self._positions.values(), default=self._first)
        while self._first < slowest:
            self._chunks.popleft()
            self._first += 1

    def _pull(self) -> Chunk | None:
        """The source's next chunk, recorded; None if it ended."""
        try:
            item = self._here.run(next, self._source)
        except StopIteration as end:
            self.ended, self._returned = True, end.value
            if self.complete:
                self._finish(list(self._chunks), end.value)
            self._over()
            return None
        except BaseException as error:
            self.ended, self.error, self._trace = True, error, error.__traceback__
            self._over()
            del self  # which leads to an error that holds this frame; so below
            raise
        chunk = self._freeze(item)
        self.went_on = self._deserted
        self._chunks.append(chunk)
        self._end += 1
        self._bytes += chunk.nbytes
        if self.complete and self._bytes > self._limit:
            self.complete = False
            self._oversize()
        return chunk

    def _over(self) -> None:
        self._closed()
        # what is called holds what holds this tee: no cycle is left to the collector
        self._freeze = self._finish = self._oversize = self._closed = nothing

    def leave(self, reader: int) -> None:
        """A reader is gone; when the last one leaves, the source is closed."""
        with self._lock:
            self._deserted = True
            self._positions.pop(reader, None)
            if self._positions or self.ended:
                return
            self.ended = self._left = True
            self.complete = False
            self.error = StreamOverrun("everybody else left this shared stream before its end: ask again")
        self._over()
        close = getattr(self._source, "close", None)
        if close is not None:
            self._here.run(close)


def _read_off(tee: Tee, reader: Iterator[Any]) -> None:
    with suppress(Exception):  # nobody's, who has a stale answer
        for _ in reader:
            if not tee.complete:
                return
