"""What is set in the context of a call: whose it is, and which answer it helps to make."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from ..policy import NOT_TIGHTENED, Tightening


class Build:
    """An answer that is being made: the parts used so far, and the unfinished streams that it reads."""

    __slots__ = ("ambient", "ends", "makers", "parts", "streams", "tenant")

    def __init__(self, tenant: str | None = None, *, ambient: bool = False) -> None:
        self.tenant = tenant
        """For whom it is made."""
        self.ambient = ambient
        """Whether this is only a context (a request, a task) in which no answer is being made."""
        self.makers = 1
        """Whether it is still being made, by its function or as a stream that is read; see `around`."""
        self.parts: dict[str, int] = {}  # see `parts.Noting.note`
        self.ends = inf
        """When the first of its parts is no longer fresh, monotonic seconds; not noted of a mere context."""
        self.streams: dict[Build, None] = {}


def around(scope: Scope | None) -> Build | None:
    """The answer that is being made in a context; None in a task that an answer made by now has left behind."""
    return scope.build if scope is not None and scope.build is not None and scope.build.makers else None


def enclosing(scope: Scope) -> Build | None:
    """The answer that is being made around a block; None if there is only a context, which blocks do not inherit."""
    build = around(scope)
    return None if build is None or build.ambient else build


class Block:
    """One `with` that is under way; `outer` is the scope around it, None once it is left."""

    __slots__ = ("outer",)

    def __init__(self, outer: Scope | None) -> None:
        self.outer = outer


def left(inner: Scope | None, block: Block) -> Scope | None:
    """The scope to restore when `block` is left while `inner` is set.

    A block entered inside it may still be open, as of two generators that are read in turn. It then stays as it is, and
    is given as its outer scope what was outside of `block`.
    """
    outer, block.outer = block.outer, None
    if inner is None or inner.block is block:
        return outer
    around = inner.block
    while around is not None and around.outer is not None:
        if around.outer.block is block:
            around.outer = outer
            break
        around = around.outer.block
    return inner


class Scope(NamedTuple):
    """What `layer.scope` and `layer.tighten` set, read when a function is called."""

    tenant: str | None = None
    principal: str = ""
    deadline: float | None = None
    """Monotonic seconds."""
    tightening: Tightening = NOT_TIGHTENED
    build: Build | None = None
    """The answer that is being made in this context."""
    direct: bool = True
    """Whether nothing but the tenant and an answer in the making decides how calls are answered: only then may they be
    looked up by the raw form of their arguments."""
    block: Block | None = None
    """Where it was set."""


def making(scope: Scope | None, build: Build) -> Scope:
    """The same scope, in which `build` is being made: written out, it takes half the time of `_replace`."""
    if scope is None:
        return Scope(build=build)
    return Scope(
        scope.tenant, scope.principal, scope.deadline, scope.tightening, build, scope.direct, scope.block
    )
