"""Checks of what was served: which hits are asked again, and what follows from their answers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from ..types import Query
from .budget import level
from .calibration import band
from .judging import Judgement
from .register import Register
from .risk import Prior
from .scope import Account, Function, Scope
from .wording import Signatures

TIGHTEN, STOP, RESUME = 20.0, 100.0, 10.0
"""Wealth of the alarm at which the budget is halved, the scope stops, and a stopped one starts again."""
RARELY: Final = 0.0125
"""The share of hits that is checked where nothing asks for more."""
SETTLED: Final = 500
"""Labels that must lie between two changes of answers for the second to be taken for one."""


class Checks(Register):
    """Draws checks and moves the error budget by what they show."""

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
        self._pending: OrderedDict[tuple[str, bytes, str, int], tuple[float, float]] = OrderedDict()
        """Checks under way: (function, scope, text, entry) -> (probability, bound)."""

    def _sample(
        self,
        function: str,
        scope: bytes,
        query: Query,
        entry: int,
        fn: Function,
        here: Scope,
        account: Account,
        judged: Judgement,
    ) -> bool:
        """Whether to check this hit; what is not checked counts at once."""
        probability = self._probability(fn, here, account, judged) if query.checkable else 0.0
        if probability <= 0.0:
            return False
        if judged.repeat:
            drawn = self._random() < probability
            account.repeats_checked += drawn
            return drawn
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

    def _probability(self, fn: Function, here: Scope, account: Account, judged: Judgement) -> float:
        if not isinstance(self._shadow, str):
            return level(self._shadow)
        if judged.repeat:
            return 1.0 if fn.form.labels < fn.form.YOUNG else RARELY
        ledger = account.ledger
        share = 0.02 * fn.corrected(judged) / ledger.typical
        if ledger.hits < 100:
            share = max(share, 0.06)
        if max(account.alarm.recent, here.alarm.recent if here.alarm else 0.0) > 5.0:
            share = max(4.0 * share, 0.06)
        return level(min(0.5, max(RARELY, share)))

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
        account.alarm.hit(probability, not right)
        own = here.alarm.hit(probability, not right)
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

    @staticmethod
    def _cool(fn: Function, here: Scope) -> None:
        """Early warnings wear off with labels, and a halved budget recovers."""
        if here.alarm is not None:
            here.alarm.cool()
            if here.alarm.recent < TIGHTEN:
                here.caution.doubt = max(1.0, here.caution.doubt / 1.005)
        for account in fn.accounts.values():
            account.alarm.cool()
            if account.alarm.recent < TIGHTEN:
                account.ledger.scale = min(1.0, account.ledger.scale * 1.005)

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

    def _change(self, fn: Function, here: Scope) -> None:
        """The answers of a scope changed: what was said and checked before tells nothing of what comes.

        Where that happens over and over, it was no change: then all that was learned stays.
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
        """A person judged a hit of this confidence that was picked for being doubtful.

        It moves what is believed of hits as doubtful as it, and so what the budget lets through. The estimate
        stays: only hits that were drawn by chance may speak for all.
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
        """Entries found wrong since last asked, for the index to drop."""
        gone, self._leaving = self._leaving, []
        return gone
