"""What is to be written is the same however it is ordered, and a text that orders nothing of the kind is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.pairs.reframed import reframed
from cachelayer.semantic.pairs.verifier import forbidding, late
from cachelayer.semantic.text.making import making
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words

ORDERS = (
    "Write {}",
    "write me {} please",
    "Can you write {}?",
    "I need {}",
    "Please create {}",
    "Help me draft {}.",
)
MADE = (
    "a poem about autumn",
    "an email to my boss asking for a day off",
    "a Python function that reverses a string",
)


@given(st.sampled_from(ORDERS), st.sampled_from(ORDERS), st.sampled_from(MADE))
def test_one_thing_is_the_same_however_it_is_ordered(one: str, other: str, made: str):
    table = words()
    a, b = read(one.format(made), table), read(other.format(made), table)
    assert one == other or reframed(a, b)
    assert not forbidding(a, b, table) and not late(a, b, table)


@pairs(
    ("Write a function in Python that sorts a list", "Write a Python function to sort a list"),
    ("Write a function to sort a list in Python", "Write a Python function that sorts a list"),
    ("Write a script that copies all files", "Create a script to copy all files"),
    ("Write a query to check if a table exists", "Write a query that checks whether a table exists"),
)
def test_code_that_does_it_is_code_to_do_it(one: str, other: str):
    table = words()
    assert reframed(read(one, table), read(other, table))


@pairs(
    ("Write a poem about autumn", "Write a story about autumn"),
    ("Write a poem about autumn", "Write a short poem about autumn"),
    ("Write a Python function to sort a list", "Write a Java function to sort a list"),
    ("Write a script that copies all files", "Write a script that moves all files"),
    ("Write a letter to my landlord", "I need a letter from my landlord"),
    ("Write an email", "I need an email address"),
)
def test_another_thing_is_not(one: str, other: str):
    table = words()
    assert not reframed(read(one, table), read(other, table))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "write",
        "write a",
        "I need a doctor",
        "Write please in French",
        "a poem",
        "give me a",
        "Give me a summary of this article",
    ],
)
def test_what_orders_nothing_of_the_kind_is_left_alone(text: str):
    assert making(text, words().spelling.common) == ""
