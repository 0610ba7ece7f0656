"""Streams of the `openai` client that may come from the cache, with what users of the client's own call, and what of
an answer is its caller's own.

They are of the client's classes, too: frameworks tell streams from whole answers by that.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Self

import openai

_NONE: dict[str, Any] = {"metadata": {}, "user": None, "safety_identifier": None, "prompt_cache_key": None}
"""What the Responses API repeats of a request that is no part of its key, and what of one that says nothing."""
Own = Callable[[Any], Any]
"""Makes of a chunk the caller's own."""


class _Chunks:
    """The chunks of a stream, recorded or replayed."""

    def __init__(self, chunks: Any, own: Own) -> None:
        self._chunks, self._own = chunks, own

    @property
    def response(self) -> Self:
        """What the client's own helpers close where a stream has a response of the server."""
        return self


class AsyncStream(_Chunks, openai.AsyncStream[Any]):  # type: ignore[misc]
    """A stream of an asynchronous client."""

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return self._own(await self._chunks.__anext__())

    async def close(self) -> None:
        """Leave the stream."""
        await self._chunks.aclose()

    aclose = close


class Stream(_Chunks, openai.Stream[Any]):  # type: ignore[misc]
    """A stream of a plain client."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._own(next(self._chunks))

    def close(self) -> None:
        """Leave the stream."""
        self._chunks.close()


def own(answer: Any, body: Mapping[str, Any]) -> Any:
    """An answer of the Responses API, or an event of its stream, as it repeats `body` and no other caller's request."""
    inner = getattr(answer, "response", None)
    if inner is not None:
        repeated = own(inner, body)
        return answer if repeated is inner else answer.model_copy(update={"response": repeated})
    told = getattr(answer, "model_fields_set", ())
    others = {}
    for name in _NONE.keys() & told:
        given = body.get(name) or _NONE[name]  # `omit` is false, too
        if getattr(answer, name) != given:
            others[name] = given
    return answer.model_copy(update=others) if others else answer
