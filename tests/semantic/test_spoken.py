"""A time of day, a half and an account's 'no.' are read as the numbers that they are, in however many words."""

from __future__ import annotations

import pytest
from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.plain import negation, numbers
from cachelayer.semantic.text.signature import signature
from cachelayer.semantic.text.spoken import joined

_HOURS = "one two three four five six seven eight nine ten eleven twelve".split()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("quarter to five", "4:45"),
        ("a Quarter past five pm", "5:15 pm"),
        ("quarter to one", "12:45"),
        ("at half past six.", "at 6:30."),
        ("ten past seven", "7:10"),
        ("twenty five past 4", "4:25"),
        ("ten minutes to 5", "4:50"),
        ("half an hour", "30 minutes"),
        ("six fifteen a m", "6:15 am"),
        ("at seven thirty-five P.M. today", "at 7:35 Pm today"),
        ("nine oh five pm", "9:05 pm"),
        ("6 30 pm", "6:30 pm"),
        ("give me a m key", "give me a m key"),
        ("the card ending in oh two seven one", "the card ending in 0271"),
        ("count one two three four five", "count one two three four five"),
        ("a half hour break", "30 minutes break"),
        ("an hour and a half", "90 minutes"),
        ("two and a half hours", "150 minutes"),
        ("two years and a half", "30 months"),
        ("one and a half cups", "1.5 cups"),
        ("half a dozen eggs", "6 eggs"),
        ("half a million", "0.5 million"),
        ("a month and a half", "1.5 month"),
        ("my account no?", "my account number?"),
        ("Order No. 5521", "Order number 5521"),
        ("how 2 unsubscribe", "how to unsubscribe"),
        ("rooms w/ 4 beds", "rooms with 4 beds"),
    ],
)
def test_several_words_tell_one_number(text: str, read: str):
    assert joined(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "odds of ten to five",
        "half of them past noon",
        "the second half past midfield",
        "half after five",
        "ten past 10:30",
        "a cup and a half",
        "and a half",
        "a dozen and a half",
        "my phone no longer rings",
        "a room no one uses",
        "is it an order, no?",
        "w/h ratio",
    ],
)
def test_what_may_be_something_else_is_left(text: str):
    assert joined(text) == text


@given(st.integers(1, 12), st.sampled_from((15, 30, 10, 20)), st.booleans())
def test_a_time_in_words_is_that_in_digits(hour: int, minutes: int, digits: bool):
    said = {15: "quarter", 30: "half", 10: "ten", 20: "twenty"}[minutes]
    words = signature(f"wake me at {said} past {hour if digits else _HOURS[hour - 1]}")
    assert words.numbers == signature(f"wake me at {hour}:{minutes}").numbers


@pairs(
    ("meet me at quarter to five", "meet me at quarter past five"),
    ("the alarm is for ten past seven", "the alarm is for ten to seven"),
    ("half an hour before it starts", "an hour before it starts"),
    ("half a dozen rolls", "a dozen rolls"),
    ("a timer for two and a half hours", "a timer for two hours"),
)
def test_other_times_and_halves_are_other_numbers(one: str, other: str):
    assert apart(numbers, one, other)


@pairs(
    ("an hour and a half of yoga", "90 minutes of yoga"),
    ("1.5 hours of yoga", "90 minutes of yoga"),
    ("for half a year", "for 6 months"),
    ("what's my routing no.", "what's my routing number"),
)
def test_the_same_said_otherwise_is_the_same(one: str, other: str):
    assert not apart(numbers, one, other)
    assert not apart(negation, one, other)
