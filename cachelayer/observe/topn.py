"""Counts by name for the busiest names only; everybody else is one more name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

OTHER = "other"


class TopN:
    """Adds amounts by name and kind, for at most `n` names apart, and for 'other'.

    No sum ever falls: a name that becomes busy counts apart from then on; one that is displaced leaves what it had
    to 'other'. A name is busy once it came twice as often as the least busy one shown; who comes how often is kept for
    `8 n` names (Space-Saving: Metwally, Agrawal & El Abbadi 2005).
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._shown: dict[str, Counter[str]] = {}
        self._other: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()

    def add(self, name: str, amounts: dict[str, float], times: int = 1) -> None:
        """One more `times` of `name`, with what it added; who is called 'other' is never told apart."""
        if name == OTHER:
            shown: Counter[str] | None = self._other
        else:
            self._see(name, times)
            shown = self._shown.get(name)
        if shown is None:
            shown = self._promoted(name)
        for kind, amount in amounts.items():
            shown[kind] += amount  # type: ignore[assignment]

    def _see(self, name: str, times: int) -> None:
        seen = self._seen
        if name not in seen and len(seen) >= 8 * self._n:
            least = min((other for other in seen if other not in self._shown), key=seen.__getitem__)
            seen[name] = seen.pop(least)
        seen[name] += times

    def _promoted(self, name: str) -> Counter[str]:
        """Where amounts of `name` go: counters of its own if it is busy enough."""
        if len(self._shown) >= self._n:
            least = min(self._shown, key=self._seen.__getitem__)
            if self._seen[name] <= 2 * self._seen[least]:
                return self._other
            self._other.update(self._shown.pop(least))
        return self._shown.setdefault(name, Counter())

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        """(name, kind, amount)."""
        for name, amounts in (*self._shown.items(), (OTHER, self._other)):
            for kind, amount in amounts.items():
                yield name, kind, amount
