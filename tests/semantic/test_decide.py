"""The decider: neighbours vote by answer, risk stays under the bound, what turned wrong is not served again."""

from __future__ import annotations

import gc
import random
import weakref

import numpy as np
import pytest
from numpy.typing import NDArray

from cachelayer.protocols import Decider, Verifier
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.metric import Metric
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Decision, Query, Reason, Turn

VECTOR = np.zeros(4, np.float32)


def decider(seed: int = 0, **settings: object) -> EvidenceDecider:
    return EvidenceDecider(random=random.Random(seed).random, **settings)  # type: ignore[arg-type]


def candidate(text: str, similarity: float, entry: int = 1, turns: tuple[Turn, ...] = ()) -> Candidate:
    return Candidate(entry, similarity, text, "an answer", turns)


class World:
    """Classes as directions on a sphere; requests scatter about them; a brute-force cache in front."""

    def __init__(self, seed: int, classes: int = 12, scatter: float = 0.055, dimension: int = 64) -> None:
        self.rng = np.random.default_rng(seed)
        self.centres = self.unit(self.rng.normal(size=(classes, dimension)))
        self.scatter = scatter
        self.answers = [f"answer {i}" for i in range(classes)]
        self.kept: list[tuple[NDArray[np.float32], str]] = []
        self.gone: set[int] = set()

    @staticmethod
    def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
        return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)

    def ask(self, decider: EvidenceDecider, bound: float, scope: bytes = b"") -> tuple[Decision, bool]:
        """One request; returns the decision and whether a served answer was wrong."""
        c = int(self.rng.integers(len(self.centres)))
        x = self.unit(self.centres[c] + self.rng.normal(size=self.centres.shape[1]) * self.scatter)
        query = Query(f"request {self.rng.integers(10**9)}", x)
        found = []
        if self.kept:
            scores = np.array([v for v, _ in self.kept]) @ x
            scores[list(self.gone)] = -1.0
            order = np.argsort(-scores)[:8]
            found = [Candidate(int(i), float(scores[i]), f"t{i}", self.kept[i][1]) for i in order]
        decision = decider.decide("f", scope, query, found, bound)
        truth = self.answers[c]
        if decision.entry is None:
            decider.observe("f", scope, query, found, truth, None)
            self.kept.append((x, truth))
            decider.stored(len(self.kept) - 1, "f", scope, query, truth)
            self.gone.update(decider.leaving())
            return decision, False
        if decision.shadow:
            decider.observe("f", scope, query, found, truth, decision.entry)
        return decision, self.kept[decision.entry][1] != truth


def test_decider_and_verifier_implement_their_protocols() -> None:
    assert isinstance(decider(), Decider)
    assert isinstance(PairVerifier(), Verifier)


def test_recurring_answers_are_served_within_the_bound() -> None:
    for seed in range(4):
        world, d = World(seed), decider(seed)
        outcomes = [world.ask(d, 0.02) for _ in range(1200)]
        hits = [wrong for decision, wrong in outcomes if decision.entry is not None]
        assert len(hits) > 500
        assert sum(hits) <= 0.02 * len(hits)


def test_requests_without_structure_are_not_served() -> None:
    world, d = World(1, classes=400, scatter=1.0), decider()
    hits = [
        wrong for decision, wrong in (world.ask(d, 0.02) for _ in range(600)) if decision.entry is not None
    ]
    assert sum(hits) <= 2


def test_answers_that_all_change_are_noticed_by_misses_and_the_scope_starts_again_from_nothing() -> None:
    world, d = World(2), decider(2)
    for _ in range(900):
        world.ask(d, 0.02)
    world.answers = [f"new {a}" for a in world.answers]
    after = [world.ask(d, 0.02) for _ in range(1200)]
    assert world.gone
    wrong_late = [wrong for decision, wrong in after[300:] if decision.entry is not None]
    assert len(wrong_late) > 200
    assert sum(wrong_late) <= 0.02 * len(wrong_late)


def test_what_a_change_of_answers_taught_about_evidence_is_unlearned_and_early_warnings_go_with_it() -> None:
    world, d = World(2), decider(2)
    for _ in range(600):
        world.ask(d, 1e-7)
    function = d._functions["f"]
    wrong, alarm = float(function.calibration.wrong.sum()), function.account(0.02).alarm
    alarm.hit(1.0, True)
    alarm.hit(1.0, True)
    world.answers = [f"new {a}" for a in world.answers]
    while not world.gone:
        warned = alarm.recent
        world.ask(d, 1e-7)
    assert alarm.recent <= 1.0 and warned > 5.0
    assert float(function.calibration.wrong.sum()) <= wrong + 2.0


def test_an_answer_reported_wrong_is_never_served_again() -> None:
    query, d = Query("how can i reset my password?", VECTOR), decider()
    found = [candidate("how can i reset my password", 0.999)]
    d.stored(1, "f", b"", query, "an answer")
    assert d.decide("f", b"", query, found, 0.05).entry == 1
    d.report_wrong(1)
    assert d.decide("f", b"", query, found, 0.05).entry is None


def test_verdicts_on_doubtful_hits_make_hits_as_doubtful_rarer_and_leave_the_estimate_alone() -> None:
    query, d = Query("how can i reset my password?", VECTOR), decider(shadow=0.0)
    found = [candidate("how can i reset my password", 0.999)]
    d.stored(1, "f", b"", query, "an answer")
    served = d.decide("f", b"", query, found, 0.005)
    assert served.entry == 1
    for _ in range(3):
        d.verdict("f", served.confidence, True, served.detail)
    assert d.preview("f", b"", query, found, 0.005).confidence >= served.confidence
    for _ in range(12):
        d.verdict("f", served.confidence, False, served.detail)
    assert d.preview("f", b"", query, found, 0.005).entry is None
    told = d.stats()["f"]["0.005"]
    assert told["estimate"] is None and told["checks"] == 0
    d.verdict("never seen", 0.9, False, "")


def test_which_answers_say_the_same_can_be_asked_of_what_was_learned() -> None:
    query, d = Query("how can i reset my password?", VECTOR), decider()
    found = [candidate("how can i reset my password", 0.999)]
    d.stored(1, "f", b"", query, "an answer")
    d.observe("f", b"", query, found, "An answer.", None)
    d.observe("f", b"", query, found, "another", None)
    assert d.agrees("f", b"", 1, "an  ANSWER") is True and d.agrees("f", b"", 1, "another") is False
    assert (
        d.agrees("f", b"", 2, "another")
        is d.agrees("g", b"", 1, "another")
        is d.agrees("f", b"", 1, "x")
        is None
    )


def test_before_anything_is_known_an_edited_fact_is_refused_by_name() -> None:
    query = Query("what are the 3 rules", VECTOR)
    refused = decider().decide("f", b"", query, [candidate("what are the 2 rules", 0.999)], 0.05)
    assert (refused.entry, refused.reason, refused.detail) == (None, Reason.GUARD, "numbers")


def test_what_a_cold_scope_serves_does_not_hang_on_what_is_read_for_learning() -> None:
    """A cold decision skips the neighbours' reading; learning takes it, and both judge alike."""
    d = decider()
    fn = d._function("f", Query("a", VECTOR))
    here = d._scope(fn, b"")
    for entry in (1, 2):
        d.stored(entry, "f", b"", Query("where are the 3 rules?", VECTOR), "an answer")
    for text in ("where are the 3 rules", "where do I find the 3 rules?", "what are the 2 rules"):
        query, found = (
            Query(text, VECTOR),
            [candidate("where are the 3 rules?", 0.99), candidate("rules", 0.5, 2)],
        )
        short = d._judge(fn, here, query, found, fn.account(0.05))
        whole = d._judge(fn, here, query, found, None)
        assert short is not None
        assert whole is not None
        assert (short.chosen, short.answer, short.risk, short.guard) == (
            whole.chosen, whole.answer, whole.risk, whole.guard,
        )  # fmt: skip
        assert whole.reading is not None


def test_the_guarded_nearest_does_not_hide_the_next() -> None:
    query = Query("what are the 3 rules", VECTOR)
    found = [candidate("what are the 2 rules", 0.9995, 1), candidate("what are the 3 rules?", 0.9993, 2)]
    assert decider().decide("f", b"", query, found, 0.05).entry == 2


def test_an_error_budget_of_zero_serves_nothing() -> None:
    decision = decider().decide("f", b"", Query("a", VECTOR), [candidate("a", 1.0)], 0.0)
    assert (decision.entry, decision.reason) == (None, Reason.OFF)


def test_the_same_words_in_another_conversation_are_not_served() -> None:
    query = Query("cancel it", VECTOR, turns=(Turn("user", "I ordered a lamp"),))
    found = [candidate("cancel it", 1.0, turns=(Turn("user", "I booked a room"),))]
    assert decider().decide("f", b"", query, found, 0.05).entry is None
    same = [candidate("cancel it", 1.0, turns=query.turns)]
    assert decider().decide("f", b"", query, same, 0.05).entry == 1


def test_a_preview_counts_nothing() -> None:
    d, query = decider(), Query("a b c", VECTOR)
    for _ in range(5):
        assert d.preview("f", b"", query, [candidate("a b c", 1.0)], 0.05).entry == 1
    assert d.stats()["f"]["0.05"]["hits"] == 0


def test_one_scope_never_votes_in_another() -> None:
    world, d = World(3), decider(3)
    for _ in range(400):
        world.ask(d, 0.02, b"one")
    query = Query("a new request", world.kept[0][0])
    assert d.decide("f", b"two", query, [], 0.02).reason is Reason.NO_CANDIDATE


@pytest.mark.parametrize("shadow", [0, 1.0])
def test_checks_are_as_many_as_asked_for_and_shown(shadow: float) -> None:
    world, d = World(4), decider(4, shadow=shadow)
    hits = [
        decision for decision, _ in (world.ask(d, 0.02) for _ in range(500)) if decision.entry is not None
    ]
    assert all(h.shadow == bool(shadow) for h in hits)
    told = d.stats()["f"]["0.02"]
    assert told["state"] == ("certified" if shadow else "unverified")
    assert told["checks"] == (len(hits) if shadow else 0)


def test_the_metric_is_the_inverse_of_the_scatter() -> None:
    rng = np.random.default_rng(0)
    rows = World.unit(rng.normal(size=(500, 16)))
    metric = Metric(16)
    for x in rows:
        metric.add(x)
    np.testing.assert_allclose(
        metric.inverse, np.linalg.inv(np.eye(16) + rows.T @ rows), rtol=2e-3, atol=1e-6
    )


def test_memory_is_bounded_by_the_number_of_scopes() -> None:
    d = decider(max_scopes=5, max_functions=2)
    for i in range(40):
        d.stored(i, f"f{i % 4}", bytes([i]), Query("q", VECTOR), "a")
    assert len(d._functions) <= 2
    assert all(len(f.scopes) <= 5 for f in d._functions.values())


def test_many_new_scopes_make_room_for_one_another_and_not_in_what_was_learned_or_stopped() -> None:
    d, query = decider(max_scopes=20), Query("q", VECTOR)
    for scope in (b"stopped", b"learned"):
        for i in range(5 if scope == b"learned" else 1):
            d.observe("f", scope, query, [], f"answer {i}", None)
    scopes = d._functions["f"].scopes
    scopes[b"stopped"].stopped = True
    for i in range(500):
        d.observe("f", b"new %d" % i, query, [], "an answer", None)
    assert len(scopes) == 20
    assert scopes[b"stopped"].stopped
    assert scopes[b"learned"].hood.labelled == 5


def test_many_functions_make_room_for_one_another_and_not_in_what_was_learned_or_stopped() -> None:
    d, query = decider(max_functions=20), Query("q", VECTOR)
    for i in range(50):
        d.observe("learned" if i else "stopped", b"", query, [], f"answer {i}", None)
    d._functions["stopped"].scopes[b""].stopped = True
    for turn in range(3):
        for i in range(22):  # four more than there is room for
            d.observe(f"f{i}", b"", query, [], "an answer", None)
        asked_in_each_turn = [name for name, fn in d._functions.items() if fn.labelled == turn + 1]
        assert turn == 0 or len(asked_in_each_turn) > 5
    assert d._functions["stopped"].scopes[b""].stopped and d._functions["learned"].labelled == 49
    assert len(d._functions) == 20


def test_a_scope_that_made_room_is_let_go_of_and_its_entries_can_still_be_reported() -> None:
    d = decider(max_scopes=1)
    query = Query("q", VECTOR)
    d.stored(1, "f", b"first", query, "a")
    (first,) = (weakref.ref(scope) for scope in d._functions["f"].scopes.values())
    d.stored(2, "f", b"second", query, "b")
    gc.collect()
    assert first() is None
    d.report_wrong(1)
    d.report_wrong(2)
    assert d.leaving() == [1, 2]
    d.forget(1)
    d.forget(2)
    assert not d._where
