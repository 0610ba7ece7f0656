"""Streams of the `openai` client that may come from the cache, with what users of the client's own call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any


class AsyncStream(AsyncIterator[Any]):
    """Chunks, recorded or replayed, with what users of `openai.AsyncStream` call."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    @property
    def response(self) -> AsyncStream:
        """What the client's own helpers close where a stream has a response of the server."""
        return self

    async def __anext__(self) -> Any:
        return await self._chunks.__anext__()

    async def close(self) -> None:
        """Leave the stream."""
        await self._chunks.aclose()

    aclose = close

    async def __aenter__(self) -> AsyncStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


class Stream(Iterator[Any]):
    """The same for `openai.Stream`."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    @property
    def response(self) -> Stream:
        """What the client's own helpers close where a stream has a response of the server."""
        return self

    def __next__(self) -> Any:
        return next(self._chunks)

    def close(self) -> None:
        """Leave the stream."""
        self._chunks.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def stream(answer: Any) -> Any:
    """An answer of a plain client: a stream where it is one."""
    return Stream(answer) if isinstance(answer, Iterator) else answer
