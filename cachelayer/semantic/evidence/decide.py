"""The default decider: which candidate to serve, so that the share of wrong answers stays under the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...protocols import Verifier
from ...types import Candidate, Decision, Query, Reason
from ..pairs.verifier import PairVerifier
from .checks import Case
from .judging import PROVEN, Judge, Judgement
from .metric import Vector
from .principals import Lesson
from .prose import Voices
from .risk import Prior
from .scope import Scope
from .serving import Serving
from .wording import Signatures

GLANCED: Final = 0.01
"""Least bound at which glances are made: at half of it two of ten orders of a stream were beyond it (decision 142)."""
LIKELY: Final = 0.35
"""Largest risk at which the neighbours' answer may show that two wordings of an answer mean the same."""


class EvidenceDecider(Serving):
    """Lets candidates vote by answer and serves while the calibrated risk fits the error budget.

    Not thread-safe: the caller holds a lock. `random` yields floats in [0, 1). `shadow` is the share of hits to check:
    'auto' adapts it to need; 0 checks none, so that the budget rests on priors and misses alone and stays unverified.
    Memory is bounded: `max_functions` functions and `max_scopes` scopes of each; the least recently used go first.
    """

    def __init__(
        self,
        verifier: Verifier | None = None,
        *,
        random: Callable[[], float],
        shadow: float | str = "auto",
        prior: Prior | None = None,
        glance: Prior | None = None,
        max_functions: int = 64,
        max_scopes: int = 1024,
    ) -> None:
        verifier = verifier or PairVerifier()
        own = verifier if isinstance(verifier, PairVerifier) else None
        texts = Signatures() if own is None else Signatures(own.signature, 0, own.vocabulary)
        super().__init__(prior or Prior.load(), max_functions, max_scopes, random, shadow, texts)
        self._judge = Judge(verifier, glance)
        self._where: dict[int, tuple[str, bytes]] = {}
        """Function and scope of each entry, by name: a reference would keep evicted scopes alive."""
        self._voices = Voices()

    # -- the path

    def decide(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        """The candidate to serve, if any; a hit counts against the budget and may be drawn for a check."""
        return self._decide(function, scope, query, candidates, max_error_rate, counted=True)

    def preview(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision:
        """What `decide` would return now; nothing is counted and no check is drawn."""
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
        case = self._case(function, scope, query)
        judged = self._judge(case.fn, case.here, query, candidates, case.fn.account(bound))
        if judged is None:
            return Decision(None, 0.0, nearest, Reason.NO_CANDIDATE)
        return self._weigh(case, judged, bound, counted=counted)

    def again(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
    ) -> Decision | None:
        """`decide` for a query without a vector, among entries with the same words; None if it repeats none of them."""
        fn = self._functions.get(function)
        here = fn.scopes.get(scope) if fn is not None else None
        if fn is None or here is None or max_error_rate <= 0.0:
            return None
        judged = self._judge.again(fn, here, query, candidates)
        if judged is None:
            return None
        case = Case(function, scope, query, fn, here)
        return self._weigh(case, judged, max_error_rate, counted=True)

    def glances(self, function: str, scope: bytes, max_error_rate: float, *, counted: bool) -> bool:
        """Whether `glance` may decide: the bound is not too small, the scope has evidence enough, and it was not in
        vain lately. `counted`: see `preview`."""
        if max_error_rate < GLANCED:
            return False
        fn = self._functions.get(function)
        here = fn.scopes.get(scope) if fn is not None else None
        seasoned = here is not None and not here.stopped and here.hood.labelled >= PROVEN
        return fn is not None and seasoned and fn.glances.due(counted=counted)

    def glance(
        self,
        function: str,
        scope: bytes,
        query: Query,
        candidates: Sequence[Candidate],
        max_error_rate: float,
        *,
        counted: bool,
    ) -> Decision | None:
        """`decide` for a query whose vector is a guess; None if the vector is needed. `counted`: see `preview`."""
        case = self._case(function, scope, query)
        judged, decision = self._judge.glance(case.fn, case.here, query, candidates), None
        if judged is not None:
            decision = self._weigh(case, judged, max_error_rate, counted=counted)
        decided = decision is not None and decision.entry is not None
        if counted:
            case.fn.glances.learn(decided)
        return decision if decided else None

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
        """Learn from the true answer to a query: of a miss, or of a check of the entry that was `served`."""
        # Most pairs are read once: a risk learned of those that were read twice would be too kind to the rest. But
        # where the neighbours' risk is weighed beside it, all are read closely that may be served.
        read, query = query, query.first
        case = self._case(function, scope, query)
        fn, here = case.fn, case.here
        if (judged := self._judge(fn, here, query, candidates, None)) is not None:
            judged = self._judge.closer(fn, judged, read)
        vector = self._voices.get(answer)
        likely = judged is not None and fn.corrected(judged) <= LIKELY
        truth, new = here.answer(answer, vector, judged.answer if judged is not None else -1, likely)
        here.caution.novelty.learn(new=new)
        right = judged is not None and judged.answer == truth
        if judged is not None and not judged.pair and here.shift.learn(fn.corrected(judged), not right):
            self._change(fn, here)
            if served is not None:
                self._checked(case, served, right=False)
            return
        if not query.turns:
            reading = judged.reading if judged else None
            here.hood.learn(query.vector, query.text, truth, reading, new, query.principal)
        fn.labelled += 1
        if served is None:
            self._cool(fn, here)
        if here.shift.sum == 0.0:
            fn.keep_state()
        if judged is not None:
            self._teach(case, judged, truth)
        if served is not None:
            self._checked(case, served, right=_held(here, served, candidates) == truth)
        elif judged is not None and here.stopped:
            self._regain(fn, here, judged.risk, right)

    @staticmethod
    def _teach(case: Case, judged: Judgement, truth: int) -> None:
        """What the label `truth` (an answer's id) says about the judgement, for this principal and for all."""
        right, reading, principal = judged.answer == truth, judged.reading, case.query.principal
        if principal:
            case.here.caution.learn(case.fn.corrected(judged), right)
        reading_right = reading is not None and reading.answer == truth
        objected = reading.objected if reading is not None else ()
        lesson = Lesson(
            judged.risk,
            right,
            judged.x,
            reading_right,
            objected,
            judged.pair,
            judged.repeat,
            judged.alone,
            judged.joint,
        )
        case.fn.learn(principal, lesson)

    def hearing(self) -> Callable[[str, Vector], None]:
        """Remembers the vector of a prose answer for `observe` and `stored`, unless texts were forgotten since."""
        return self._voices.add

    def prepare(self, text: str) -> None:
        """Analyse a request's text before its candidates are known: most of the cost of a decision."""
        self._judge.prepare(text)

    def forget_texts(self) -> None:
        """Drop every remembered text, so that none of an erased tenant stays."""
        self._judge.forget_texts()
        self._voices = Voices()
        self._signatures.clear()

    def stored(
        self,
        entry: int,
        function: str,
        scope: bytes,
        query: Query,
        answer: str,
    ) -> None:
        """An entry with this answer is findable from now on."""
        self._case(function, scope, query).here.keep(entry, answer, self._voices.get(answer))
        self._where[entry] = (function, scope)

    def forget(self, entry: int) -> None:
        """The entry is gone."""
        here = self._home(self._where.pop(entry, None))
        if here is not None:
            here.drop(entry)

    def report_wrong(self, entry: int) -> None:
        """The owner says that this entry's answer is wrong: never serve it again, and trust its answer less."""
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


def _held(here: Scope, served: int, candidates: Sequence[Candidate]) -> int | None:
    """The id of the answer that was served, also of an entry that had to make room before its check was over."""
    answer = here.entries.get(served)
    if answer is None and served not in here.retired:
        said = next((one.answer for one in candidates if one.entry == served), None)
        return None if said is None else here.find(said)
    return answer
