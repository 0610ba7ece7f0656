"""Raw forms of a transport: the bytes of a request lead straight to the entry that answered the same bytes before."""

from __future__ import annotations

from collections.abc import Callable

from xxhash import xxh3_64_intdigest

from ..exact.memory.slot import Slot
from ..exact.memory.table import Raws
from .call import Function
from .keeper import Keeper
from .scope import Scope, enclosing


class TransportForms:
    """For one wrapped function. Bytes are compared in full; a form leads nowhere once its entry is gone.

    The caller must make sure that equal bytes always mean equal requests: whatever identifies an answer beside the body
    (path, tenant, headers) belongs in the bytes.
    """

    def __init__(self, function: Function, keeper: Keeper, scope: Callable[[], Scope | None]) -> None:
        self._function, self._keeper, self._scope = function, keeper, scope
        self._table: Raws = {}
        self._now = keeper.clock.monotonic

    def find(self, raw: bytes, at: float | None = None) -> Slot | None:
        """The fresh entry that `raw` leads to, counted as a hit; takes no lock. `at`: now, if known already.

        None while an answer is being made in this context: the path notes what that one uses.
        """
        if at is None:
            at = self._now()
        pair = self._table.get(xxh3_64_intdigest(raw))
        if pair is None or pair[0] != raw:
            return None
        slot, stats, scope = pair[1], self._function.stats, self._scope()
        if slot.fresh_until <= at or (scope is not None and enclosing(scope) is not None):
            return None
        slot.hits += 1
        slot.used = at
        stats.fast_hits += 1
        if stats.fast_hits >= stats.look_at:
            stats.look(self._now() - at, slot)
        return slot

    def link(self, slot: Slot | None, raw: bytes) -> bool:
        """Let `raw` lead to `slot` from now on; False if it cannot."""
        function = self._function
        if slot is None or function.policy.variants > 1 or function.records or not slot.resident:
            return False
        with self._keeper.lock:
            return function.memory.link(slot, self._table, xxh3_64_intdigest(raw), raw)

    def age(self, slot: Slot) -> tuple[float, float]:
        """(age of an entry, time for which it stays fresh), in seconds; the latter is negative for a stale one."""
        now = self._now()
        return now - slot.created, slot.ends - now
