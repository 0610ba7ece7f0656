"""What readers of a stream hold: of a live recording, or of a stored one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import suppress
from typing import Any, Protocol, Self

from ..errors import CacheLayerError
from .relay import Hand

_LAST = 16
"""Chunks over which a word that ends a stream may be spread."""


class StreamOverrun(CacheLayerError):
    """This reader of a shared stream fell too far behind the others for too long."""


class Chunk(Protocol):
    """A frozen chunk: each reader gets a chunk made from it, so that no reader's changes reach another."""

    @property
    def nbytes(self) -> int: ...

    def answer(self) -> Any: ...


class Source(Protocol):
    """A recording as its readers see it; each reader has a number."""

    complete: bool
    error: BaseException | None

    async def take(self, reader: int) -> Any: ...
    async def pass_on(self, reader: int, hand: Hand) -> None: ...
    def leave(self, reader: int) -> None: ...
    def lost(self, reader: int) -> None: ...


class Closable(AsyncIterator[Any]):
    """A stream that is left by `aclose`, by `close` (like clients' streams), or at the end of an `async with`."""

    __slots__ = ()

    async def aclose(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        """`aclose`."""
        await self.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


class Reader(Closable):
    """One rider's view of a recording: an async iterator that can be closed early."""

    __slots__ = ("__weakref__", "_id", "_recording")

    def __init__(self, recording: Source, reader: int) -> None:
        self._recording: Source | None = recording
        self._id = reader

    async def __anext__(self) -> Any:
        recording = self._recording
        if recording is None:
            raise StopAsyncIteration
        try:
            return await recording.take(self._id)
        except BaseException as end:
            # whose own task is cancelled may read on
            if not isinstance(end, asyncio.CancelledError) or end is recording.error:
                self._detach()
            del recording  # which leads to an error that holds this frame
            raise

    async def pass_on(self, hand: Hand) -> None:
        """`hand` over what is left of the stream, and leave. Raises the source's error, and what `hand` raises."""
        if self._recording is not None:
            try:
                await self._recording.pass_on(self._id, hand)
            finally:
                self._detach()

    async def aclose(self) -> None:
        """Leave the stream; the source goes on for the others."""
        self._detach()

    def _detach(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.leave(self._id)

    def __del__(self) -> None:
        if self._recording is not None:
            self._recording.lost(self._id)


class Replay(Closable):
    """A stored stream, replayed; or chunks that already belong to the reader."""

    __slots__ = ("_chunks",)

    def __init__(self, chunks: Iterable[Any]) -> None:
        self._chunks = iter(chunks)

    async def __anext__(self) -> Any:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop the replay."""
        self._chunks = iter(())


class PlainReader(Generator[Any, Any, Any]):
    """The chunks of a generator, for a plain caller, who may also leave them at the end of a `with`, as those of
    clients' streams."""

    __slots__ = ("__weakref__", "_chunks")

    def __init__(self, chunks: Generator[Any, Any, Any]) -> None:
        self._chunks = chunks

    def __next__(self) -> Any:
        return next(self._chunks)

    def send(self, value: Any) -> Any:
        return self._chunks.send(value)

    def throw(self, *fault: Any) -> Any:
        return self._chunks.throw(*fault)

    def close(self) -> None:
        """Leave the stream."""
        self._chunks.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


async def close(source: Any) -> None:
    """Leave a source by its `aclose`, or by an asynchronous `close`, as clients' streams name it."""
    aclose = getattr(source, "aclose", None)
    if aclose is None and inspect.iscoroutinefunction(closing := getattr(source, "close", None)):
        aclose = closing
    if aclose is not None:
        await aclose()


def said_all(source: Any, chunks: Iterable[Chunk]) -> bool:
    """Whether a source has said all, though it has not ended: OpenAI's client, for one, leaves at that point."""
    said = getattr(source, "said_all", None)
    return said is not None and said([chunk.answer() for chunk in list(chunks)[-_LAST:]])


async def read_off(recording: Source, reader: Reader) -> None:
    """Read on, on nobody's behalf, to the end or as far as the stream is kept."""
    async with reader:
        with suppress(Exception):  # nobody's, who has a stale answer
            async for _ in reader:
                if not recording.complete:
                    return


def nothing(*_: Any) -> Any:
    return None
