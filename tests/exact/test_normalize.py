"""Texts count as the same by the rules that the owner chose, and by no other."""

from __future__ import annotations

import unicodedata
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cachelayer.exact.keys.normalize import folding
from cachelayer.policy import Normalize

RULES = ("nfc", "trim", "case", "whitespace", "punctuation", "invisible", "confusables")
ALL = [dict(zip(RULES, chosen, strict=True)) for chosen in product((False, True), repeat=len(RULES))]
SAME = [
    ("caf\u00e9 au lait", "cafe\u0301 au lait", {"nfc"}),
    (" a text\n", "a text", {"trim", "whitespace"}),
    ("visas for the US", "visas for the us", {"case"}),
    ("if x:\n    y", "if x: y", {"whitespace"}),
    ("how much is it?", "how much is it", {"punctuation"}),
    ("pass\u200bword", "password", {"invisible"}),
    ("my p\u0430yp\u0430l account", "my paypal account", {"confusables"}),
]
"""Two texts, and the rules each of which makes them the same."""
TEXTS = st.one_of(
    st.text(), st.text("aA1 \n\t?.!\u00e9\u0301\u0345\u200d\u0430\u0131\u0130\u1e9e", max_size=8)
)
RULED = st.builds(Normalize, **{rule: st.booleans() for rule in RULES})


@pytest.mark.parametrize(("one", "other", "by"), SAME)
def test_two_texts_are_the_same_by_the_rule_that_says_so_alone(one: str, other: str, by: set[str]) -> None:
    for chosen in ALL:
        fold = folding(Normalize(**chosen))
        assert (fold(one) == fold(other)) is any(chosen[rule] for rule in by), chosen


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u0441\u043e\u0440 1", "cop 1"),  # a word of Cyrillic letters alone
        ("\u04301", "a1"),
        ("how?", "how? why"),
        ("?", ""),
        ("a b", "ab"),
    ],
)
def test_what_no_rule_is_about_stays_apart_under_all_of_them(one: str, other: str) -> None:
    fold = folding(Normalize(**dict.fromkeys(RULES, True)))
    assert fold(one) != fold(other)


def test_letters_that_come_together_where_a_character_was_dropped_are_composed() -> None:
    fold = folding(Normalize(invisible=True))
    assert fold("cafe\u200d\u0301") == fold("caf\u00e9")


@given(RULED, TEXTS)
@example(Normalize(case=True, confusables=True), "\u0345A")  # folds to a Greek iota, which looks like an i
@example(Normalize(case=True, confusables=True), "\u212a\u043e")  # the sign of kelvin, and a Cyrillic o
def test_a_text_that_was_folded_folds_to_itself(rules: Normalize, text: str) -> None:
    fold = folding(rules)
    assert fold(fold(text)) == fold(text)


@given(RULED, TEXTS)
def test_with_nfc_it_does_not_matter_how_letters_are_composed(rules: Normalize, text: str) -> None:
    if rules.nfc:
        fold = folding(rules)
        assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))
