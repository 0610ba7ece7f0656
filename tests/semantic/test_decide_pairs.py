"""The conservative decider: a near repeat is served, an edited fact or another conversation is not."""

from __future__ import annotations

import numpy as np
import pytest

from cachelayer.protocols import Decider, Verifier
from cachelayer.semantic.decide import PairDecider
from cachelayer.semantic.verifier import ThresholdVerifier
from cachelayer.types import Candidate, Query, Reason, Turn

VECTOR = np.zeros(4, np.float32)


def candidate(text: str, similarity: float, entry: int = 1, turns: tuple[Turn, ...] = ()) -> Candidate:
    return Candidate(entry, similarity, text, "an answer", turns)


def test_it_offers_the_doors() -> None:
    assert isinstance(PairDecider(), Decider)
    assert isinstance(ThresholdVerifier(), Verifier)


def test_a_near_repeat_is_served_and_an_edited_fact_is_not() -> None:
    decider = PairDecider()
    query = Query("how can i reset my password?", VECTOR)
    served = decider.decide("f", b"", query, [candidate("how do I reset my password", 0.97)], 0.01)
    assert served.entry == 1
    edited = Query("what are the 3 rules", VECTOR)
    refused = decider.decide("f", b"", edited, [candidate("what are the 2 rules", 0.99)], 0.01)
    assert refused.entry is None
    assert (refused.reason, refused.detail) == (Reason.GUARD, "numbers")


def test_the_guarded_nearest_does_not_hide_the_next() -> None:
    query = Query("what are the 3 rules", VECTOR)
    found = [candidate("what are the 2 rules", 0.99, 1), candidate("tell me what the 3 rules are", 0.95, 2)]
    assert PairDecider().decide("f", b"", query, found, 0.01).entry == 2


@pytest.mark.parametrize("similarity", [0.0, 0.5, 0.9])
def test_far_neighbours_are_refused_as_unsure(similarity: float) -> None:
    decision = PairDecider().decide("f", b"", Query("a b", VECTOR), [candidate("a b", similarity)], 0.01)
    assert (decision.entry, decision.reason) == (None, Reason.UNSURE)


def test_an_error_budget_of_zero_serves_nothing() -> None:
    assert PairDecider().decide("f", b"", Query("a", VECTOR), [candidate("a", 1.0)], 0.0).entry is None


def test_the_same_words_in_another_conversation_are_not_served() -> None:
    query = Query("cancel it", VECTOR, turns=(Turn("user", "I ordered a lamp"),))
    found = [candidate("cancel it", 1.0, turns=(Turn("user", "I booked a room"),))]
    assert PairDecider().decide("f", b"", query, found, 0.01).entry is None
