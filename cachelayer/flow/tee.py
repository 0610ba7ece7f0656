"""The recording of a plain generator: whichever thread needs the next chunk pulls it, the others find it there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from .recording import Chunk


class Tee:
    """A generator shared by threads. See `Recording` for the callbacks."""

    def __init__(
        self,
        source: Iterator[Any],
        *,
        freeze: Callable[[Any], Chunk],
        limit: int,
        finish: Callable[[list[Chunk]], None],
        oversize: Callable[[], None],
        closed: Callable[[], None],
    ) -> None:
        self._source, self._freeze, self._limit = source, freeze, limit
        self._finish, self._oversize, self._closed = finish, oversize, closed
        self._lock = threading.Lock()
        self._chunks: list[Chunk] = []
        self._bytes = 0
        self._readers = 0
        self.complete = True
        self.ended = False
        self.error: BaseException | None = None

    def reader(self) -> Iterator[Any]:
        """A new reader, from the start: a generator whose `close` leaves the stream."""
        with self._lock:
            self._readers += 1
        return self._read()

    def _read(self) -> Iterator[Any]:
        at = 0
        try:
            while True:
                with self._lock:
                    if at >= len(self._chunks) and not self.ended:
                        self._pull()
                    if at >= len(self._chunks):
                        break
                    chunk = self._chunks[at]
                at += 1
                yield chunk.answer()
            if self.error is not None:
                raise self.error
        finally:
            self._leave()

    def _pull(self) -> None:
        try:
            item = next(self._source)
        except StopIteration:
            self.ended = True
            if self.complete:
                self._finish(self._chunks)
            self._closed()
            return
        except BaseException as error:
            self.ended, self.error = True, error
            self._closed()
            raise
        chunk = self._freeze(item)
        self._chunks.append(chunk)
        self._bytes += chunk.nbytes
        if self.complete and self._bytes > self._limit:
            self.complete = False
            self._oversize()

    def _leave(self) -> None:
        with self._lock:
            self._readers -= 1
            if self._readers == 0 and not self.ended:
                self.ended = True
                self._closed()
                close = getattr(self._source, "close", None)
                if close is not None:
                    close()


def replay(chunks: tuple[Chunk, ...]) -> Iterator[Any]:
    """A stored stream, played again."""
    for chunk in chunks:
        yield chunk.answer()
