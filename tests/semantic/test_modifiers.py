"""Two sorts of one thing are two things; a sort that either text may name otherwise is not another."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.modifiers import modifiers
from cachelayer.semantic.pairs.verifier import late
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words

OTHER = [
    ("how much is an adult ticket to the zoo", "cost of the zoo group ticket"),
    ("do you sell winter tires", "price of a bicycle tire"),
    ("register for the chess club", "how do I join the rowing club"),
    ("how much is the annual fee", "what does the entrance fee come to"),
]
SAME = [
    ("how much is an adult ticket", "what does one adult ticket cost"),
    ("change my new password", "change my old password on the website"),
    ("is it a cheap flight", "is it an inexpensive flight"),
    ("open a business account", "open a buisness account"),
    ("can I exit vim", "can I quit vim"),
    ("my last order", "my recent order"),
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
