"""Against poisoned and colliding entries: hubs, answers that nobody else confirmed, floods of writes. Pure.

Similar entries decide what others are told, so whoever can make a backend answer wrongly to a text of their choosing
could have the answer served for a victim's question. Three bars stand in the way, beside guards and evidence:

* An entry that is the nearest one of many unlike texts, and seldom with their answer, is a *hub* (Radovanovic et al.
  2010, JMLR 11, on why they arise) and is withheld for good.
* Where the policy asks for it (`quarantine=k`), an entry is served to its own author alone until k principals, the
  author included, were given the same answer for near texts.
* In a scope that several principals write to, none adds more than `write_quota` findable entries an hour.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..types import Candidate
from .answers import normalize
from .complaints import HOUR, Complaints, forget_least
from .types import Ask

NEAR: Final = 0.6
"""Cosine from which being the nearest entry of a text counts."""
VOUCHING: Final = 0.7
"""Cosine from which an equal answer confirms an entry."""
LOOKUPS: Final = 16
"""Lookups before an entry can be called a hub."""
UNLIKE: Final = 0.55
"""Mean cosine between the texts of a hub, at most; one meaning's stay above (see docs/decisions.md)."""
ANSWERS: Final = 4
"""True answers that must be known, most of which must not be the entry's, before it is called a hub."""
_TRACKED = 512
_QUOTAS = 4096


class Hubs:
    """Which entries are near to too many unlike texts. Follows the 512 entries found nearest most recently."""

    def __init__(self) -> None:
        self._seen: OrderedDict[int, _Lookups] = OrderedDict()
        self.found: set[int] = set()

    def nearest(self, entry: int, vector: NDArray[np.float32]) -> None:
        """An entry was the nearest one of a text, at `NEAR` or above."""
        seen = self._seen.get(entry)
        if seen is None or seen.total.shape != vector.shape:  # of a model that served before
            if len(self._seen) >= _TRACKED:
                self._seen.popitem(last=False)
            self._seen[entry] = _Lookups(vector.copy())  # of a batch, perhaps
            return
        self._seen.move_to_end(entry)
        seen.count += 1
        seen.total = seen.total + vector

    def answered(self, entry: int, same: bool) -> None:
        """The true answer to such a text: the entry's, or another."""
        seen = self._seen.get(entry)
        if seen is None:
            return
        seen.answers += 1
        seen.contrary += not same
        known = seen.count >= LOOKUPS and seen.answers >= ANSWERS
        if known and 2 * seen.contrary > seen.answers and seen.likeness() < UNLIKE:
            self.found.add(entry)

    def forget(self, entry: int) -> None:
        """The entry is gone."""
        self._seen.pop(entry, None)
        self.found.discard(entry)


class _Lookups:
    """The texts whose nearest entry one was."""

    __slots__ = ("answers", "contrary", "count", "total")

    def __init__(self, total: NDArray[np.float32]) -> None:
        self.total, self.count, self.answers, self.contrary = total, 1, 0, 0

    def likeness(self) -> float:
        """Mean cosine between two of them."""
        n = self.count
        return (float(self.total @ self.total) - n) / (n * (n - 1))


class Vouching:
    """Who made an entry, and who else was given the same answer by the backend."""

    def __init__(self) -> None:
        self._authors: dict[int, str] = {}
        self._others: dict[int, set[str]] = {}

    def made(self, entry: int, principal: str) -> None:
        """A new entry."""
        if principal:
            self._authors[entry] = principal

    def author(self, entry: int) -> str:
        """Who made an entry; '' for no named principal."""
        return self._authors.get(entry, "")

    def vouch(self, entry: int, principal: str, wanted: int) -> None:
        """Another was given the same answer; of no use where `wanted` principals stand behind it already."""
        if principal != self.author(entry) and 1 + len(self._others.get(entry, ())) < wanted:
            self._others.setdefault(entry, set()).add(principal)

    def trusts(self, entry: int, principal: str, wanted: int) -> bool:
        """Whether an entry may be served to `principal` where `wanted` principals must stand behind it.

        Callers without a principal count as one.
        """
        others = self._others.get(entry, ())
        return principal == self._authors.get(entry, "") or 1 + len(others) >= wanted or principal in others

    def forget(self, entry: int) -> None:
        """The entry is gone."""
        self._authors.pop(entry, None)
        self._others.pop(entry, None)


class Quota:
    """Writes of one principal to one scope in an hour, counted where others write there too. Bounded: whoever writes
    least, and the scope least written to of those longest unused, make room, so that nobody's many writes are forgotten
    for many other writers or scopes."""

    def __init__(self) -> None:
        self._scopes: OrderedDict[bytes, tuple[float, int, dict[str, int]]] = OrderedDict()
        """By scope: when its hour began, the writes since, and those of each principal."""

    def take(self, scope: bytes, principal: str, limit: int, now: float) -> bool:
        """Whether one more is within the quota; counted if so. Unnamed principals and `limit=0` have none."""
        if not principal or limit <= 0:
            return True
        began, total, counts = self._scopes.pop(scope, (now, 0, {}))
        if now - began >= HOUR:
            began, total, counts = now, 0, {}
        written = counts.get(principal, 0)
        allowed = written < limit or len(counts) < 2
        if allowed:
            if principal not in counts and len(counts) >= _QUOTAS:  # Misra & Gries 1982
                least = min(counts.values())
                counts = {name: n - least for name, n in counts.items() if n > least}
            counts[principal] = written + 1
        self._scopes[scope] = began, total + allowed, counts
        if len(self._scopes) > _QUOTAS:
            forget_least(self._scopes, lambda one: one[1] * (now - one[0] < HOUR))
        return allowed


class Watch:
    """The three bars as the tier asks them."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._hubs, self._vouching, self._quota = Hubs(), Vouching(), Quota()
        self._complaints = Complaints()
        self.withheld = self.over_quota = 0

    def sift(self, ask: Ask, found: Sequence[Candidate]) -> list[Candidate]:
        """The candidates that may be served to the asker, by falling similarity; notes the others in `ask`."""
        if found and ask.query is not None and found[0].similarity >= NEAR and not ask.preview:
            self._hubs.nearest(found[0].entry, ask.query.vector)
        open_to_all = ask.quarantine < 2
        if open_to_all and not self._hubs.found:
            return list(found)
        kept = []
        for one in found:
            trusted = open_to_all or self._vouching.trusts(one.entry, ask.principal, ask.quarantine)
            if trusted and one.entry not in self._hubs.found:
                kept.append(one)
            else:
                ask.withheld.append(one)
        self.withheld += bool(ask.withheld) and not ask.preview
        return kept

    def answered(self, ask: Ask, answer: str, live: Container[int]) -> None:
        """The backend answered the request: learn which of its nearest entries that are `live` said the same."""
        near = [one for one in (*ask.withheld, *ask.candidates[:1]) if one.similarity >= NEAR]
        if not near:
            return
        truth = normalize(answer)
        first = max(near, key=lambda one: one.similarity)
        for one in near:
            same = one.answer is not None and normalize(one.answer) == truth
            if one is first:
                self._hubs.answered(one.entry, same)
            if same and one.similarity >= VOUCHING and one.entry in live:
                self._vouching.vouch(one.entry, ask.principal, ask.quarantine)

    def may_write(self, ask: Ask) -> bool:
        """Whether the asker's answer may become findable by others."""
        allowed = self._quota.take(ask.partition, ask.principal, ask.write_quota, self._now())
        self.over_quota += not allowed
        return allowed

    def complaint(self, scope: bytes, entry: int, principal: str, answer: str | None) -> tuple[bool, bool]:
        """Whether a report drops the entry for everybody, and whether it says something new of the answer."""
        now, author = self._now(), self.author(entry)
        accepted = self._complaints.accepts(scope, principal, author, now)
        answered = hash(normalize(answer or ""))
        return accepted, accepted and not self._complaints.repeated(scope, principal, answered, now)

    def author(self, entry: int) -> str:
        """Who made an entry; '' for no named principal."""
        return self._vouching.author(entry)

    def made(self, entry: int, principal: str) -> None:
        """A new entry is findable."""
        self._vouching.made(entry, principal)

    def forget(self, entry: int) -> None:
        """The entry is gone."""
        self._hubs.forget(entry)
        self._vouching.forget(entry)

    def stats(self) -> dict[str, Any]:
        """Lookups from which something was withheld, hubs, writes beyond a quota."""
        return {"withheld": self.withheld, "hubs": len(self._hubs.found), "over_quota": self.over_quota}
