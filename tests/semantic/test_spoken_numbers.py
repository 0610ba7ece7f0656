"""A number in words is the number in digits, and a length of time is one in whatever unit it is said."""

from __future__ import annotations

import pytest
from apart import apart
from hypothesis import assume, given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.plain import numbers
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.signature import signature
from cachelayer.semantic.text.words import words

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def spoken(value: int, joint: str = " ") -> str:
    """In words; `joint` stands behind hundreds and thousands."""
    for size, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if value >= size:
            rest = value % size
            return f"{spoken(value // size, joint)} {name}" + (joint + spoken(rest, joint) if rest else "")
    if value < 20:
        return _ONES[value]
    return _TENS[value // 10 - 2] + (f"-{_ONES[value % 10]}" if value % 10 else "")


def _has_one(said: str) -> bool:
    """'One' is a pronoun more often than a number, and is read as one only behind tens."""
    return "one" in said.replace("-", " ").split()


@given(st.integers(20, 10**12 - 1), st.sampled_from((" ", " and ")))
def test_a_number_in_words_is_that_in_digits(value: int, joint: str) -> None:
    said = spoken(value, joint)
    assume(not _has_one(said))
    assert [v for v, _ in signature(f"they sold {said} of them").numbers] == [str(value)]


@given(st.integers(2, 99), st.integers(2, 99), st.sampled_from(("hundred", "thousand", "million")))
def test_two_numbers_joined_by_and_stay_two(low: int, high: int, size: str) -> None:
    """Else 'between two and three thousand ...' and 'between one and four' would add up to one."""
    said = f"between {spoken(low)} {size} and {spoken(high)} {size} of them"
    assume(not _has_one(said))
    assert len(signature(said).numbers) == 2


@pairs(
    ("it has been two weeks", "it has been 14 days"),
    ("for a fortnight", "for 14 days"),
    ("within 48 hours", "within two days"),
    ("a lease of 2 years", "a lease of 24 months"),
    ("it takes 120 minutes", "it takes 2 hours"),
    ("less than sixty seconds", "less than 1 minute"),
    ("for seven days", "for a week"),
    ("parking for 1 hour", "parking for an hour"),
    ("a plan for twelve months", "a one year plan"),
    ("toys for a 5 year old", "toys for a girl aged five"),
    ("a gift for a 60-year-old", "a gift for my aunt, who is turning sixty"),
)
def test_a_length_of_time_is_one_in_any_unit(one: str, other: str) -> None:
    assert not apart(numbers, one, other)


@pairs(
    ("it has been two weeks", "it has been two days"),
    ("within 24 hours", "within 24 days"),
    ("a lease of 2 years", "a lease of 2 months"),
    ("for a fortnight", "for a week"),
    ("after seven days", "within a week"),
    ("seven days", "days of the week"),
    ("food for a ten year old", "food for ten"),
    ("is a 2 year old sofa fine", "are two sofas fine"),
    ("is a 2 year old sofa fine", "is 2 kilos fine"),
    ("a 5 year old", "aged five months"),
    (f"she is {'9' * 5000} months old", "she is nine"),
    ("for 7 days, twice a week", "twice a week"),
    ("twelve thousand four hundred", "twelve thousand five hundred"),
)
def test_other_lengths_and_numbers_are_others(one: str, other: str) -> None:
    assert apart(numbers, one, other)


@pytest.mark.parametrize(
    "text",
    [
        "css center div both axes",
        "flexbox vertically center div",
        "docker remove all stopped containers",
        "git undo last commit keep changes",
        "vpn error 809 windows 11 fix",
        "cost per mile",
        "van rental",
        "pour concrete driveway",
    ],
)
def test_a_search_phrase_is_english_without_small_words(text: str) -> None:
    assert not read(text, words()).foreign


@pytest.mark.parametrize(
    "text", ["Karte sperren Verlust", "tarjeta perdida bloquear cuenta", "annuler commande", "kart engelleme"]
)
def test_a_search_phrase_of_another_language_is_foreign(text: str) -> None:
    assert read(text, words()).foreign


@pairs(
    ("factor " + "7" * 5000, "factor " + "7" * 5001),
    ("wait " + "7" * 5000 + " days", "wait " + "7" * 5001 + " days"),
    ("is " + "7" * 400 + " million a prime", "is " + "8" * 400 + " million a prime"),
    ("what is " + "million " * 2000, "what is " + "million " * 1999),
    ("5 million million million million", "7 million million million million"),
)
def test_numbers_of_any_length_are_read_and_told_apart(one: str, other: str) -> None:
    a, b = signature(one), signature(other)
    assert a.numbers == signature(one).numbers
    assert numbers(a, b)
