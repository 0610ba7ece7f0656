"""Reentrancy: which calls the running code is part of. They wait for it, so it must never wait for them."""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context

MOST = 64
"""Calls remembered, the innermost ones: a task that outlives its call and keeps starting others would add endlessly."""


class Alone(Exception):
    """Raised to a rider whose flight was cancelled or took longer than the rider waits: make the call yourself."""


class Itself(Alone):
    """Raised to code that asks for the very call of which it is part, and which waits for it."""


class Made:
    """One call that is being made; `proof` is None once it is over."""

    __slots__ = ("proof",)

    def __init__(self, proof: bytes) -> None:
        self.proof: bytes | None = proof


Around = tuple[Made, ...]
WITHIN: ContextVar[Around] = ContextVar("cachelayer_within", default=())
"""The calls around this code, innermost last; tasks and threads started in this context inherit them."""


def outside(around: Around, proof: bytes) -> None:
    """Raise Itself if a call with that proof is among those `around`."""
    for made in around:
        if made.proof == proof:
            raise Itself


def apart(made: Made) -> Context:
    """A copy of this context, for a call that nobody here waits for."""
    context = copy_context()
    context.run(WITHIN.set, (made,))
    return context
