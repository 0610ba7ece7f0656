"""Two sorts of one thing are two things, and so are two choices; what either text may name otherwise is not another."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.modifiers import alternatives, modifiers
from cachelayer.semantic.pairs.verifier import late
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words

OTHER = [
    ("how much is an adult ticket to the zoo", "cost of the zoo group ticket"),
    ("do you sell winter tires", "price of a bicycle tire"),
    ("register for the chess club", "how do I join the rowing club"),
    ("how much is the annual fee", "what does the entrance fee come to"),
    ("pressure of the front tires of a Golf", "how much air does a Golf's rear tire need"),
    ("which incoming calls did I miss", "show the outgoing calls I missed"),
    ("is the upper floor heated", "heating of the lower floor"),
]
SAME = [
    ("how much is an adult ticket", "what does one adult ticket cost"),
    ("change my new password", "change my old password on the website"),
    ("is it a cheap flight", "is it an inexpensive flight"),
    ("open a business account", "open a buisness account"),
    ("can I exit vim", "can I quit vim"),
    ("my last order", "my recent order"),
    ("how do I switch to a cheaper plan", "I want to move to a less expensive plan"),
]


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_another_sort_of_one_thing_is_another_thing(a: str, b: str) -> None:
    one, other = read(a, words()), read(b, words())
    assert modifiers(one, other, words()) and modifiers(other, one, words())
    assert late(one, other, words()) == "relations"


@pytest.mark.parametrize(("a", "b"), SAME)
def test_what_either_text_may_say_is_no_other_sort(a: str, b: str) -> None:
    one, other = read(a, words()), read(b, words())
    assert not modifiers(one, other, words()) and not modifiers(other, one, words())


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ("is it better to rent or buy in Denver", "in Denver, is renting or selling better", True),
        ("coffee or tea for a cold", "what is better for a cold, tea or honey", True),
        ("do I take it before meals or after", "should it be taken in the morning or at night", True),
        ("who pays, the buyer or the seller", "is it paid by the buyer or the agent", True),
        ("which has fewer people, Norway or Finland", "has Norway or Finland a larger population", True),
        ("what is shorter, a mile or a knot", "is a knot or a mile longer", True),
        ("which is cheaper, the bus or the train", "what is more affordable, the train or the bus", False),
        ("which is bigger, the sun or the moon", "is the moon or the sun larger", False),
        ("should I buy or lease", "is it better to purchase or lease", False),
        ("coffee or tea in the morning", "tea or coffee in the morning", False),
        ("do you take cash or card", "can I pay cash or by card", False),
        ("do you take cash or card", "do you accept cash or credit", False),
        ("is it better to rent or buy", "is renting or owning better", False),
        ("do I pay now or later", "is payment due now or later", False),
        ("milk", "tea or milk", False),
    ],
)
def test_what_is_weighed_against_another_thing_is_another_choice(a: str, b: str, differ: bool) -> None:
    one, other = read(a, words()), read(b, words())
    assert alternatives(one, other, words()) is alternatives(other, one, words()) is differ
    assert not differ or late(one, other, words()) == "relations"
