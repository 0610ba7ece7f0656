"""Choosing among candidates so that the share of wrong answers served stays under the bound."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..protocols import Verifier
from ..types import Candidate, Decision, Query, Reason
from .budget import level
from .evidence import Reading, Vector
from .register import Register
from .risk import Floats, Prior
from .scope import Account, Function, Scope
from .verifier import ThresholdVerifier
from .weights import load_prior

PROVEN: Final = 30
"""Labelled requests from which a function's own evidence counts."""
SUPPORT: Final = 3
"""Labelled requests of an answer below which the pair verifier is heard."""
TIGHTEN, STOP, RESUME = 20.0, 200.0, 10.0
"""Wealth of the alarm at which the budget is halved, the scope stops, and a stopped one starts again."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The best answer among the candidates and the foretold risk of serving it."""

    place: int
    answer: int
    risk: float
    x: Floats | None
    """Encoded reading; None where the neighbours said nothing."""
    reading: Reading | None
    guard: str = ""


class EvidenceDecider(Register):
    """Lets candidates vote by answer and serves while the calibrated risk fits the error budget.

    Not thread-safe: the caller holds a lock. `random` yields floats in [0, 1). `shadow`: the share of hits to check,
    'auto' to adapt it to need, 0 for none (the budget then rests on priors and misses alone, shown as unverified).
    Bounded: `max_functions` functions, `max_scopes` scopes in all, the least recently used go first.
    """

    def __init__(
        self,
        verifier: Verifier | None = None,
        *,
        random: Callable[[], float],
        shadow: float | str = "auto",
        prior: Prior | None = None,
        max_functions: int = 64,
        max_scopes: int = 1024,
    ) -> None:
        self._verifier = verifier or ThresholdVerifier()
        self._random = random
        self._shadow = shadow
        super().__init__(prior or load_prior(), max_functions, max_scopes)
        self._where: dict[int, tuple[str, Scope]] = {}
        self._pending: OrderedDict[tuple[str, bytes, str, int], tuple[float, float]] = OrderedDict()
        """Checks under way: (function, scope, text, entry) -> (probability, bound)."""

    # -- the path

    def decide(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        return self._decide(function, scope, query, candidates, max_error_rate, counted=True)

    def preview(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        """What `decide` would say now; nothing is counted and no check is drawn."""
        return self._decide(function, scope, query, candidates, max_error_rate, counted=False)

    def _decide(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        bound: float,
        *,
        counted: bool,
    ) -> Decision:
        nearest = candidates[0].similarity if candidates else 0.0
        if bound <= 0.0:
            return Decision(None, 0.0, nearest, Reason.OFF)
        fn = self._function(function, query)
        here = self._scope(fn, scope)
        judged = self._judge(fn, here, query, candidates)
        if judged is None:
            return Decision(None, 0.0, nearest, Reason.NO_CANDIDATE)
        account = fn.account(bound)
        chosen = candidates[judged.place]
        if counted:
            account.ledger.see(judged.risk, fn.calibration)
        decision = self._choose(fn, here, account, chosen, judged)
        if decision.entry is None or not counted:
            return decision
        account.ledger.serve(judged.risk)
        check = self._sample(function, scope, query, chosen.entry, fn, here, account, judged.risk)
        return replace(decision, shadow=check)

    @staticmethod
    def _choose(
        fn: Function, here: Scope, account: Account, chosen: Candidate, judged: Judgement
    ) -> Decision:
        confidence = 1.0 - fn.calibration.corrected(judged.risk)
        if here.stopped:
            return Decision(None, confidence, chosen.similarity, Reason.STOPPED)
        if judged.guard or not account.ledger.admits(judged.risk, fn.calibration):
            reason = Reason.GUARD if judged.guard else Reason.UNSURE
            return Decision(None, confidence, chosen.similarity, reason, judged.guard)
        return Decision(chosen.entry, confidence, chosen.similarity)

    def _judge(
        self, fn: Function, here: Scope, query: Query, candidates: Sequence[Candidate]
    ) -> Judgement | None:
        usable = [c for c in candidates if c.turns == query.turns]
        if not usable:
            return None
        known = here.known(usable)
        reading = here.hood.read(query.vector, known, len(here.entries), len(query.text.split()))
        if reading is None:
            return None
        place = candidates.index(usable[reading.place])
        x = fn.model.encode(reading.features)
        risk = fn.model.risk(x)
        proven = here.hood.labelled >= PROVEN
        if proven and reading.support >= SUPPORT:
            return Judgement(place, reading.answer, risk, x, reading)
        answers = {k.place: k.answer for k in known}
        same = [c for i, c in enumerate(usable) if answers.get(i) == reading.answer][:3]
        judged = self._verifier.judge(query, same)
        best = max(range(len(same)), key=lambda i: judged[i][0])
        sure, guard = judged[best]
        place = candidates.index(same[best])
        if not proven:
            return Judgement(place, reading.answer, max(1.0 - sure, 1e-6), x, reading, guard)
        return Judgement(place, reading.answer, max(risk, 0.1 * (1.0 - sure)), x, reading, guard)

    def _sample(
        self,
        function: str,
        scope: bytes,
        query: Query,
        entry: int,
        fn: Function,
        here: Scope,
        account: Account,
        risk: float,
    ) -> bool:
        """Whether to check this hit; what is not checked counts at once."""
        probability = self._probability(fn, here, account, risk)
        if probability <= 0.0:
            return False
        if self._random() >= probability:
            account.alarm.hit(probability, False)
            account.interval.hit(probability, False, False)
            if here.alarm is not None:
                here.alarm.hit(probability, False)
            return False
        if len(self._pending) >= 4096:
            self._pending.popitem(last=False)
        self._pending[function, scope, query.text, entry] = (probability, account.ledger.bound)
        return True

    def _probability(self, fn: Function, here: Scope, account: Account, risk: float) -> float:
        if not isinstance(self._shadow, str):
            return level(self._shadow)
        ledger = account.ledger
        share = 0.02 * fn.calibration.corrected(risk) / ledger.typical
        if ledger.hits < 100:
            share = max(share, 0.06)
        if max(account.alarm.wealth, here.alarm.wealth if here.alarm else 0.0) > 5.0:
            share = max(4.0 * share, 0.06)
        return level(min(0.5, max(0.0125, share)))

    # -- learning, off the path

    def observe(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        answer: str,
        served: int | None,
        answer_vector: Vector | None = None,
    ) -> None:
        fn = self._function(function, query)
        here = self._scope(fn, scope)
        judged = self._judge(fn, here, query, candidates)
        truth, new = here.answer(answer)
        here.hood.learn(query.vector, truth, judged.reading if judged else None, new)
        fn.labelled += 1
        if judged is None:
            return
        right = judged.answer == truth
        if judged.x is not None:
            fn.model.learn(judged.x, right)
        fn.calibration.learn(judged.risk, right, 1.0 if served is not None else 0.5)
        if served is not None:
            self._checked(function, scope, query, served, fn, here, right=here.entries.get(served) == truth)
        elif here.stopped:
            self._regain(fn, here, judged.risk, right)

    def _checked(
        self,
        function: str,
        scope: bytes,
        query: Query,
        served: int,
        fn: Function,
        here: Scope,
        *,
        right: bool,
    ) -> None:
        sampled = self._pending.pop((function, scope, query.text, served), None)
        if sampled is None:
            return
        probability, bound = sampled
        account = fn.account(bound)
        account.interval.hit(probability, True, not right)
        if here.alarm is None:
            here.alarm = type(account.alarm)(bound)
        shared = account.alarm.hit(probability, not right)
        own = here.alarm.hit(probability, not right)
        if own >= STOP:
            here.alarm.reset()
            account.alarm.reset()
            here.restart()
            here.stopped, here.regained = True, 1.0
        elif max(own, shared) >= TIGHTEN:
            account.ledger.scale = 0.5
        elif right and account.ledger.scale < 1.0:
            account.ledger.scale = min(1.0, account.ledger.scale * 1.02)

    def _regain(self, fn: Function, here: Scope, risk: float, right: bool) -> None:
        """A stopped scope bets on its would-be hits, whose truth is known, that less than 3 bounds are wrong."""
        for bound, account in fn.accounts.items():
            if fn.calibration.corrected(risk) <= account.ledger.limit:
                stake = 0.9 * (3.0 * min(bound, 0.3) - (0.0 if right else 1.0))
                here.regained = max(0.1, here.regained * (1.0 + stake))
                break
        if here.regained >= RESUME:
            here.stopped = False
            for account in fn.accounts.values():
                account.ledger.scale = 0.5

    def stored(
        self,
        entry: int,
        function: str,
        scope: bytes,
        query: Query,
        answer: str,
        answer_vector: Vector | None = None,
    ) -> None:
        here = self._scope(self._function(function, query), scope)
        here.keep(entry, answer)
        self._where[entry] = (function, here)

    def forget(self, entry: int) -> None:
        found = self._where.pop(entry, None)
        if found is not None:
            found[1].drop(entry)

    def report_wrong(self, entry: int) -> None:
        found = self._where.get(entry)
        if found is None:
            return
        here = found[1]
        answer = here.entries.get(entry)
        if answer is not None:
            here.hood.answers.wrong[answer] += 2.0
        here.retire(entry)
