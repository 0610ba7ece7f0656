"""The same numbers, reckoned otherwise, make another sum."""

from __future__ import annotations

from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.sums import sums


@pairs(
    ("What is 15% of 80?", "What is 80 plus 15%?"),
    ("What is 30% off 80 dollars?", "What is 30% of 80 dollars?"),
    ("Increase 60 by 25%", "Decrease 60 by 25%"),
    ("Add 20% VAT to 100 euros", "How much VAT is in 100 euros at 20%?"),
    (
        "If 3 apples cost 2 dollars, what do 12 apples cost?",
        "If 3 apples cost 2 dollars, how many apples do I get for 12 dollars?",
    ),
)
def test_a_share_of_a_number_is_not_the_number_with_or_without_it(one: str, other: str):
    assert apart(sums, one, other) and apart(relations, one, other)


@given(st.integers(1, 99), st.integers(2, 999))
def test_the_same_sum_in_other_words_is_not_told_apart(share: int, of: int):
    assert not apart(sums, f"What is {share}% of {of}?", f"Calculate {share} percent of {of}")
    assert not apart(sums, f"What is {of} plus {share}%?", f"Add {share}% to {of}")
    assert not apart(sums, f"{share}% off {of} dollars", f"{of} dollars minus {share}%")
