"""What the decider remembers of one scope (entries, answers, evidence) and of one function (calibrated strength)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ..types import Candidate
from .answers import normalize
from .budget import Alarm, Interval, Ledger, Shift
from .calibration import Calibration, Form
from .evidence import Known, Neighbourhood, Shared
from .principals import ALONE, Caution, Evidence, Lesson
from .risk import Prior, RiskModel
from .saying import Sayings, atom
from .wording import Signatures

Vector = NDArray[np.float32]

MAX_ANSWERS: Final = 4096
MAX_ACCOUNTS: Final = 8


def digest(answer: str) -> bytes:
    """16 bytes that stand for a normalized answer (BLAKE2b: equal digests, equal answers)."""
    return blake2b(normalize(answer).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Scope:
    """Entries of one scope and the answers that they hold."""

    def __init__(self, dimension: int, shared: Shared) -> None:
        self.hood = Neighbourhood(dimension, shared)
        self.entries: dict[int, int] = {}
        self.retired: set[int] = set()
        """Entries that must not be served or counted again."""
        self.leaving: list[int] = []
        """Those of them that the index does not know of yet."""
        self.alarm: Alarm | None = None
        self.caution = Caution()
        self.shift = Shift()
        self.changed = 0
        """How many labels the function had at the last change of answers here."""
        self.stopped = False
        self.regained = 1.0
        """Wealth of the bet that a stopped scope is right again."""
        self._ids: dict[bytes, int] = {}
        self._digests: dict[int, set[bytes]] = {}
        self._members: dict[int, set[int]] = {}
        self._said: dict[int, bytes] = {}
        """The digest of each entry's own wording; kept where its answer had to make room."""
        self._sayings = Sayings(dimension)

    def known(self, candidates: Sequence[Candidate]) -> list[Known]:
        """Candidates with their answers; one whose answer had to make room and was not seen since is left out."""
        out = []
        for place, c in enumerate(candidates):
            answer = self.entries.get(c.entry)
            if answer is None:
                if c.answer is None or c.entry in self.retired:
                    continue
                said = self._said.get(c.entry)
                answer = self.find(c.answer) if said is None else self._ids.get(said)
                if answer is None:
                    continue
            out.append(Known(c.similarity, answer, place, c.text))
        return out

    def answer(
        self, text: str, vector: Vector | None = None, foretold: int = -1, likely: bool = True
    ) -> tuple[int, bool]:
        """The id of an answer, and whether it is new.

        `vector`: of a prose answer, to be compared by meaning; `foretold`: the id that the neighbours expected,
        with little risk where `likely`.
        """
        key = digest(text)
        found = self._ids.get(key)
        if found is not None:
            return self._joined(found, foretold, likely) if vector is not None else found, False
        while len(self._ids) >= MAX_ANSWERS:
            self._evict()
        new = atom(key, text, vector) if vector is not None else None
        same = self._sayings.taken_for(new, foretold, likely) if new is not None else None
        answer = self._fresh() if same is None else same
        self._name(key, answer)
        if new is not None:
            for apart in self._sayings.add(new, answer):
                self._part(apart)
        return self._ids[key], same is None

    def _fresh(self) -> int:
        answer = self.hood.answers.new()
        self._digests[answer], self._members[answer] = set(), set()
        return answer

    def _name(self, key: bytes, answer: int) -> None:
        self._ids[key] = answer
        self._digests[answer].add(key)

    def _joined(self, answer: int, foretold: int, likely: bool) -> int:
        """Two answers become one where the neighbours take one for the other and their wordings agree."""
        if (
            foretold in (-1, answer)
            or foretold not in self._digests
            or not self._sayings.agree(foretold, answer, likely)
        ):
            return answer
        self.hood.merge(foretold, answer)
        self._sayings.merge(foretold, answer)
        for key in self._digests.pop(answer):
            self._name(key, foretold)
        for entry in self._members.pop(answer):
            self.entries[entry] = foretold
            self._members[foretold].add(entry)
        return foretold

    def _part(self, key: bytes) -> None:
        """A wording turned out to say something else than the answer it was taken for."""
        old, answer = self._ids[key], self._fresh()
        self._digests[old].discard(key)
        self._name(key, answer)
        self._sayings.move(key, answer)
        for entry in [e for e in self._members[old] if self._said.get(e) == key]:
            self._members[old].discard(entry)
            self._members[answer].add(entry)
            self.entries[entry] = answer

    def find(self, text: str) -> int | None:
        """The id of an answer that was seen, or None."""
        return self._ids.get(digest(text))

    def keep(self, entry: int, text: str, vector: Vector | None = None) -> int:
        self.drop(entry)
        answer, _ = self.answer(text, vector)
        self.entries[entry] = answer
        self._said[entry] = digest(text)
        self._members[answer].add(entry)
        return answer

    def drop(self, entry: int) -> None:
        """The entry is gone; an answer that nothing else speaks for goes with it."""
        answer = self.entries.pop(entry, None)
        self.retired.discard(entry)
        self._said.pop(entry, None)
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
            self.leaving.append(entry)

    def restart(self) -> None:
        """Nothing learned so far holds: start from no evidence, and never serve what was kept before."""
        for entry in list(self.entries):
            self.retire(entry)
        shared = self.hood.shared
        self.hood = Neighbourhood(shared.metric.inverse.shape[0], shared)
        self._ids.clear()
        self._digests.clear()
        self._members.clear()
        self._said.clear()
        self._sayings = Sayings(shared.metric.inverse.shape[0])

    def _evict(self) -> None:
        """Make room: the oldest answer with least support."""
        count = self.hood.answers.count
        oldest = list(self._digests)[:64]
        victim = min(oldest, key=lambda a: (count[a] > 1, count[a]))
        for entry in list(self._members[victim]):
            del self.entries[entry]
        self._forget_answer(victim)

    def _forget_answer(self, answer: int) -> None:
        for key in self._digests.pop(answer):
            del self._ids[key]
        self._sayings.forget(answer)
        del self._members[answer]
        self.hood.answers.drop(answer)
        self.hood.wording.drop(answer)


class Foretold(Protocol):
    """What a judgement foretells, and by which road."""

    @property
    def risk(self) -> float: ...
    @property
    def pair(self) -> bool: ...
    @property
    def repeat(self) -> bool: ...


class Account:
    """One function under one bound."""

    def __init__(self, bound: float) -> None:
        self.ledger = Ledger(bound)
        self.alarm = Alarm(bound)
        self.interval = Interval()
        self.repeats = self.repeats_checked = 0
        """Hits on what was asked before but for how it was typed, outside of the budget; checks of them."""


class Function:
    """What is shared by all scopes of one function."""

    def __init__(self, dimension: int, prior: Prior, signatures: Signatures) -> None:
        self.shared = Shared(dimension, signatures)
        self.model = RiskModel(prior)
        self.calibration = Calibration()
        self.pairs = Calibration(shift=(0.0, 0.5), slope=(1.0, 0.4), least=0.5, trusting=True)
        """Of what the pair verifier foretold."""
        self.form = Form()
        self.scopes: OrderedDict[bytes, Scope] = OrderedDict()
        self.accounts: dict[float, Account] = {}
        self.labelled = 0
        self._evidence = Evidence()
        self._before: list[Any] = []
        """States of model and calibration, the last two that were kept."""

    def corrected(self, judged: Foretold) -> float:
        """The calibrated risk of a judgement."""
        if judged.repeat:
            return judged.risk
        return (self.pairs if judged.pair else self.calibration).corrected(judged.risk)

    def learn(self, principal: str, lesson: Lesson) -> None:
        """What one label teaches all scopes, as far as this principal is heeded."""
        if self._evidence.joins(principal):
            self.model = RiskModel(self.model.prior)
            for calibration in (self.calibration, self.pairs):
                calibration.temper(ALONE / max(self.labelled, ALONE))
        for told in self._evidence.heed(principal, lesson):
            if told.x is not None:
                self.model.learn(told.x, told.reading_right)
            if told.repeat:
                self.form.learn(told.right)
            else:
                (self.pairs if told.pair else self.calibration).learn(told.risk, told.right)
            self.shared.record.learn(told.objected, not told.reading_right)

    def keep_state(self) -> None:
        """Every hundred labels while nothing looks like a change: what to return to if one comes."""
        if self.labelled % 100 == 0:
            self._before = [*self._before[-1:], (self.model.state(), self.calibration.state())]

    def return_to_state(self) -> None:
        """Answers changed: what readings mean did not, so what the change taught about them is unlearned."""
        if self._before:
            model, calibration = self._before[0]
            self.model.restore(model)
            self.calibration.restore(calibration)

    def account(self, bound: float) -> Account:
        found = self.accounts.get(bound)
        if found is None:
            if len(self.accounts) >= MAX_ACCOUNTS:
                self.accounts.pop(next(iter(self.accounts)))
            found = self.accounts[bound] = Account(bound)
        return found
