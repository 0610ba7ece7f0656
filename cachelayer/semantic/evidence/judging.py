"""Which answer the candidates support, and the predicted risk of serving it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ...protocols import Verifier
from ...types import Candidate, Query
from .function import Account, Function
from .neighbours import NEVER, PAIR, PAIR_RIVAL, SURELY, Known, Reading
from .risk import Floats, Prior, RiskModel
from .scope import Scope

Repeated = Callable[[Query, Sequence[Candidate]], Candidate | None]
PROVEN: Final = 30
"""Labelled requests from which on a scope's own evidence counts."""
SUPPORT: Final = 3
"""Labelled requests of an answer; with fewer, the pair verifier is asked as well."""
KNOWN: Final = 0.001
"""Risk by the pair verifier up to which it knows that both ask one thing: in two frames, word for word."""
_WORDS: Final = (PAIR, PAIR_RIVAL)
"""What it says of the nearest entry and of the nearest rival."""


class Judgement(NamedTuple):
    """The best answer among the candidates and the predicted risk of serving it."""

    chosen: Candidate
    answer: int
    """Id of its answer within the scope; -1 if it is unknown."""
    risk: float
    """Predicted probability that serving it is wrong, not yet calibrated."""
    x: Floats | None
    """Features for the risk model; None if the neighbours were not consulted."""
    reading: Reading | None
    """What the neighbours say; None if they were not consulted."""
    guard: str = ""
    """The guard that objects, if any."""
    pair: bool = False
    """The risk comes from the pair verifier alone."""
    alone: float = 0.0
    """The risk by the pair verifier alone; 0 if it was not asked."""
    voted: float = 0.0
    """The risk by the neighbours, where both are weighed."""
    joint: Floats | None = None
    """Both then, as features for `Function.joint`."""
    glance: bool = False
    """By a guess at the query's vector."""
    repeat: bool = False
    """The text differs from an entry's only in how it is typed; the risk is that this matters to the function."""

    @property
    def kind(self) -> str:
        """What it was judged by, for people."""
        if self.repeat:
            return "repeat"
        if self.glance:
            return "neighbours, at a glance"
        return "pair" if self.pair else "neighbours" if self.joint is None else "both"


class Judge:
    """Judges candidates by the first rule that applies.

    1. An entry that the text repeats wins.
    2. The pair verifier decides alone while the scope has little evidence, and between conversations.
    3. Otherwise the neighbours vote, and the pair verifier's word is part of what they say, unless their vote fits the
       budget whatever it would be, or never does: then it is not asked. Where the answer has little support, its risk
       is weighed beside theirs. If a single other principal was given the answer, who may have planted it, or the
       request says the contrary of all that were, the pair verifier decides alone; so it does where it knows that both
       texts ask one thing and the answer has little support.
    """

    def __init__(self, verifier: Verifier, glance: Prior | None = None) -> None:
        self._verifier = verifier
        self._glanced = RiskModel(glance or Prior.load("glance"))
        self._compares_turns: bool = getattr(verifier, "compares_turns", False)
        self.reads_closely: bool = getattr(verifier, "reads_closely", False)
        self._repeated: Repeated | None = getattr(verifier, "repeated", None)

    def prepare(self, text: str) -> None:
        """Analyse a request's text before its candidates are known."""
        getattr(self._verifier, "prepare", lambda text: None)(text)

    def forget_texts(self) -> None:
        getattr(self._verifier, "clear", lambda: None)()

    def __call__(
        self,
        fn: Function,
        here: Scope,
        query: Query,
        candidates: Sequence[Candidate],
        account: Account | None,
    ) -> Judgement | None:
        """None if no candidate is usable. `account`: the budget that is decided under; None to learn: then the
        neighbours are read even while their vote does not count, and so is all that they may say."""
        usable = list(candidates)
        if not self._compares_turns:
            usable = [c for c in candidates if c.turns == query.turns]
        known = here.known(usable)
        unknown = _unknown(here, usable, known) if len(known) < len(usable) else []
        repeat = self._again(query, usable, known)
        if repeat is not None and account is not None:
            return _repeat(fn, usable[repeat.place], repeat.answer)
        nearest = [(usable[k.place], k.answer) for k in known[:3]]
        if unknown and repeat is None and (not known or unknown[0][0].similarity > known[0].similarity):
            return self._pair(query, unknown)
        if not known:
            return None
        cold = here.hood.labelled < PROVEN
        talking = self._compares_turns and (query.turns or any(c.turns for c in usable))
        if talking or (cold and account is not None):
            return self._pair(query, nearest)
        reading = here.hood.read(query.vector, query.text, known, len(here.entries))
        if repeat is None and not cold:
            return self._voted(fn, here, query, usable, known, reading, account)
        x, reading = self._heard(fn, query, usable, reading)
        if repeat is not None:
            return _repeat(fn, usable[repeat.place], repeat.answer, x, reading)
        return self._pair(query, nearest, x, reading)

    def _voted(
        self,
        fn: Function,
        here: Scope,
        query: Query,
        usable: Sequence[Candidate],
        known: Sequence[Known],
        reading: Reading,
        account: Account | None,
    ) -> Judgement:
        """The judgement by the neighbours' vote, or in their place or beside them by the pair verifier."""
        planted = _planted(here, query, reading)
        alone = planted or reading.contrary or self._edited(query, usable, reading)
        sole = reading.support >= SUPPORT and not alone
        chosen = usable[reading.place]
        if account is not None and sole and (settled := _settled(fn, here, account, reading)) is not None:
            x, risk = settled
            return Judgement(chosen, reading.answer, risk, x, reading)
        x, reading = self._heard(fn, query, usable, reading)
        risk = fn.model.risk(x)
        if sole:
            return Judgement(chosen, reading.answer, risk, x, reading)
        same = [(usable[k.place], k.answer) for k in known if k.answer == reading.answer][:3]
        by_pair = self._pair(query, same, x, reading)
        return by_pair if alone or by_pair.alone <= KNOWN else _weighed(fn, by_pair, by_pair.alone, risk)

    def _heard(
        self, fn: Function, query: Query, usable: Sequence[Candidate], reading: Reading
    ) -> tuple[Floats, Reading]:
        """The reading with the pair verifier's word, and its features for the risk model."""
        judged = self._verifier.judge(query.first, [usable[i] for i in reading.asked])
        reading = reading.heard([p for p, _ in judged])
        return fn.model.encode(reading.features), reading

    def closer(self, fn: Function, judged: Judgement, query: Query) -> Judgement:
        """The judgement by both risks after the chosen candidate was read closely, if it was; else as it is."""
        if judged.joint is None or query.close is None or query.close[0] != judged.chosen.entry:
            return judged
        ((sure, _),) = self._verifier.judge(query, [judged.chosen])
        return _weighed(fn, judged, _risk(sure), judged.voted)

    def again(
        self, fn: Function, here: Scope, query: Query, candidates: Sequence[Candidate]
    ) -> Judgement | None:
        """The judgement on the candidate that the request repeats, among some with the same words; None if none."""
        found = self._again(query, candidates, here.known(candidates))
        return None if found is None else _repeat(fn, candidates[found.place], found.answer)

    def glance(
        self, fn: Function, here: Scope, query: Query, candidates: Sequence[Candidate]
    ) -> Judgement | None:
        """The judgement by a guess at the query's vector; None where that does not do: where the neighbours may not
        decide alone, or their vote hangs on a word of the pair verifier's."""
        known = here.known(candidates)
        if not known or known[0].place > 0 or any(c.turns for c in candidates):
            return None
        if (repeat := self._again(query, candidates, known)) is not None:
            return _repeat(fn, candidates[repeat.place], repeat.answer)
        reading = here.hood.read(query.vector, query.text, known, len(here.entries))
        if reading.support < SUPPORT or reading.contrary or reading.edit >= 0:
            return None
        if _planted(here, query, reading):
            return None
        x = self._glanced.encode(reading.features)
        chosen, risk = candidates[reading.place], self._glanced.risk(x)
        return Judgement(chosen, reading.answer, risk, x, reading, glance=True)

    def _again(self, query: Query, usable: Sequence[Candidate], known: Sequence[Known]) -> Known | None:
        """The candidate whose text differs from the request's only in how it is typed."""
        if self._repeated is None:
            return None
        asked = usable if len(known) == len(usable) else [usable[k.place] for k in known]
        found = self._repeated(query, asked)
        return None if found is None else next(k for k in known if usable[k.place] is found)

    def _edited(self, query: Query, usable: Sequence[Candidate], reading: Reading) -> bool:
        """Whether the request is a wording of the neighbours' answer, edited to another question."""
        at, asked = reading.edit, query.first
        return at >= 0 and self._verifier.judge(asked, [usable[at]])[0][0] < reading.doubt

    def _pair(
        self,
        query: Query,
        near: Sequence[tuple[Candidate, int]],
        x: Floats | None = None,
        reading: Reading | None = None,
    ) -> Judgement:
        """The best of a few candidates, given with their answers, by the pair verifier alone."""
        judged = self._verifier.judge(query, [c for c, _ in near])
        best = max(range(len(near)), key=lambda i: judged[i][0])
        (chosen, answer), (sure, guard) = near[best], judged[best]
        risk = _risk(sure)
        return Judgement(chosen, answer, risk, x, reading, guard, pair=True, alone=risk)


def _planted(here: Scope, query: Query, reading: Reading) -> bool:
    """Whether a single other principal was given the answer, who may have planted it."""
    return here.hood.answers.given[reading.answer] not in ("", query.principal, None)


def _settled(fn: Function, here: Scope, account: Account, reading: Reading) -> tuple[Floats, float] | None:
    """The features without the pair verifier's word and their risk, if the budget admits the neighbours' risk whatever
    that word would be, or whatever it would be does not.

    Of the hits of two streams four in five are admitted so, and their risks sum to 1.08 of what they do with it; of
    what is left two in five are refused so (decisions 132 and 135). Where a rival is as near, the usual word promises
    more than the pair verifier then says: nothing is admitted by it.
    """
    model, asked = fn.model, len(reading.asked)
    x, best, worst = model.without(model.encode(reading.features), _WORDS[:asked], NEVER, SURELY)
    if asked == 1 and account.ledger.admits(here.caution.raised(model.risk(worst)), fn.calibration):
        return x, model.risk(x)
    if account.ledger.admits(here.caution.raised(least := model.risk(best)), fn.calibration):
        return None
    return x, max(model.risk(x), least)


def _unknown(here: Scope, usable: Sequence[Candidate], known: Sequence[Known]) -> list[tuple[Candidate, int]]:
    """The nearest candidates that may be served and whose answers the scope does not know."""
    places = {k.place for k in known}
    return [(c, -1) for i, c in enumerate(usable) if i not in places and c.entry not in here.retired][:3]


def _risk(sure: float) -> float:
    """What the pair verifier leaves, never nothing."""
    return max(1.0 - sure, 1e-6)


def _weighed(fn: Function, judged: Judgement, alone: float, voted: float) -> Judgement:
    """The judgement by two risks: the pair verifier's and that which the neighbours predict."""
    joint = fn.joint.read(alone, voted)
    return judged._replace(risk=fn.joint.risk(joint), voted=voted, joint=joint, pair=False)


def _repeat(
    fn: Function, chosen: Candidate, answer: int, x: Floats | None = None, reading: Reading | None = None
) -> Judgement:
    return Judgement(chosen, answer, fn.form.risk, x, reading, repeat=True)
