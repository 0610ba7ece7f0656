"""Requests that hardly recur: neighbours say little there, so the pair verifier's word is weighed beside theirs."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.function import Function
from cachelayer.semantic.evidence.principals import Lesson
from cachelayer.semantic.evidence.risk import JointModel, Prior
from cachelayer.semantic.evidence.wording import Signatures
from cachelayer.types import Candidate, Decision, Query

DIMENSION = 64


class Says:
    """A verifier that is as sure as it is told of texts that begin with the same word, and of no others."""

    def __init__(self, sure: float) -> None:
        self.sure = sure

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        first = query.text.split()[0]
        return [(self.sure if c.text.split()[0] == first else 0.01, "") for c in candidates]


class World:
    """Questions far from each other. Each has a second one near by, which takes the same answer, or another."""

    def __init__(self, sure: float, shadow: float = 0.0) -> None:
        self.rng = np.random.default_rng(0)
        self.verifier = Says(sure)
        self.decider = EvidenceDecider(self.verifier, random=random.Random(0).random, shadow=shadow)
        self.kept: list[tuple[NDArray[np.float32], str, str]] = []

    def ask(self, x: NDArray[np.float64], text: str, answer: str) -> Decision:
        unit = (x / np.linalg.norm(x)).astype(np.float32)
        query, scores = Query(text, unit), [float(v @ unit) for v, _, _ in self.kept]
        nearest = sorted(range(len(scores)), key=lambda i: -scores[i])[:8]
        found = [Candidate(i, scores[i], *self.kept[i][1:]) for i in nearest]
        decision = self.decider.decide("f", b"", query, found, 0.02)
        if decision.entry is None or decision.shadow:
            self.decider.observe("f", b"", query, found, answer, decision.entry)
        if decision.entry is None:
            self.kept.append((unit, text, answer))
            self.decider.stored(len(self.kept) - 1, "f", b"", query, answer)
        return decision

    def pairs(self, first: int, last: int, same: bool) -> list[Decision]:
        """What was decided about the second question of each pair."""
        out = []
        for i in range(first, last):
            x = self.rng.normal(size=DIMENSION)
            self.ask(x, f"q{i} one", f"answer {i}")
            near = x + 0.6 * self.rng.normal(size=DIMENSION)
            out.append(self.ask(near, f"q{i} two", f"answer {i}" if same else f"other {i}"))
        return out


def test_where_answers_hardly_recur_what_the_verifier_is_sure_of_is_served_on_its_word() -> None:
    decided = World(0.9985).pairs(0, 80, same=True)[40:]
    assert sum(d.entry is not None for d in decided) > 30
    assert {d.detail for d in decided if d.entry is not None} == {"both"}


def test_what_the_verifier_knows_is_served_on_its_word_alone_also_among_traps() -> None:
    world = World(0.9985)
    world.pairs(0, 30, same=False)
    world.verifier.sure = 0.9995
    decided = world.pairs(30, 60, same=True)
    assert {d.detail for d in decided if d.entry is not None} == {"pair"}
    assert sum(d.entry is not None for d in decided) > 25


@pytest.mark.parametrize("sure", [0.9985, 0.9995])
def test_a_verifier_that_is_sure_of_wrong_answers_is_soon_believed_no_more(sure: float) -> None:
    world = World(sure, shadow=1.0)
    world.pairs(0, 40, same=True)
    wrong = [d.entry is not None for d in world.pairs(40, 140, same=False)]
    assert sum(wrong) < 15
    assert not any(wrong[-50:])


def function() -> Function:
    return Function(DIMENSION, Prior.load(), Signatures())


def lesson(risk: float, *, pair: bool, alone: float) -> Lesson:
    return Lesson(risk, False, None, False, (), pair, alone=alone)


def test_both_rules_learn_from_a_request_of_which_both_were_asked() -> None:
    fn = function()
    before = fn.pairs.factors, fn.calibration.factors
    fn.learn("", lesson(0.03, pair=False, alone=0.04))
    assert fn.pairs.factors != before[0]
    assert fn.calibration.factors != before[1]


def test_the_verifier_learns_nothing_from_what_it_takes_for_another_question() -> None:
    fn = function()
    before = fn.pairs.factors
    fn.learn("", lesson(0.4, pair=True, alone=0.4))
    fn.learn("", lesson(0.04, pair=False, alone=0.4))
    assert fn.pairs.factors == before


@pytest.mark.parametrize("texts", [True, False])
def test_which_of_two_risks_tells_right_from_wrong_is_learned(texts: bool) -> None:
    model, rng = JointModel(), random.Random(0)
    for _ in range(400):
        doubts, votes = rng.random() < 0.5, rng.random() < 0.5
        model.learn(
            model.read(0.2 if doubts else 0.01, 0.3 if votes else 0.01), not (doubts if texts else votes)
        )
    doubted, outvoted = model.risk(model.read(0.2, 0.01)), model.risk(model.read(0.01, 0.3))
    assert (doubted > 0.5 > outvoted) if texts else (outvoted > 0.5 > doubted)


def test_what_changed_answers_taught_of_two_risks_is_unlearned_with_the_rest() -> None:
    fn = function()
    x = fn.joint.read(0.02, 0.02)
    fn.labelled = 100
    fn.keep_state()
    before = fn.joint.risk(x)
    for _ in range(50):
        fn.learn("", Lesson(0.02, False, None, False, (), False, alone=0.02, joint=x))
    assert fn.joint.risk(x) > 2 * before
    fn.return_to_state()
    assert fn.joint.risk(x) == before
