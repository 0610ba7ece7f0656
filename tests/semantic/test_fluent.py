"""A transcript of speech asks what a written text asks; where sounds may be meant they are left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.pairs.repeated import repeats
from cachelayer.semantic.text.fluent import fluent
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words


@pairs(
    ("i wanna um cancel my uh order", "I want to cancel my order."),
    ("so um i need to change uh my address", "I need to change my address"),
    ("can you uh tell me the uh balance", "Can you tell me the balance?"),
    ("What is the fee, um, for a transfer?", "What is the fee for a transfer?"),
    ("I'm gonna need a refund", "I am going to need a refund"),
    ("lemme know when it ships", "let me know when it ships"),
    ("gimme a lasagna recipe", "Give me a lasagna recipe"),
    ("i dunno how to log in", "I don't know how to log in"),
)
def test_what_is_heard_is_what_is_written(one: str, other: str) -> None:
    assert repeats(read(one, words()), read(other, words()))


@pairs(
    ("how do i um turn on airplane mode", "how do i turn off airplane mode"),
    ("what does wanna mean here", "what does want to mean here"),
    ("Fix this: i um like it", "Fix this: i like it"),
    ("who sang gimme shelter", "who sang give me shelter"),
    ("Quero um voo para Natal", "Quero voo para Natal"),
)
def test_other_requests_and_shown_texts_stay_apart(one: str, other: str) -> None:
    assert not repeats(read(one, words()), read(other, words()))


@pytest.mark.parametrize(
    "text",
    [
        "what is UM health",
        "Ich komme um 8 Uhr an",
        "Um wie viel Uhr fährt der Zug?",
        "uh-huh is what she said",
        "rewrite: i wanna go",
        'play "Gonna Fly Now"',
    ],
)
def test_what_may_be_meant_is_left(text: str) -> None:
    assert fluent(text) == text


@given(st.lists(st.sampled_from("um uh i wanna the order , gimme lemme UM going Uhm erm ich".split())))
def test_nothing_is_left_to_do_twice(said: list[str]) -> None:
    once = fluent(" ".join(said))
    assert fluent(once) == once
