"""What follows from a report that an answer was wrong, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..exact.memory.table import Slot
from ..semantic.complaints import Complaints
from ..semantic.reported_pairs import ReportedPairs
from ..semantic.tier import SimilarTier


class Reports:
    """`tiers`: all similar tiers; `reported`: their pairs of requests that never share an answer."""

    def __init__(
        self, tiers: Sequence[SimilarTier], reported: ReportedPairs, now: Callable[[], float]
    ) -> None:
        self._tiers, self._reported, self._now = tiers, reported, now
        self._complaints = Complaints()

    def wrong(self, slot: Slot, asked: bytes | None, principal: str) -> tuple[bytes | None, bool]:
        """An entry's answer was wrong; `asked` is the request if it is another than the entry's.

        Returns the pair of requests that are kept apart from now on, and whether the entry is dropped for everybody.
        """
        pairs = [] if asked is None else [tier.pair(slot.id, slot.scope, asked) for tier in self._tiers]
        if not any(tier.knows(slot.id) for tier in self._tiers):
            return None, self.may_take(slot.scope, principal)
        dropped = [tier.report_wrong(slot.id, principal) for tier in self._tiers]
        pair = next(filter(None, pairs), None)
        if pair is not None:
            self._reported.add(pair)
        return pair, all(dropped)

    def may_take(self, scope: bytes, principal: str) -> bool:
        """Whether a principal's report drops, for everybody, an answer that is not findable by meaning; counted."""
        return self._complaints.accepts(scope, principal, "", self._now())
