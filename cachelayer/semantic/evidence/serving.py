"""Whether an answer that was judged is served: what its risk is charged to, and what is read closely first."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ...types import Decision, Reason
from .checks import Case, Checks
from .function import Account
from .judging import Judge, Judgement

SPARE: Final = 2.0
"""How many times its risk must fit for an answer to be served at a glance (decision 142)."""
DOUBTED: Final = (6.0, 0.05)
"""So many times the bound, and so much more: the risk by the pair verifier from which a closer reading makes a hit of
no candidate (of 82 in two natural sets at 0.05 and 0.01 none had a higher one)."""
SETTLED: Final = 1.0 / 6.0
"""Share of the bound up to which a first reading's risk stands: there a closer one changes next to nothing."""


class Serving(Checks):
    """Serves what fits the error budget."""

    _judge: Judge

    def _weigh(self, case: Case, judged: Judgement, bound: float, *, counted: bool) -> Decision:
        """Serve the chosen candidate if its risk fits the budget. `counted`: charge the budget, maybe draw a check."""
        fn, account = case.fn, case.fn.account(bound)
        if (raised := case.here.caution.raised(judged.risk)) > judged.risk:
            judged = judged._replace(risk=raised)
        decision = self._choose(case, account, judged)
        if judged.glance and decision.entry is None:
            return decision  # its vector is asked next, and seen
        if counted and decision.doubted is None and not judged.pair and not judged.repeat:
            account.ledger.see(judged.risk, fn.calibration)
        if decision.entry is None or not counted:
            return decision
        if judged.repeat:
            account.repeats += 1
        elif judged.pair:
            account.ledger.serve_pair(fn.pairs.corrected(judged.risk))
        else:
            account.ledger.serve(judged.risk, fn.calibration)
        if self._sample(case, judged.chosen.entry, account, judged):
            return replace(decision, shadow=True)
        case.here.caution.novelty.learn(new=False)
        return decision

    def _choose(self, case: Case, account: Account, judged: Judgement) -> Decision:
        """Whether the budget admits the calibrated risk; the decision's detail is 'kind' or 'kind:guard'.

        What the pair verifier decides, or helps to decide, is read closely before it is served if it can be, unless the
        verifier's risk is small already. Nor is anything served for its first reading after another candidate was
        read closely and refused.
        """
        fn, bound, close, chosen = case.fn, account.ledger.bound, case.query.close, judged.chosen
        risk = fn.corrected(judged)
        closely = close is not None and close[0] == chosen.entry
        if case.here.stopped:
            return Decision(None, 1.0 - risk, chosen.similarity, Reason.STOPPED)
        if judged.repeat:
            fits = risk <= bound
        else:
            fits = judged.alone > 0.0 and account.ledger.admits_pair(risk, fn.calibration)
            spare = SPARE if judged.glance else 1.0
            fits = fits or (not judged.pair and account.ledger.admits(spare * judged.risk, fn.calibration))
        closer = self._judge.reads_closely and _worth_reading(case, judged, bound)
        unread = judged.alone > 0.0 and (closer or (close is not None and not closely))
        if not fits or (unread and fn.pairs.corrected(judged.alone) > SETTLED * bound):
            reason = Reason.GUARD if judged.guard else Reason.UNSURE
            doubted = chosen.entry if closer else None
            return Decision(None, 1.0 - risk, chosen.similarity, reason, judged.guard, doubted=doubted)
        kind = judged.kind + (", read closely" if judged.alone and closely else "")
        detail = f"{kind}:{judged.guard}" if judged.guard else kind
        return Decision(chosen.entry, 1.0 - risk, chosen.similarity, None, detail)


def _worth_reading(case: Case, judged: Judgement, bound: float) -> bool:
    """Whether a closer reading of both texts may show something of the candidate that matters."""
    if not case.query.readable or case.query.turns or judged.chosen.turns or judged.guard or judged.repeat:
        return False
    return 0.0 < judged.alone < DOUBTED[0] * bound + DOUBTED[1]
