"""Generators that are passed on uncached, step by step in the scope of their call; recorded ones run there anyway."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

from ..keep.entered import as_called
from ..keep.scope import Scope


class Passed:
    """A plain one, for `yield from`."""

    def __init__(
        self, chunks: Generator[Any, Any, Any], variable: ContextVar[Scope | None], scope: Scope | None
    ) -> None:
        self._chunks, self._where = chunks, partial(as_called, variable, scope)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        with self._where():
            return self._chunks.send(value)

    def throw(self, fault: BaseException) -> Any:
        with self._where():
            return self._chunks.throw(fault)

    def close(self) -> None:
        with self._where():
            self._chunks.close()


async def passed(
    chunks: AsyncGenerator[Any, None], variable: ContextVar[Scope | None], scope: Scope | None
) -> AsyncIterator[Any]:
    """An asynchronous one, which is only read."""
    where, ended = partial(as_called, variable, scope), object()
    try:
        while True:
            with where():
                chunk = await anext(chunks, ended)
            if chunk is ended:
                return
            yield chunk
    finally:
        with where():
            await chunks.aclose()
