"""The bounded table of functions and scopes behind a decider, and its statistics."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Final

from ...types import Query
from .function import Account, Function
from .risk import Prior
from .scope import Scope
from .supposed import supposed
from .wording import Signatures

OLDEST: Final = 64
"""Scopes longest unused among which the one to evict is chosen."""
IDLEST: Final = 16
"""Functions, likewise."""


class Register:
    """Functions by name, and scopes by key within them; of those longest unused the one with the fewest labels is
    evicted first, and a stopped one last.

    Whoever makes many scopes (each temperature is one) does not make the layer forget what it learned, or whom it
    stopped; nor do more functions than there is room for, asked in turn, make it forget them all.
    """

    def __init__(self, prior: Prior, max_functions: int, max_scopes: int, signatures: Signatures) -> None:
        self._prior, self._signatures = prior, signatures
        self._max_functions, self._max_scopes = max_functions, max_scopes
        self._functions: OrderedDict[str, Function] = OrderedDict()

    def _function(self, name: str, query: Query) -> Function:
        found = self._functions.get(name)
        if found is None:
            while len(self._functions) >= self._max_functions:
                del self._functions[_idlest(self._functions)]
            found = self._functions[name] = Function(query.vector.shape[0], self._prior, self._signatures)
        else:
            self._functions.move_to_end(name)
        return found

    def _scope(self, fn: Function, key: bytes) -> Scope:
        found = fn.scopes.get(key)
        if found is None:
            while len(fn.scopes) >= self._max_scopes:
                del fn.scopes[_least(fn.scopes)]
            found = fn.scopes[key] = Scope(fn.shared.metric.inverse.shape[0], fn.shared)
        else:
            fn.scopes.move_to_end(key)
        return found

    def _home(self, place: tuple[str, bytes] | None) -> Scope | None:
        """The scope at (function, key), or None if it is gone."""
        fn = self._functions.get(place[0]) if place is not None else None
        return fn.scopes.get(place[1]) if fn is not None and place is not None else None

    def supposing(
        self, function: str, scope: bytes, query: Query, flights: Sequence[tuple[int, Query]]
    ) -> AbstractContextManager[None]:
        """Meanwhile requests in flight, by these ids, are entries, each with an answer of its own, to this query."""
        return supposed(self._scope(self._function(function, query), scope), query, flights)

    def agrees(self, function: str, scope: bytes, entry: int, answer: str) -> bool | None:
        """Whether an entry's answer counts as the same as `answer`; None if either is unknown."""
        fn = self._functions.get(function)
        here = fn.scopes.get(scope) if fn is not None else None
        mine = here.entries.get(entry) if here is not None else None
        truth = here.find(answer) if here is not None else None
        return None if mine is None or truth is None else mine == truth

    def stats(self) -> dict[str, Any]:
        """Per function and bound: hits within the budget, repeats, checks, estimate, interval (95 %) and state."""
        return {
            name: {str(bound): self._account(fn, account) for bound, account in fn.accounts.items()}
            for name, fn in self._functions.items()
        }

    def _account(self, fn: Function, account: Account) -> dict[str, Any]:
        low, high = account.interval.bounds()
        stopped = sum(s.stopped for s in fn.scopes.values())
        if stopped and stopped * 2 >= len(fn.scopes):
            state = "stopped"
        elif not account.interval.checks:
            state = "unverified"
        else:
            state = "certified" if high <= account.ledger.bound else "holding"
        return {
            "state": state,
            "hits": account.ledger.hits,
            "repeats": account.repeats,
            "repeats_checked": account.repeats_checked,
            "checks": account.interval.checks,
            "estimate": account.interval.estimate,
            "interval": (low, high),
            "stopped_scopes": stopped,
        }


def _idlest(functions: OrderedDict[str, Function]) -> str:
    """The name of the function that is missed least; of equal ones the latest, as what comes in turn is due again."""
    oldest = reversed([*islice(functions.items(), IDLEST)])
    return min(oldest, key=lambda one: (any(s.stopped for s in one[1].scopes.values()), one[1].labelled))[0]


def _least(scopes: OrderedDict[bytes, Scope]) -> bytes:
    """The key of the scope that is missed least."""
    oldest = islice(scopes.items(), OLDEST)
    return min(oldest, key=lambda one: (one[1].stopped, one[1].hood.labelled))[0]
