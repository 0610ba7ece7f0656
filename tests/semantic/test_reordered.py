"""Two things that are joined, or alike to each other, may be named in either order, where no order is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import pairs

from cachelayer.semantic.pairs.reordered import reordered
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words
from cachelayer.types import Candidate, Query

SAME = [
    ("Should I learn Java or Python?", "Should I learn Python or Java?"),
    (
        "the difference between a debit card and a credit card",
        "the difference between a credit card and a debit card",
    ),
    ("Is vitamin C or vitamin D better for colds?", "Is vitamin D or vitamin C better for colds?"),
    ("What do Germany and Austria have in common?", "What do Austria and Germany have in common?"),
    ("Which is larger, Texas or Alaska?", "Which is larger, Alaska or Texas?"),
    ("Python vs Java for games", "Java vs Python for games"),
    ("Is Noah married to Zoe?", "Is Zoe married to Noah?"),
    ("The old lens is compatible with the new body", "the new body is compatible with the old lens"),
    ("How far is Rome from Paris?", "How far is Paris from Rome?"),
    ("how far is it from Rome to Paris", "how far is it from Paris to Rome"),
    ("how do I get from the port to your inn", "how do I get to your inn from the port"),
    ("how long is it to drive from Rome to Paris", "how long is it to drive to Paris from Rome"),
    ("trains from Rome to Paris at night", "trains to Paris from Rome at night"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_order_of_two_things_says_nothing(one: str, other: str):
    a, b = read(one, words()), read(other, words())
    assert reordered(a, b) and reordered(b, a)


@pairs(
    (
        "the exchange rate between the dollar and the euro",
        "the exchange rate between the euro and the dollar",
    ),
    ("the ratio of sugar and water", "the ratio of water and sugar"),
    ('say "cats and dogs" in Latin', 'say "dogs and cats" in Latin'),
    ("how do I wash and dry wool", "how do I dry and wash wool"),
    ("I think tea and coffee is bad", "I think coffee and tea is bad"),
    ("is it open between 9 and 5", "is it open between 5 and 9"),
    ("bread and no butter for me", "butter and no bread for me"),
    ("red wine and white plates", "white wine and red plates"),
    ("mix bleach and water with salt", "mix bleach and salt with water"),
    ("divide 12 and 4", "divide 4 and 12"),
    ("how do I get from Rome to Paris", "how do I get from Paris to Rome"),
    ("how do I get to Rome from Paris", "how do I get from Rome to Paris"),
    ("flights from Paris to Rome to Oslo", "flights to Rome from Paris to Oslo"),
    ("how far is the drive from Rome to Paris", "how far is the drive from Paris to Rome"),
    ("how far is it by bike from Rome to Paris", "how far is it by bike from Paris to Rome"),
    ("is Ann opposed to Bob", "is Bob opposed to Ann"),
    ("how close to winning is Ann", "is Ann close to winning how"),
)
def test_the_order_counts_where_it_may_be_meant(one: str, other: str):
    a, b = read(one, words()), read(other, words())
    assert not reordered(a, b) and not reordered(b, a)


def test_lists_in_another_order_are_likely_to_take_one_answer():
    judge = PairVerifier().judge
    for one, other in SAME:
        near = Candidate(0, 0.99, one, None, ())
        assert judge(Query(other, np.zeros(4)), [near])[0][0] > 0.9
