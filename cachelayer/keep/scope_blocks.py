"""Blocks that set a scope: whose the calls inside a `with` are, and an error if the block did not cover them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import lru_cache

from ..errors import ConfigurationError
from ..policy import NOT_TIGHTENED
from .scope import Block, Scope, enclosing, left

ELSEWHERE = (
    "it did not cover the calls in between, which may have shared answers with everybody; enter it where they are made "
    "(FastAPI runs a dependency in the request's context only if it is `async def`)"
)
AGAIN = "one serves one block at a time: write layer.scope(...) or layer.tighten(...) in each `with`"
_NOBODY, _BUILD = Scope(), Scope._fields.index("build")


class ScopeBlock:
    """For `with`: calls inside are made in the scope that `inner` makes of the one around them; one `with` at a time.

    Raises ConfigurationError if the block ends well, but in another context.
    """

    def __init__(self, variable: ContextVar[Scope | None], inner: Callable[[Scope], Scope]) -> None:
        self.variable, self._inner = variable, inner
        self._token: Token[Scope | None] | None = None

    def scope(self, block: Block | None = None) -> Scope:
        """The scope in here."""
        scope = self._inner(self.variable.get() or Scope())
        simple = scope.deadline is None and scope.tightening == NOT_TIGHTENED
        return scope._replace(build=enclosing(scope), direct=simple, block=block)

    def __enter__(self) -> None:
        if self._token is not None:  # whoever leaves first would end the other's
            raise ConfigurationError("scope", "entered again before it was left", AGAIN)
        self._block = Block(self.variable.get())
        self._token = self.variable.set(self.scope(self._block))

    def __exit__(self, fault: type[BaseException] | None, *_: object) -> None:
        token, self._token = self._token, None
        if token is None:
            return
        inner = self.variable.get()
        try:
            self.variable.reset(token)
            self.variable.set(left(inner, self._block))
        except ValueError:
            if fault is None:  # must not cover an error of the block, or the end of an abandoned generator
                raise ConfigurationError(
                    "scope", "left in another context than entered in", ELSEWHERE
                ) from None


@contextmanager
def in_scope(variable: ContextVar[Scope | None], scope: Scope | None) -> Iterator[None]:
    """For `with`: in the scope of a call that runs later, elsewhere: what its function asks belongs there, too."""
    if (variable.get() or _NOBODY)[:_BUILD] == (scope or _NOBODY)[:_BUILD]:
        yield
        return
    token = variable.set(scope)
    try:
        yield
    finally:
        variable.reset(token)


@lru_cache(4096)
def _scope_of(tenant: str | None, credentials: bytes) -> Scope:
    return Scope(tenant, credentials.hex())


class CallerScope:
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
