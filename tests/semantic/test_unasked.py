"""Where the pair verifier's word can change nothing, it is not asked (decisions 132 and 135)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.neighbours import FEATURES, NEVER, PAIR, SURELY
from cachelayer.semantic.evidence.risk import Prior, RiskModel
from cachelayer.types import Candidate, Query

from .test_decide import World


class Word:
    """A verifier that says one thing of every pair and counts the pairs it was asked of."""

    identity = "word"

    def __init__(self, says: float) -> None:
        self.says, self.asked = says, 0

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        self.asked += len(candidates)
        return [(self.says, "") for _ in candidates]


def warmed(seed: int) -> tuple[World, EvidenceDecider, Word]:
    world, word = World(seed, classes=20, scatter=0.22), Word(0.5)
    decider = EvidenceDecider(word, random=random.Random(seed).random)
    for _ in range(900):
        world.ask(decider, 0.02)
    return world, decider, word


def queries(world: World, count: int) -> list[tuple[Query, list[Candidate]]]:
    """Requests with their nearest eight, as `World.ask` finds them."""
    out, rows = [], np.array([vector for vector, _ in world.kept])
    for _ in range(count):
        centre = world.centres[int(world.rng.integers(len(world.centres)))]
        x = world.unit(centre + world.rng.normal(size=centre.shape) * world.scatter)
        scores = rows @ x
        near = np.argsort(-scores)[:8]
        found = [Candidate(int(i), float(scores[i]), f"t{i}", world.kept[i][1]) for i in near]
        out.append((Query(f"request {world.rng.integers(10**9)}", x), found))
    return out


@pytest.mark.parametrize("seed", range(3))
def test_what_is_decided_without_the_verifiers_word_would_be_whatever_it_said(seed: int) -> None:
    world, decider, word = warmed(seed)
    fn = decider._functions["f"]
    here, account = fn.scopes[b""], fn.account(0.02)
    unasked, hits, misses = {True: 0, False: 0}, 0, 0
    for query, found in queries(world, 300):
        word.asked = 0
        decision = decider.preview("f", b"", query, found, 0.02)
        served = decision.entry is not None
        hits, misses = hits + served, misses + (not served)
        if word.asked:
            continue
        unasked[served] += 1
        for word.says in (0.0, 0.3, 1.0):
            whole = decider._judge(fn, here, query, found, None)
            assert whole is not None
            assert not served or whole.chosen.entry == decision.entry
            assert account.ledger.admits(whole.risk, fn.calibration) is served
    assert 40 < unasked[True] < hits
    assert 0 < unasked[False] < misses


def test_beside_a_rival_as_near_nothing_is_served_unasked() -> None:
    world, decider, word = warmed(0)
    asked = 0
    for query, found in queries(world, 100):
        other = next(answer for answer in world.answers if answer != found[0].answer)
        rival = found[1]._replace(similarity=found[0].similarity - 0.05, answer=other)
        decider.stored(10**6, "f", b"", query, other)
        word.asked = 0
        decision = decider.preview("f", b"", query, [found[0], rival._replace(entry=10**6)], 0.02)
        assert word.asked == 2 or decision.entry is None
        asked += word.asked
    assert asked


def test_what_is_learned_from_is_read_whole() -> None:
    world, decider, word = warmed(1)
    for query, found in queries(world, 30):
        word.asked = 0
        decider.observe("f", b"", query, found, found[0].answer, None)
        assert word.asked


@given(
    st.lists(st.floats(-3.0, 3.0), min_size=len(FEATURES), max_size=len(FEATURES)),
    st.floats(NEVER, SURELY),
    st.sampled_from((1.0, -1.0)),
)
def test_the_risk_without_a_feature_is_between_the_least_and_the_worst_that_it_may_be(
    features: list[float], value: float, sign: float
) -> None:
    model = RiskModel(Prior.load(), spread=1e-6)  # the weights are known: the logit is linear
    model.weights[PAIR] *= sign
    usual, best, worst = model.without(model.encode(features), [PAIR], NEVER, SURELY)
    features[PAIR] = value
    known = model.encode(features)
    assert model.risk(best) - 1e-9 <= model.risk(known) <= model.risk(worst) + 1e-9
    assert usual[PAIR] == 0.0
    assert np.delete(usual, PAIR) == pytest.approx(np.delete(known, PAIR))
