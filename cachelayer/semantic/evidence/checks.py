"""Shadow checks: which hits are verified by a call of the backend, and how the outcome moves the error budget."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from ...types import Query
from .budget import level
from .calibration import band
from .function import Account, Function
from .judging import Judgement
from .register import Register
from .risk import Prior
from .scope import Scope
from .wording import Signatures

TIGHTEN, STOP, RESUME = 20.0, 100.0, 10.0
"""Wealth at which the alarm halves the budget, stops a scope, and lets a stopped scope serve again."""
RARELY: Final = 0.0125
"""Share of hits that is checked if nothing asks for more."""
SETTLED: Final = 500
"""Labelled requests that must lie between two changes of answers for the second to count as one."""


class Draw(NamedTuple):
    """How likely a hit was to be checked, and hits of its time: one of typical risk, and the least likely one."""

    probability: float
    typical: float
    least: float


class Case(NamedTuple):
    """One request, with what the decider remembers of its function and scope."""

    function: str
    scope: bytes
    query: Query
    fn: Function
    here: Scope

    def check(self, entry: int) -> tuple[str, bytes, str, int]:
        """The key of a check of this entry that is under way."""
        return self.function, self.scope, self.query.text, entry


class Checks(Register):
    """Draws hits to check at random, and tightens or relaxes the error budget by what the checks show."""

    def __init__(
        self,
        prior: Prior,
        max_functions: int,
        max_scopes: int,
        random: Callable[[], float],
        shadow: float | str,
        signatures: Signatures,
    ) -> None:
        super().__init__(prior, max_functions, max_scopes, signatures)
        self._random, self._shadow = random, shadow
        self._leaving: list[int] = []
        self._pending: OrderedDict[tuple[str, bytes, str, int], tuple[Draw, float]] = OrderedDict()
        """Checks under way: (function, scope, text, entry) -> (draw, bound)."""

    def _case(self, function: str, scope: bytes, query: Query) -> Case:
        """The request with its function and scope, which are made if they are new."""
        fn = self._function(function, query)
        return Case(function, scope, query, fn, self._scope(fn, scope))

    def _sample(self, case: Case, entry: int, account: Account, judged: Judgement) -> bool:
        """Whether to check this hit. A hit that may be checked and is not drawn counts in the estimate at once."""
        if not case.query.checkable:
            return False
        here, draw = case.here, self._draw(case, account, judged)
        if (probability := draw.probability) <= 0.0:
            return False
        if judged.repeat:
            drawn = self._random() < probability
            account.repeats_checked += drawn
            return drawn
        if self._random() >= probability:
            account.alarm.hit(probability, False, draw.typical)
            account.interval.hit(probability, False, False, draw.least)
            if here.alarm is not None:
                here.alarm.hit(probability, False, draw.typical)
            return False
        if len(self._pending) >= 4096:
            self._lost(next(iter(self._pending)))
        self._pending[case.check(entry)] = (draw, account.ledger.bound)
        return True

    def _draw(self, case: Case, account: Account, judged: Judgement) -> Draw:
        """How likely this hit is checked: more so if it is new, risky, or an alarm is rising."""
        fn, here = case.fn, case.here
        if not isinstance(self._shadow, str):
            return Draw(*[level(self._shadow)] * 3)
        if judged.repeat:
            return Draw(*[1.0 if fn.form.labels < fn.form.YOUNG else RARELY] * 3)
        rising = max(account.alarm.recent, here.alarm.recent if here.alarm else 0.0) > 5.0
        usual, least = 0.02, 0.06 if account.ledger.hits < 100 else RARELY
        if rising:
            usual, least = 4.0 * usual, max(4.0 * least, 0.06)
        relative = fn.corrected(judged) / account.ledger.typical
        return Draw(*[level(min(0.5, max(least, usual * risk))) for risk in (relative, 1.0, 0.0)])

    def _checked(self, case: Case, served: int, *, right: bool) -> None:
        """Count the outcome of a check of the entry `served`; one that was not drawn by `_sample` changes nothing."""
        sampled = self._pending.pop(case.check(served), None)
        if sampled is None:
            return
        (draw, bound), here = sampled, case.here
        account = case.fn.account(bound)
        account.interval.hit(draw.probability, True, not right, draw.least)
        if here.alarm is None or here.alarm.bound < bound:  # that was of a stricter request
            here.alarm = type(account.alarm)(bound)
        account.alarm.hit(draw.probability, not right, draw.typical)
        own = here.alarm.hit(draw.probability, not right, draw.typical)
        if own >= STOP:
            here.alarm.reset()
            account.alarm.reset()
            self._restart(here)
            here.stopped, here.regained = True, 1.0
        elif account.alarm.recent >= TIGHTEN:
            account.ledger.scale = 0.5
        elif here.alarm.recent >= TIGHTEN:
            here.caution.doubt = 2.0
        elif right:
            account.ledger.scale = min(1.0, account.ledger.scale * 1.05)
            here.caution.doubt = max(1.0, here.caution.doubt / 1.05)

    def unchecked(self, function: str, scope: bytes, query: Query, served: int) -> None:
        """The check of a hit came to nothing; does nothing where `observe` was told of it.

        Else a backend that fails now and then would vouch for what it was not asked: a check stands for all the hits
        that were not drawn beside it, and these count at once.
        """
        self._lost((function, scope, query.text, served))

    def _lost(self, check: tuple[str, bytes, str, int]) -> None:
        sampled, fn = self._pending.pop(check, None), self._functions.get(check[0])
        if sampled is None or fn is None:
            return
        (draw, bound), here = sampled, fn.scopes.get(check[1])
        account = fn.account(bound)
        account.interval.lost(draw.probability, draw.least)
        account.alarm.lost(draw.probability, draw.typical)
        if here is not None and here.alarm is not None:
            here.alarm.lost(draw.probability, draw.typical)

    @staticmethod
    def _cool(fn: Function, here: Scope) -> None:
        """One more labelled request: early warnings fade, and a halved budget recovers."""
        if here.alarm is not None:
            here.alarm.cool()
            if here.alarm.recent < TIGHTEN:
                here.caution.doubt = max(1.0, here.caution.doubt / 1.005)
        for account in fn.accounts.values():
            account.alarm.cool()
            if account.alarm.recent < TIGHTEN:
                account.ledger.scale = min(1.0, account.ledger.scale * 1.005)

    def _regain(self, fn: Function, here: Scope, risk: float, right: bool) -> None:
        """Let a stopped scope earn its way back.

        It bets on hits it would have served, whose truth the misses show, that fewer than 3 bounds of them are wrong.
        """
        bound = max(fn.accounts)  # under one of them it was stopped
        if fn.calibration.corrected(risk) <= fn.accounts[bound].ledger.limit:
            stake = 0.9 * (3.0 * min(bound, 0.3) - (0.0 if right else 1.0))
            here.regained = max(0.1, here.regained * (1.0 + stake))
        if here.regained >= RESUME:
            here.stopped = False
            for account in fn.accounts.values():
                account.ledger.scale = 0.5

    def _change(self, fn: Function, here: Scope) -> None:
        """The answers of a scope changed: its entries and earlier checks say nothing about the future.

        If that happens again within `SETTLED` labels it was no real change, and what the function learned stays.
        """
        self._restart(here)
        last, here.changed = here.changed, fn.labelled
        if last and fn.labelled - last < SETTLED:
            return
        fn.return_to_state()
        if here.alarm is not None:
            here.alarm.reset()
        for account in fn.accounts.values():
            account.alarm.reset()

    def _restart(self, here: Scope) -> None:
        here.restart()
        self._leaving += here.leaving
        here.leaving.clear()

    def verdict(self, function: str, confidence: float, right: bool, detail: str) -> None:
        """A person judged a hit of this confidence (0 to 1), chosen because it was doubtful.

        The verdict changes the calibration for hits of the same doubt, and so what the budget lets through. The
        estimate stays as it is: only hits drawn at random are representative.
        """
        fn = self._functions.get(function)
        if fn is not None:
            if detail.startswith("repeat"):
                fn.form.learn(right)
                return
            calibration = fn.pairs if detail.startswith("pair") else fn.calibration
            risk = max(1.0 - confidence, 1e-6)
            calibration.learn(min(1.0, risk / calibration.factors[band(risk)]), right)

    def leaving(self) -> list[int]:
        """Ids of the entries found wrong since the last call, for the index to drop."""
        gone, self._leaving = self._leaving, []
        return gone
