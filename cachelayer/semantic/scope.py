"""What the decider remembers of one scope (entries, answers, evidence) and of one function (calibrated strength)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..types import Candidate
from .answers import normalize
from .budget import Alarm, Interval, Ledger
from .evidence import Known, Metric, Neighbourhood
from .risk import Calibration, Prior, RiskModel

Vector = NDArray[np.float32]

MAX_ANSWERS: Final = 4096
MAX_ACCOUNTS: Final = 8


def digest(answer: str) -> bytes:
    """16 bytes that stand for a normalized answer (BLAKE2b: equal digests, equal answers)."""
    return blake2b(normalize(answer).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Scope:
    """Entries of one scope and the answers that they hold."""

    def __init__(self, dimension: int, metric: Metric) -> None:
        self.hood = Neighbourhood(dimension, metric)
        self.entries: dict[int, int] = {}
        self.retired: set[int] = set()
        """Entries that must not be served or counted again."""
        self.alarm: Alarm | None = None
        self.stopped = False
        self.regained = 1.0
        """Wealth of the bet that a stopped scope is right again."""
        self._ids: dict[bytes, int] = {}
        self._digests: dict[int, bytes] = {}
        self._members: dict[int, set[int]] = {}

    def known(self, candidates: Sequence[Candidate]) -> list[Known]:
        """Candidates with their answers. One that is not known, after a restart say, is taken in by its answer."""
        out = []
        for place, c in enumerate(candidates):
            answer = self.entries.get(c.entry)
            if answer is None:
                if c.answer is None or c.entry in self.retired:
                    continue
                answer = self.keep(c.entry, c.answer)
            out.append(Known(c.similarity, answer, place))
        return out

    def answer(self, text: str) -> tuple[int, bool]:
        """The id of an answer, and whether it is new."""
        key = digest(text)
        found = self._ids.get(key)
        if found is not None:
            return found, False
        while len(self._ids) >= MAX_ANSWERS:
            self._evict()
        fresh = self.hood.answers.new()
        self._ids[key] = fresh
        self._digests[fresh] = key
        self._members[fresh] = set()
        return fresh, True

    def find(self, text: str) -> int | None:
        """The id of an answer that was seen, or None."""
        return self._ids.get(digest(text))

    def keep(self, entry: int, text: str) -> int:
        answer, _ = self.answer(text)
        self.drop(entry)
        self.entries[entry] = answer
        self._members[answer].add(entry)
        return answer

    def drop(self, entry: int) -> None:
        """The entry is gone; an answer that nothing else speaks for goes with it."""
        answer = self.entries.pop(entry, None)
        self.retired.discard(entry)
        if answer is None:
            return
        members = self._members[answer]
        members.discard(entry)
        if not members and self.hood.answers.count[answer] <= 1:
            self._forget_answer(answer)

    def retire(self, entry: int) -> None:
        """Never serve or count this entry again."""
        self.drop(entry)
        if len(self.retired) < 10 * MAX_ANSWERS:
            self.retired.add(entry)

    def restart(self) -> None:
        """Nothing learned so far holds: start from no evidence, and never serve what was kept before."""
        for entry in list(self.entries):
            self.retire(entry)
        metric = self.hood.metric
        self.hood = Neighbourhood(metric.inverse.shape[0], metric)
        self._ids.clear()
        self._digests.clear()
        self._members.clear()

    def _evict(self) -> None:
        """Make room: the oldest answer with least support."""
        count = self.hood.answers.count
        oldest = list(self._digests)[:64]
        victim = min(oldest, key=lambda a: (count[a] > 1, count[a]))
        for entry in list(self._members[victim]):
            del self.entries[entry]
        self._forget_answer(victim)

    def _forget_answer(self, answer: int) -> None:
        del self._ids[self._digests.pop(answer)]
        del self._members[answer]
        self.hood.answers.drop(answer)


class Account:
    """One function under one bound."""

    def __init__(self, bound: float) -> None:
        self.ledger = Ledger(bound)
        self.alarm = Alarm(bound)
        self.interval = Interval()


class Function:
    """What is shared by all scopes of one function."""

    def __init__(self, dimension: int, prior: Prior) -> None:
        self.metric = Metric(dimension)
        self.model = RiskModel(prior)
        self.calibration = Calibration()
        self.scopes: OrderedDict[bytes, Scope] = OrderedDict()
        self.accounts: dict[float, Account] = {}
        self.labelled = 0

    def account(self, bound: float) -> Account:
        found = self.accounts.get(bound)
        if found is None:
            if len(self.accounts) >= MAX_ACCOUNTS:
                self.accounts.pop(next(iter(self.accounts)))
            found = self.accounts[bound] = Account(bound)
        return found
