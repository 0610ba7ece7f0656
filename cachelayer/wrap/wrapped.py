"""The types that editors and type checkers see: of a wrapped function, and of the options of `cached` and `wrap`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypedDict, TypeVar, overload

from ..durations import Duration
from ..keep.call import Function
from ..path.explain import Explanation
from ..policy import Budgets, Normalize, Trace
from ..types import Outcome

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
T = TypeVar("T")
"""The class that a method lives in."""
A = TypeVar("A")
"""The answer of a coroutine function, once awaited."""
C = TypeVar("C", bound=Coroutine[Any, Any, Any])
"""What calling a coroutine function gives, for checkers: to Pyright a narrower class than `Coroutine`."""
R_co = TypeVar("R_co", covariant=True)


class Encoding(Protocol):
    """What `codec` takes: turns answers into bytes for a store, and bytes into answers."""

    def encode(self, value: Any, /) -> bytes: ...
    def decode(self, data: bytes, /) -> Any: ...


class Options(TypedDict, total=False):
    """The options of `cached` and `wrap`, explained there; after them the fields of `Policy`."""

    name: str | None
    version: str | float
    text: str | Callable[..., Any] | None
    vector: Callable[..., Any]
    tags: Iterable[str]
    ignore: Iterable[str]
    vary: Iterable[Callable[[], Any] | ContextVar[Any]]
    key: Callable[..., Any] | None
    self_key: str | Iterable[str] | Callable[[Any], Any] | None
    share_self: bool
    share: bool
    view: Callable[[Any], Any] | None
    judge: Callable[[str, str], bool | Awaitable[bool]] | None
    codec: Encoding | None

    ttl: Duration | Callable[[Any], Duration]
    ttl_jitter: float
    stale_while_revalidate: Duration
    stale_if_error: Duration
    refresh_ahead: bool
    max_bytes: int
    max_item_bytes: int
    semantic: bool | Literal["auto"]
    max_error_rate: float
    shadow: float | Literal["auto"]
    shadow_limit: int
    fresh: Literal["auto", "bypass", "off"] | Callable[[str], bool]
    fresh_ttl: Duration
    quarantine: int
    write_quota: int
    budgets: Budgets
    sampled: bool
    variants: int
    normalize: Normalize
    cache_if: Callable[[Any], bool] | None
    pure: bool
    keep_truncated: bool
    rider_wait: Duration
    flight_age: Duration
    record: Trace | str | Path | None


class Called(Protocol[P, R_co]):
    """A wrapped function as it is called."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


if TYPE_CHECKING:
    # Checkers do not tell methods from class methods and static ones; the type of the first parameter does.
    # mypy (for which alone MYPY is true) infers it only from a Callable, Pyright only from a protocol.
    MYPY = False
    if MYPY:  # noqa: SIM108
        Taking = Callable[Concatenate[T, Q], R]
    else:
        Taking = Called[Concatenate[T, Q], R]


class CachedAwaited(Protocol[P, R_co]):
    """A wrapped function that is awaited, with what it offers beside being called; also `aio` of a plain one.

    `outcome`: the answer and how it came to be. `refresh`: the backend's answer, which replaces the stored one.
    `bypass`: the backend's answer; nothing is read or stored.
    """

    __name__: str
    function: Function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    async def outcome(
        self: CachedAwaited[P, Coroutine[Any, Any, A]], *args: P.args, **kwargs: P.kwargs
    ) -> Outcome[A]: ...
    @overload
    async def outcome(self, *args: P.args, **kwargs: P.kwargs) -> Outcome[R_co]: ...
    @overload
    async def refresh(
        self: CachedAwaited[P, Coroutine[Any, Any, A]], *args: P.args, **kwargs: P.kwargs
    ) -> A: ...
    @overload
    async def refresh(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    async def bypass(
        self: CachedAwaited[P, Coroutine[Any, Any, A]], *args: P.args, **kwargs: P.kwargs
    ) -> A: ...
    @overload
    async def bypass(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    async def invalidate(self, *args: P.args, **kwargs: P.kwargs) -> int:
        """Forget this call's answer, in all its variants; returns how many entries went."""

    async def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Why this call would hit or miss now; changes nothing and calls no backend."""


class CachedAsync(CachedAwaited[P, R], Protocol[P, R]):
    """A wrapped function that is awaited, or whose asynchronous iterator is read."""

    @overload
    def __get__(  # type: ignore[misc]
        self: Taking[type[T], Q, R], instance: T | None, owner: type[T]
    ) -> CachedAsync[Q, R]: ...
    @overload
    def __get__(self, instance: None, owner: type) -> CachedAsync[P, R]: ...
    @overload
    def __get__(self: Taking[T, Q, R], instance: T, owner: type | None = None) -> CachedAsync[Q, R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> CachedAsync[P, R]: ...


class CachedPlain(Protocol[P, R]):
    """A wrapped plain function; `aio` is the same to await (the function then runs in a thread)."""

    __name__: str
    function: Function
    aio: CachedAwaited[P, Coroutine[Any, Any, R]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __get__(  # type: ignore[misc]
        self: Taking[type[T], Q, R], instance: T | None, owner: type[T]
    ) -> CachedPlain[Q, R]: ...
    @overload
    def __get__(self, instance: None, owner: type) -> CachedPlain[P, R]: ...
    @overload
    def __get__(self: Taking[T, Q, R], instance: T, owner: type | None = None) -> CachedPlain[Q, R]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> CachedPlain[P, R]: ...
    def outcome(self, *args: P.args, **kwargs: P.kwargs) -> Outcome[R]:
        """The answer and how it came to be."""

    def invalidate(self, *args: P.args, **kwargs: P.kwargs) -> int:
        """Forget this call's answer, in all its variants; returns how many entries went."""

    def refresh(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The backend's answer, which replaces the stored one, or all its variants."""

    def bypass(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The backend's answer; nothing is read or stored."""

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Why this call would hit or miss now; changes nothing and calls no backend."""


class Decorator(Protocol):
    """What `layer.cached(...)` returns, for type checkers."""

    @overload
    def __call__(self, fn: Callable[P, C], /) -> CachedAsync[P, C]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: Callable[P, AsyncIterator[R]], /) -> CachedAsync[P, AsyncIterator[R]]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: Callable[P, R], /) -> CachedPlain[P, R]: ...
    def __call__(self, fn: Any, /) -> Any: ...
