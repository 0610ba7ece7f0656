"""Compounds and rare words that look alike are not the same."""

from __future__ import annotations

import pytest
from pairs import judge, pairs

from cachelayer.semantic.text.words import SLIP, words


@pairs(
    ("is a left-handed guitar dearer", "is a right-handed guitar dearer"),
    ("is a left-handed guitar dearer", "is a right handed guitar dearer"),
    ("is in-state tuition cheaper", "is out-of-state tuition cheaper"),
    ("how are pre-war flats heated", "how are post-war flats heated"),
    ("Does startsWith take a pattern?", "Does endsWith take a pattern?"),
    ("How do I use getUserById?", "How do I use getUserByName?"),
    ("What does onMouseOver do?", "What does onMouseOut do?"),
    ("can i take celebrex with wine", "can i take celexa with wine"),
    ("can i re-sign the contract", "can i resign the contract"),
    ("how is a sofa re-covered", "how is a sofa recovered"),
    ("what is a stalagmite in a cave", "what is a stalactite in a cave"),
)
def test_a_part_or_a_rare_word_exchanged_makes_another_request(one: str, other: str) -> None:
    assert judge(one, other, 0.97) == judge(other, one, 0.97) == (0.0, "strangers")


@pairs(
    ("is a well-known brand better", "is a well known brand better"),
    ("is the left-handed guitar dearer", "is the left handed guitar dearer"),
    ("Are co-workers invited to it?", "Are coworkers invited to it?"),
    ("Is MySQL free of charge?", "is mysql free of charge"),
    ("dose of prednisone for asthma", "dose of prednisne for asthma"),
    ("where is z\xfcrich airport", "where is zurich airport"),
)
def test_another_spelling_or_a_slip_of_the_pen_makes_none(one: str, other: str) -> None:
    assert judge(one, other, 0.97)[0] > 0.9 < judge(other, one, 0.97)[0]


@pytest.mark.parametrize(("a", "b"), [("dual", "duel"), ("stationary", "stationery"), ("isbn", "issn")])
def test_a_word_that_there_is_is_no_slip_of_another(a: str, b: str) -> None:
    assert SLIP not in (words().relation(a, b), words().relation(b, a))
    assert words().relation("password", "passwrod") == SLIP
