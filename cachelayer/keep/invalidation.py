"""What was declared invalid, and whether it covers an answer. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..exact.keys.canonical import decode

Wanted = Mapping[str, str | None]
"""Scopes of this "function", of this "tenant", or both; a tenant of None is nobody's."""


@dataclass(frozen=True, slots=True)
class Invalidation:
    """What was declared invalid, and when in the order of declarations."""

    epoch: int
    tags: frozenset[str] = frozenset()
    scopes: frozenset[bytes] = frozenset()
    wanted: tuple[Wanted, ...] = ()
    """Scopes by whose they are, those of which nothing is held yet too."""
    digest: int | None = None
    everything: bool = False
    unheard: bool = False
    """Nobody here heard whether anything was: memory keeps nothing of it, a store that checks by itself may."""

    def covers(self, tags: Iterable[str], scope: bytes, digest: int) -> bool:
        """Whether an answer under these tags, scope and key was declared invalid."""
        if self.everything or digest == self.digest or scope in self.scopes or not self.tags.isdisjoint(tags):
            return True
        return bool(scope) and any(within(scope, wanted) for wanted in self.wanted)


def within(scope: bytes, wanted: Wanted) -> bool:
    """Whether a scope is among the wanted ones."""
    function, tenant = decode(scope)
    return bool(wanted.get("function", function) == function and wanted.get("tenant", tenant) == tenant)
