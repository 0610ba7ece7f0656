"""The types that editors and type checkers see of a wrapped function."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from ..keep.call import Function
from ..path.explain import Explanation
from ..types import Outcome

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
C = TypeVar("C", bound=Coroutine[Any, Any, Any])
"""What a coroutine function gives, as checkers see it: to Pyright it is of a narrower class than `Coroutine`."""
R_co = TypeVar("R_co", covariant=True)


class CachedAwaited(Protocol[P, R_co]):
    """What can be asked of a wrapped function that is awaited; `aio` of a plain one."""

    __name__: str
    function: Function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    async def outcome(self, *args: P.args, **kwargs: P.kwargs) -> Outcome: ...
    async def invalidate(self, *args: P.args, **kwargs: P.kwargs) -> int: ...
    async def refresh(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    async def bypass(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    async def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation: ...


class CachedAsync(CachedAwaited[P, R], Protocol[P, R]):
    """A wrapped function that is awaited, or whose asynchronous iterator is read."""

    @overload
    def __get__(self, instance: None, owner: type) -> CachedAsync[P, R]: ...
    @overload
    def __get__(
        self: CachedAsync[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> CachedAsync[Q, R]: ...


class CachedPlain(Protocol[P, R]):
    """A wrapped plain function; `aio` is the same for coroutines (the function runs in a thread)."""

    __name__: str
    function: Function
    aio: CachedAwaited[P, Coroutine[Any, Any, R]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __get__(self, instance: None, owner: type) -> CachedPlain[P, R]: ...
    @overload
    def __get__(
        self: CachedPlain[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> CachedPlain[Q, R]: ...
    def outcome(self, *args: P.args, **kwargs: P.kwargs) -> Outcome: ...
    def invalidate(self, *args: P.args, **kwargs: P.kwargs) -> int: ...
    def refresh(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def bypass(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...
    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation: ...


class Decorator(Protocol):
    """What `layer.cached(...)` returns, for type checkers."""

    @overload
    def __call__(self, fn: Callable[P, C], /) -> CachedAsync[P, C]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: Callable[P, AsyncIterator[R]], /) -> CachedAsync[P, AsyncIterator[R]]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: Callable[P, R], /) -> CachedPlain[P, R]: ...
    def __call__(self, fn: Any, /) -> Any: ...
