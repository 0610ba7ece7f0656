"""The least of one text is not the most of another, in whatever words; nor are both of two one of them."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.amounts import both, bounds
from cachelayer.semantic.guards.phrases import phrases
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.text.signature import signature


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("staff with more than ten years of service", "who has been here for less than ten years?"),
        ("who scored over 30 goals?", "which players scored fewer than 30 goals?"),
        ("what if I earn more than 50000?", "what if my income is below 50,000?"),
        ("hotels with at least 4 stars", "which hotels have four stars at most, no more than 4?"),
        ("cafes rated 4 stars or more", "cafes rated under 4 stars"),
        ("rooms for up to 3 guests", "for 3 guests or more, which rooms are there?"),
        ("no fewer than 5 players", "teams of up to 5"),
    ],
)
def test_the_least_is_not_the_most(one: str, other: str):
    assert relations(signature(one), signature(other))
    assert relations(signature(other), signature(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hotels for no more than 100 euros", "hotels for at most 100 euros"),
        ("files of 10 MB or less", "files not larger than 10 MB"),
        ("no fewer than 5 players", "at least five players"),
        ("hotels that don't cost more than 100", "hotels under 100"),
        ("is he older than 60?", "is he over 60?"),
        ("more than 3 and less than 9", "less than 9 but over 3"),
        ("more than 3 years", "less than 9 years"),
    ],
)
def test_the_same_side_in_other_words_is_the_same(one: str, other: str):
    a, b = signature(one), signature(other)
    assert not bounds(a, b)
    assert not phrases(a, b)


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("do both parents have to sign?", "is one parent's signature enough?", True),
        ("do I need both shots?", "is one of the shots enough?", True),
        ("are both doors shut?", "is either door shut?", True),
        ("do both parents have to sign?", "must mother and father sign?", False),
        ("do both apps work?", "does this one work?", False),
    ],
)
def test_both_of_two_is_not_one_of_them(one: str, other: str, differ: bool):
    assert both(signature(one), signature(other)) == both(signature(other), signature(one)) == differ
