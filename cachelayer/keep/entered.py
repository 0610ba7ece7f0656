"""Entering a scope: what calls inside a `with` block belong to, and what is said where none were inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from ..errors import ConfigurationError
from .call import Scope, enclosing

ELSEWHERE = (
    "calls in between were not in this scope, and may have shared answers with everybody; enter it where they are made "
    "(FastAPI runs a dependency in the request's context only if it is `async def`)"
)


@contextmanager
def entered(variable: ContextVar[Scope | None], scope: Scope) -> Iterator[None]:
    """Set `scope` for the calls inside. Raises ConfigurationError if the block ends well, but in another context."""
    build = enclosing(scope.build)
    simple = scope.deadline is None and build is None and scope.tightening == Scope().tightening
    token = variable.set(replace(scope, lane=scope.tenant if simple else None, build=build))
    well = False
    try:
        yield
        well = True
    finally:
        try:
            variable.reset(token)
        except ValueError:  # an error, or the end of a generator that was left, is not covered by ours
            if well:
                raise ConfigurationError(
                    "scope", "left in another context than entered in", ELSEWHERE
                ) from None
