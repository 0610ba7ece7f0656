"""Manners around an order about a text that is given elsewhere are manners, though such an order speaks of words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs, repeats

from cachelayer.semantic.text.given import for_me

FRAMES = (
    "{}",
    "Please {}",
    "{} please",
    "{}, thanks!",
    "{} for me",
    "Could you {}?",
    "would you please {} for me?",
)
ORDERS = (
    "summarize this article",
    "translate the following text into French",
    "rewrite my letter in a formal tone",
)


@given(st.sampled_from(FRAMES), st.sampled_from(FRAMES), st.sampled_from(ORDERS))
def test_an_order_about_a_given_text_is_one_however_politely_it_is_put(one: str, other: str, order: str):
    assert repeats(one.format(order), other.format(order))


@pairs(
    ('Translate "good day" into Dutch', 'Please translate "good day" into Dutch'),
    ("Rewrite: I am here", "Could you please rewrite: I am here"),
    ("Translate: thank you", "please translate: thank you"),
)
def test_so_is_one_about_a_text_that_it_shows(one: str, other: str):
    assert repeats(one, other) and repeats(other, one)


@pairs(
    ("Translate: thank you", "Translate: thank"),
    ("Translate: sit", "Translate: please sit"),
    ("Say sit in Dutch", "Please say sit in Dutch"),
    ("Summarize this article", "Summarize this articles"),
    ("Translate this text: good morning", "Translate this text: good morning, please"),
    ("Translate good morning into French", "Translate good morning, please into French"),
    ("How do you say this text in French?", "How do you say this text in French, please?"),
    ("Is coffee bad for me?", "Is coffee bad?"),
    ("Milk is bad for me", "Milk is bad"),
    ("Choose a gift for me", "Choose a gift for her"),
)
def test_what_is_shown_or_asked_keeps_its_words(one: str, other: str):
    assert not repeats(one, other) and not repeats(other, one)


def test_whoever_orders_something_wants_it_for_himself():
    assert repeats("Order the blue tent for me", "order the blue tent")
    assert not for_me(["this", "works", "for", "me"])
