"""What all scopes of one function share: how evidence is weighed and calibrated, and the budgets."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, Protocol

from .budget import Alarm, Interval, Ledger
from .calibration import Calibration, Form
from .glance_rate import GlanceRate
from .neighbours import Shared
from .principals import ALONE, Evidence, Lesson
from .risk import JointModel, Prior, RiskModel
from .scope import Scope
from .wording import Signatures

MAX_ACCOUNTS: Final = 16
"""The owner's bound and those that requests may tighten it to are fewer."""
LIKELY_PAIR: Final = 0.15
"""Risk by the pair verifier from which it learns nothing: beyond, the nearest entry is mostly no trap but another
question, and how often says little of the risks that are served."""


class Prediction(Protocol):
    """The predicted risk of a judgement, and which rule predicted it."""

    @property
    def risk(self) -> float: ...
    @property
    def pair(self) -> bool: ...
    @property
    def repeat(self) -> bool: ...


class Account:
    """The budget of one function under one `max_error_rate`, with its checks."""

    def __init__(self, bound: float) -> None:
        self.ledger = Ledger(bound)
        self.alarm = Alarm(bound)
        self.interval = Interval()
        self.repeats = self.repeats_checked = 0
        """Hits on requests that differ only in how they are typed, which the budget does not cover; checks of them."""


class Function:
    """What all scopes of one function share."""

    def __init__(self, dimension: int, prior: Prior, signatures: Signatures) -> None:
        self.shared = Shared(dimension, signatures)
        self.model = RiskModel(prior)
        self.joint = JointModel()
        """Weighs the pair verifier beside the neighbours."""
        self.calibration = Calibration()
        self.pairs = Calibration(shift=(0.0, 0.5), slope=(1.0, 0.4), least=0.5, trusting=True)
        """Calibrates the pair verifier, as `calibration` does the risk model."""
        self.form = Form()
        self.glances = GlanceRate()
        self.scopes: OrderedDict[bytes, Scope] = OrderedDict()
        self.accounts: dict[float, Account] = {}
        self.labelled = 0
        self._evidence = Evidence()
        self._before: list[Any] = []
        """The last two saved states of `_learners`."""

    def corrected(self, judged: Prediction) -> float:
        """The calibrated risk of a judgement."""
        if judged.repeat:
            return judged.risk
        return (self.pairs if judged.pair else self.calibration).corrected(judged.risk)

    def learn(self, principal: str, lesson: Lesson) -> None:
        """Learn from one label what holds for all scopes, as far as evidence from this principal is accepted."""
        if self._evidence.joins(principal):
            self.model, self.joint = RiskModel(self.model.prior), JointModel()
            for calibration in (self.calibration, self.pairs):
                calibration.temper(ALONE / max(self.labelled, ALONE))
        for accepted in self._evidence.heed(principal, lesson):
            if accepted.x is not None:
                self.model.learn(accepted.x, accepted.reading_right)
            if accepted.joint is not None:
                self.joint.learn(accepted.joint, accepted.right)
            if accepted.repeat:
                self.form.learn(accepted.right)
            else:
                self._calibrate(accepted)
            self.shared.record.learn(accepted.objected, not accepted.reading_right)

    def _calibrate(self, lesson: Lesson) -> None:
        """Teach the rule that decided, and the pair verifier wherever it was asked."""
        if not lesson.pair:
            self.calibration.learn(lesson.risk, lesson.right)
        if 0.0 < lesson.alone < LIKELY_PAIR:
            self.pairs.learn(lesson.alone, lesson.right)

    def keep_state(self) -> None:
        """Save the state every hundred labels, while answers seem stable, to return to when they change."""
        if self.labelled % 100 == 0:
            self._before = [*self._before[-1:], [one.state() for one in self._learners]]

    def return_to_state(self) -> None:
        """The answers changed, not the meaning of evidence: undo what the change taught about it."""
        if self._before:
            for one, state in zip(self._learners, self._before[0], strict=True):
                one.restore(state)

    @property
    def _learners(self) -> tuple[Any, ...]:
        return self.model, self.joint, self.calibration

    def account(self, bound: float) -> Account:
        """The account of this bound; of more than `MAX_ACCOUNTS` the oldest is dropped."""
        found = self.accounts.get(bound)
        if found is None:
            if len(self.accounts) >= MAX_ACCOUNTS:
                self.accounts.pop(next(iter(self.accounts)))
            found = self.accounts[bound] = Account(bound)
        return found
