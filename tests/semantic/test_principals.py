"""One principal neither talks a function into trust nor out of it; its own scope heeds it at once."""

from __future__ import annotations

import random

import numpy as np

from cachelayer.semantic.evidence.budget import Alarm
from cachelayer.semantic.evidence.checks import TIGHTEN, Checks
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.function import Function
from cachelayer.semantic.evidence.principals import ALONE, Caution, Evidence, Lesson
from cachelayer.semantic.evidence.risk import Prior
from cachelayer.semantic.evidence.scope import Scope
from cachelayer.semantic.evidence.wording import Signatures
from cachelayer.types import Candidate, Query


def lesson(right: bool) -> Lesson:
    return Lesson(0.01, right, None, right, (), False)


def learned(evidence: Evidence, principal: str, right: bool, times: int) -> int:
    return sum(len(list(evidence.heed(principal, lesson(right)))) for _ in range(times))


def test_confirmations_of_one_principal_are_capped_until_others_keep_up() -> None:
    evidence = Evidence()
    learned(evidence, "bob", True, 20)
    learned(evidence, "ann", True, 1)
    assert learned(evidence, "ann", True, 500) == ALONE + 20 - 1
    assert learned(evidence, "bob", True, 10) == 10
    assert learned(evidence, "ann", True, 500) == 10


def test_who_asks_alone_teaches_itself_and_once_another_comes_it_weighs_as_thirty_labels() -> None:
    evidence = Evidence()
    assert learned(evidence, "ann", True, 300) == 300
    assert learned(evidence, "ann", False, 300) == 300
    assert not evidence.joins("ann")
    assert evidence.joins("bob")
    assert learned(evidence, "bob", True, 5) == 5
    assert not evidence.joins("cid")
    assert learned(evidence, "ann", True, 300) == 5


def test_the_owners_own_traffic_is_never_held_back() -> None:
    evidence = Evidence()
    assert learned(evidence, "", True, 500) == 500
    assert learned(evidence, "", False, 500) == 500


def test_what_one_principal_found_wrong_counts_for_all_once_a_second_found_something_wrong() -> None:
    evidence = Evidence()
    learned(evidence, "cid", True, 1)
    assert learned(evidence, "ann", False, 5) == 0
    assert learned(evidence, "bob", True, 5) == 5
    assert learned(evidence, "bob", False, 1) == 6


def test_memory_is_bounded_by_the_number_of_principals() -> None:
    evidence = Evidence()
    for i in range(5000):
        learned(evidence, f"p{i}", True, 1)
    assert len(evidence._taught) <= 1024


def test_a_scope_is_as_cautious_as_it_was_wrong_and_never_bolder_than_the_function() -> None:
    caution = Caution()
    for _ in range(1000):
        caution.learn(0.01, True)
    assert caution.raised(0.01) == 0.01
    for _ in range(60):
        caution.learn(0.01, False)
    assert caution.raised(0.01) > 0.03
    assert caution.raised(0.9) < 1.0


def _teach(decider: EvidenceDecider, scope: bytes, principal: str, wrong: bool, rng: random.Random) -> None:
    """A miss beside an entry of another or the same answer."""
    noise = np.random.default_rng(rng.randrange(10**9)).normal(size=16)
    x = (noise / np.linalg.norm(noise)).astype(np.float32)
    n = rng.randrange(10**9)
    query = Query(f"how do i paint the fence {n}", x, principal=principal)
    entry = Candidate(n, 0.97, f"how do i paint my fence {n}", "green")
    decider.stored(n, "f", scope, query, "green")
    decider.observe("f", scope, query, [entry], "blue" if wrong else "green", None)


def test_through_the_decider_one_liar_moves_its_own_scope_and_no_other() -> None:
    rng, decider = random.Random(1), EvidenceDecider(random=random.Random(2).random)
    for name in ("bob", "cid"):
        _teach(decider, b"other", name, False, rng)
    for _ in range(60):
        _teach(decider, b"own", "ann", False, rng)
    before = decider._functions["f"].pairs.state()
    for _ in range(60):
        _teach(decider, b"own", "ann", True, rng)
    fn = decider._functions["f"]
    after = fn.pairs.state()
    assert all(np.allclose(a, b) for a, b in zip(before, after, strict=True))
    assert fn.scopes[b"own"].caution.raised(0.01) > 0.015
    assert fn.scopes[b"other"].caution.raised(0.01) == 0.01


def test_what_a_scopes_own_warning_asked_for_wears_off_with_labels_though_nothing_is_served() -> None:
    fn = Function(8, Prior.load(), Signatures())
    here = Scope(8, fn.shared)
    here.alarm, here.caution.doubt = Alarm(0.01), 2.0
    for _ in range(3):
        here.alarm.hit(1.0, True)
    assert here.alarm.recent >= TIGHTEN
    Checks._cool(fn, here)
    assert here.caution.doubt == 2.0
    for _ in range(3000):
        Checks._cool(fn, here)
    assert here.caution.doubt == 1.0
