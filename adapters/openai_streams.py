"""Streams of the `openai` client that may come from the cache, with what users of the client's own call.

They are of the client's classes, too: frameworks tell streams from whole answers by that.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

import openai


class AsyncStream(openai.AsyncStream[Any]):
    """Chunks, recorded or replayed."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    @property
    def response(self) -> Self:  # type: ignore[override]
        """What the client's own helpers close where a stream has a response of the server."""
        return self

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await self._chunks.__anext__()

    async def close(self) -> None:
        """Leave the stream."""
        await self._chunks.aclose()

    aclose = close


class Stream(openai.Stream[Any]):
    """The same of a plain client."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    @property
    def response(self) -> Self:  # type: ignore[override]
        """What the client's own helpers close where a stream has a response of the server."""
        return self

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._chunks)

    def close(self) -> None:
        """Leave the stream."""
        self._chunks.close()


def stream(answer: Any) -> Any:
    """An answer of a plain client: a stream where it is one."""
    return Stream(answer) if isinstance(answer, Iterator) else answer
