"""Entering a scope: whose the calls inside a `with` block are, and an error if the block did not cover them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

from ..errors import ConfigurationError
from ..policy import NOT_TIGHTENED
from .scope import Scope, enclosing

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])
ELSEWHERE = (
    "it did not cover the calls in between, which may have shared answers with everybody; enter it where they are made "
    "(FastAPI runs a dependency in the request's context only if it is `async def`)"
)


@contextmanager
def entered(variable: ContextVar[Scope | None], scope: Scope) -> Iterator[None]:
    """Set `scope` for the calls inside. Raises ConfigurationError if the block ends in another context, but well."""
    build = enclosing(scope)
    simple = scope.deadline is None and scope.tightening == NOT_TIGHTENED
    token = variable.set(scope._replace(build=build, direct=simple))
    well = False
    try:
        yield
        well = True
    finally:
        try:
            variable.reset(token)
        except ValueError:  # must not cover an error of the block, or the end of an abandoned generator
            if well:
                raise ConfigurationError(
                    "scope", "left in another context than entered in", ELSEWHERE
                ) from None


class Block(AbstractContextManager[None]):
    """For `with`, and to decorate a function, which is then covered by a block of its own at each call."""

    def __init__(self, make: Callable[[], AbstractContextManager[None]]) -> None:
        self._make = make

    def __enter__(self) -> None:
        self._entered = self._make()
        self._entered.__enter__()

    def __exit__(self, *exc: Any) -> bool | None:
        return self._entered.__exit__(*exc)

    def __call__(self, fn: F) -> F:
        """`fn` inside the block until it returns, also where it is async. Raises ConfigurationError for a generator."""
        if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
            raise ConfigurationError(
                "fn", fn, "a generator goes on in its caller's context: open it around the calls"
            )

        def covered(*args: Any, **kwargs: Any) -> Any:
            with self._make():
                return fn(*args, **kwargs)

        async def acovered(*args: Any, **kwargs: Any) -> Any:
            with self._make():
                return await fn(*args, **kwargs)

        return cast(F, wraps(fn)(acovered if inspect.iscoroutinefunction(fn) else covered))


def covering(make: Callable[P, Iterator[None]]) -> Callable[P, Block]:
    """`contextlib.contextmanager`, but a coroutine function that is decorated is covered until it has ended, too."""
    begun = contextmanager(make)

    @wraps(make)
    def block(*args: P.args, **kwargs: P.kwargs) -> Block:
        return Block(lambda: begun(*args, **kwargs))

    return block


@lru_cache(4096)
def _scope_of(tenant: str | None, credentials: bytes) -> Scope:
    return Scope(tenant, credentials.hex())


class Entered:
    """For `with`: calls inside belong to a caller whose identity a transport has checked.

    Does what `CacheLayer.scope` does, at a fifth of its cost; a tenant of None keeps the outer scope's tenant.
    """

    __slots__ = ("_scope", "_token", "_var")

    def __init__(self, var: ContextVar[Scope | None], tenant: str | None, credentials: bytes) -> None:
        self._var, old = var, var.get()
        self._scope = alone = _scope_of(tenant, credentials)
        if old is None:
            return
        tenant = tenant or old.tenant
        build = enclosing(old)
        simple = old.deadline is None and old.tightening is NOT_TIGHTENED
        self._scope = old._replace(tenant=tenant, principal=alone.principal, build=build, direct=simple)

    def __enter__(self) -> None:
        self._token = self._var.set(self._scope)

    def __exit__(self, *exc: object) -> None:
        self._var.reset(self._token)
