"""Choosing among candidates so that the share of wrong answers served stays under the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ..protocols import Verifier
from ..types import Candidate, Decision, Query, Reason
from .checks import Checks
from .evidence import Vector
from .judging import Judge, Judgement
from .principals import Lesson
from .risk import Prior
from .scope import Account, Function, Scope
from .verifier import PairVerifier
from .weights import load_prior
from .wording import Signatures

LIKELY: Final = 0.35
"""Risk up to which the neighbours' answer may join two wordings."""


class EvidenceDecider(Checks):
    """Lets candidates vote by answer and serves while the calibrated risk fits the error budget.

    Not thread-safe: the caller holds a lock. `random` yields floats in [0, 1). `shadow`: the share of hits to check,
    'auto' to adapt it to need, 0 for none (the budget then rests on priors and misses alone, shown as unverified).
    Bounded: `max_functions` functions, `max_scopes` scopes of each, the least recently used go first.
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
        verifier = verifier or PairVerifier()
        texts = Signatures(verifier.signature, 0) if isinstance(verifier, PairVerifier) else Signatures()
        super().__init__(prior or load_prior(), max_functions, max_scopes, random, shadow, texts)
        self._judge = Judge(verifier)
        self._where: dict[int, tuple[str, bytes]] = {}
        """Function and scope by name: of scopes that had to make room nothing stays."""
        self._voices: dict[str, Vector] = {}

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
        return self._answered(function, scope, query, candidates, bound, fn, here, judged, counted=counted)

    def again(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision | None:
        """`decide` among entries that share the query's words, where one of them is repeated; else None."""
        fn = self._functions.get(function)
        here = fn.scopes.get(scope) if fn is not None else None
        if fn is None or here is None or max_error_rate <= 0.0:
            return None
        judged = self._judge.again(fn, here, query, candidates)
        if judged is None:
            return None
        return self._answered(function, scope, query, candidates, max_error_rate, fn, here, judged)

    def _answered(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        bound: float,
        fn: Function,
        here: Scope,
        judged: Judgement,
        *,
        counted: bool = True,
    ) -> Decision:
        """Serve what was judged, or not; counted, and perhaps to be checked."""
        if (factor := here.caution.factor) > 1.0:
            judged = judged._replace(risk=min(0.999, judged.risk * factor))
        account = fn.account(bound)
        chosen = candidates[judged.place]
        if counted and not judged.pair and not judged.repeat:
            account.ledger.see(judged.risk, fn.calibration)
        decision = self._choose(fn, here, account, chosen, judged)
        if decision.entry is None or not counted:
            return decision
        if judged.repeat:
            account.repeats += 1
        elif judged.pair:
            account.ledger.serve_pair(fn.pairs.corrected(judged.risk))
        else:
            account.ledger.serve(judged.risk, fn.calibration)
        check = self._sample(function, scope, query, chosen.entry, fn, here, account, judged)
        return replace(decision, shadow=True) if check else decision

    @staticmethod
    def _choose(
        fn: Function, here: Scope, account: Account, chosen: Candidate, judged: Judgement
    ) -> Decision:
        risk = fn.corrected(judged)
        if here.stopped:
            return Decision(None, 1.0 - risk, chosen.similarity, Reason.STOPPED)
        if judged.repeat:
            fits = risk <= account.ledger.bound
        elif judged.pair:
            fits = account.ledger.admits_pair(risk, fn.calibration)
        else:
            fits = account.ledger.admits(judged.risk, fn.calibration)
        if not fits:
            reason = Reason.GUARD if judged.guard else Reason.UNSURE
            return Decision(None, 1.0 - risk, chosen.similarity, reason, judged.guard)
        road = "repeat" if judged.repeat else "pair" if judged.pair else "neighbours"
        said = f"{road}:{judged.guard}" if judged.guard else road
        return Decision(chosen.entry, 1.0 - risk, chosen.similarity, None, said)

    # -- learning, off the path

    def observe(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        answer: str,
        served: int | None,
    ) -> None:
        fn = self._function(function, query)
        here = self._scope(fn, scope)
        judged = self._judge(fn, here, query, candidates, learning=True)
        vector = self._voices.get(answer)
        likely = judged is not None and fn.corrected(judged) <= LIKELY
        truth, new = here.answer(answer, vector, judged.answer if judged is not None else -1, likely)
        right = judged is not None and judged.answer == truth
        if judged is not None and not judged.pair and here.shift.learn(fn.corrected(judged), not right):
            self._change(fn, here)
            if served is not None:
                self._checked(function, scope, query, served, fn, here, right=False)
            return
        if not query.turns:
            here.hood.learn(query.vector, query.text, truth, judged.reading if judged else None, new)
        fn.labelled += 1
        if served is None:
            self._cool(fn, here)
        if here.shift.sum == 0.0:
            fn.keep_state()
        if judged is not None:
            self._teach(fn, here, query, judged, truth)
        if served is not None:
            self._checked(function, scope, query, served, fn, here, right=here.entries.get(served) == truth)
        elif judged is not None and here.stopped:
            self._regain(fn, here, judged.risk, right)

    @staticmethod
    def _teach(fn: Function, here: Scope, query: Query, judged: Judgement, truth: int) -> None:
        right, reading = judged.answer == truth, judged.reading
        if query.principal:
            here.caution.learn(fn.corrected(judged), right)
        reading_right = reading is not None and reading.answer == truth
        objected = reading.objected if reading is not None else ()
        lesson = Lesson(judged.risk, right, judged.x, reading_right, objected, judged.pair, judged.repeat)
        fn.learn(query.principal, lesson)

    def heard(self, answer: str, vector: Vector) -> None:
        """The vector of a prose answer, told before `observe` and `stored`; the last few are remembered."""
        self._voices[answer] = vector
        if len(self._voices) > 256:
            del self._voices[next(iter(self._voices))]

    def prepare(self, text: str) -> None:
        """Read a request's text before its candidates are known: most of what a decision costs without them."""
        self._judge.prepare(text)

    def forget_texts(self) -> None:
        """Drop every remembered text: an erased tenant's must not stay."""
        self._judge.forget_texts()
        self._voices.clear()
        self._signatures.clear()

    def stored(
        self,
        entry: int,
        function: str,
        scope: bytes,
        query: Query,
        answer: str,
    ) -> None:
        here = self._scope(self._function(function, query), scope)
        here.keep(entry, answer, self._voices.get(answer))
        self._where[entry] = (function, scope)

    def forget(self, entry: int) -> None:
        here = self._home(self._where.pop(entry, None))
        if here is not None:
            here.drop(entry)

    def report_wrong(self, entry: int) -> None:
        place = self._where.get(entry)
        here = self._home(place)
        if place is None:
            return
        if here is None:  # it had to make room
            self._leaving.append(entry)
            return
        answer = here.entries.get(entry)
        if answer is not None:
            here.hood.answers.wrong[answer] += 2.0
        here.retire(entry)
        self._leaving += here.leaving
        here.leaving.clear()
