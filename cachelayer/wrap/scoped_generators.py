"""Generators that run, step by step, in a scope of their own instead of their reader's."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from typing import Any

from ..flow.readers import nothing
from ..keep.scope import Scope
from ..keep.scope_blocks import in_scope


class ScopedGenerator:
    """A plain generator, for `yield from`. `where`: makes the context of each step; `broke`: called if a step fails."""

    def __init__(
        self,
        chunks: Generator[Any, Any, Any],
        where: Callable[[], AbstractContextManager[None]],
        broke: Callable[[], object] = nothing,
    ) -> None:
        self._chunks, self._where, self._broke = chunks, where, broke

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        try:
            with self._where():
                return self._chunks.send(value)
        except Exception as fault:
            if not isinstance(fault, StopIteration):
                self._broke()
            raise

    def throw(self, fault: BaseException) -> Any:
        with self._where():
            return self._chunks.throw(fault)

    def close(self) -> None:
        with self._where():
            self._chunks.close()


async def scoped_async_generator(
    chunks: AsyncGenerator[Any, None],
    variable: ContextVar[Scope | None],
    scope: Scope | None,
    broke: Callable[[], object],
) -> AsyncIterator[Any]:
    """An asynchronous generator that is not cached, read in the scope of its call."""
    where, ended = partial(in_scope, variable, scope), object()
    try:
        while True:
            try:
                with where():
                    chunk = await anext(chunks, ended)
            except Exception:
                broke()
                raise
            if chunk is ended:
                return
            yield chunk
    finally:
        with where():
            await chunks.aclose()
