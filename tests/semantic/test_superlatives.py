"""What is compared in other ways is something else; adjectives that say the same are no other way."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.superlatives import superlatives
from cachelayer.semantic.text.signature import signature

OTHER = [
    ("What is the largest lake of Finland?", "name the oldest lake in Finland"),
    ("Show the cheapest plan", "which plan is the most popular"),
    ("Which of the two is faster?", "which one is safer"),
    ("Find the least expensive hotel", "which hotel is the nearest"),
    ("Who is the most influential author?", "the most popular author"),
]
SAME = [
    ("Find the least expensive hotel", "which hotel is the cheapest"),
    ("What is the tallest building?", "name the highest building"),
    ("What are the most common errors?", "which errors are the most frequent"),
    ("Who scored the most goals?", "who has the highest number of goals"),
    ("Which car has the highest price?", "which is the most expensive car"),
    ("I no longer need it, what is the fastest way to return it?", "the quickest way to return it"),
    ("What is the best hotel?", "which hotel is the nicest"),
]


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_another_superlative_asks_for_something_else(a: str, b: str) -> None:
    one, other = signature(a), signature(b)
    assert superlatives(one, other) and superlatives(other, one) and relations(one, other)


@pytest.mark.parametrize(("a", "b"), SAME)
def test_what_may_say_the_same_is_no_other_superlative(a: str, b: str) -> None:
    one, other = signature(a), signature(b)
    assert not superlatives(one, other) and not superlatives(other, one)
