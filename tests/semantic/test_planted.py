"""An answer that one principal alone was given is no evidence for others, however often it was given."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.neighbours import Answers
from cachelayer.types import Candidate, Query

DIMENSION = 32


class Never:
    """A verifier that takes no two texts for the same."""

    identity = "never"

    def judge(self, query: Query, candidates: Sequence[Candidate]) -> list[tuple[float, str]]:
        return [(0.1, "")] * len(candidates)


class Scope:
    """Ten topics that many asked about, and one that `planter` alone did."""

    def __init__(self, planter: str) -> None:
        self.rng = np.random.default_rng(0)
        self.decider = EvidenceDecider(Never(), random=random.Random(0).random, shadow=0)
        self.topics = [self.unit(self.rng.normal(size=DIMENSION)) for _ in range(11)]
        self.kept: list[tuple[NDArray[np.float32], str]] = []
        for i in range(100):
            self.told(i % 10, f"user {i % 7}")
        for _ in range(12):
            self.told(10, planter)

    @staticmethod
    def unit(x: NDArray[np.float64]) -> NDArray[np.float32]:
        return (x / np.linalg.norm(x)).astype(np.float32)

    def query(self, topic: int, principal: str) -> tuple[Query, list[Candidate]]:
        x = self.unit(self.topics[topic] + 0.01 * self.rng.normal(size=DIMENSION))
        scores = [float(v @ x) for v, _ in self.kept]
        nearest = sorted(range(len(scores)), key=lambda i: -scores[i])[:8]
        found = [Candidate(i, scores[i], f"text {i}", self.kept[i][1]) for i in nearest]
        return Query(f"request {self.rng.integers(10**9)}", x, principal=principal), found

    def told(self, topic: int, principal: str) -> None:
        """The backend answers a request."""
        query, found = self.query(topic, principal)
        self.decider.observe("f", b"", query, found, f"answer {topic}", None)
        self.decider.stored(len(self.kept), "f", b"", query, f"answer {topic}")
        self.kept.append((query.vector, f"answer {topic}"))

    def serves(self, topic: int, principal: str) -> bool:
        query, found = self.query(topic, principal)
        return self.decider.decide("f", b"", query, found, 0.05).entry is not None


def test_what_one_principal_planted_is_served_to_nobody_else_until_a_second_one_was_given_it() -> None:
    scope = Scope("mallory")
    assert scope.serves(3, "ann")
    assert scope.serves(10, "mallory")
    assert not scope.serves(10, "ann")
    assert not scope.serves(10, "")
    scope.told(10, "bob")
    assert scope.serves(10, "ann")


def test_what_the_owners_own_traffic_was_given_is_served_to_all() -> None:
    scope = Scope("")
    assert scope.serves(10, "ann")
    assert scope.serves(10, "")


@pytest.mark.parametrize(
    ("kept", "gone", "left"),
    [("ann", "ann", "ann"), ("ann", "bob", ""), (None, "bob", "bob"), ("ann", None, "ann"), ("", "ann", "")],
)
def test_answers_that_say_the_same_were_given_to_all_whom_either_was_given(
    kept: str | None, gone: str | None, left: str
) -> None:
    answers, x = Answers(4), np.ones(4, np.float32)
    first, second = answers.new(), answers.new()
    for answer, principal in ((first, kept), (second, gone)):
        if principal is not None:
            answers.add(answer, x, principal)
    answers.merge(first, second)
    assert answers.given[first] == left
    assert answers.given[second] is None
