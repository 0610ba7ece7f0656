"""What is asked indirectly is asked directly, where the verb is known; else nothing is turned."""

from __future__ import annotations

import pytest

from cachelayer.semantic.text.asked import asked
from cachelayer.semantic.text.direct import direct


@pytest.mark.parametrize(
    ("indirect", "question"),
    [
        ("where I can download the app?", "where can I download the app?"),
        ("how much a passport costs", "how much does a passport cost"),
        ("how long delivery takes to Spain", "how long does delivery take to Spain"),
        ("how long tickets last", "how long do tickets last"),
        ("what documents I need for a visa", "what documents do I need for a visa"),
        ("which bus I have to take", "which bus do I have to take"),
        ("what colour the car is", "what colour is the car"),
        ("what time breakfast starts", "what time does breakfast start"),
        ("what your opening hours are", "what are your opening hours"),
        ("who the owner of the shop is", "who is the owner of the shop"),
        ("why my card doesn't work", "why doesn't my card work"),
        ("how it works", "how does it work"),
        ("how he carries it", "how does he carry it"),
        ("how many rooms the hotel has", "how many rooms does the hotel have"),
        ("how old one has to be", "how old does one have to be"),
        ("how long he has been president", "how long has he been president"),
        ("if you ship to Norway", "do you ship to Norway?"),
        ("if dogs are allowed", "are dogs allowed?"),
        ("whether my order has shipped.", "has my order shipped?"),
        ("if the hotel has a pool", "does the hotel have a pool?"),
        ("if there is a pool", "is there a pool?"),
    ],
)
def test_a_question_is_turned(indirect: str, question: str):
    assert direct(indirect.split()) == question


@pytest.mark.parametrize(
    "text",
    [
        "where can I park",
        "how do I mend a tent",
        "how to mend a tent",
        "which trains stop in Rome",
        "how many people live in Rome",
        "what documents are needed",
        "what happened to my order",
        "which is better, tea or coffee",
        "what cats are afraid of",
        "where you got it",
        "how the",
        "mend a tent",
    ],
)
def test_what_asks_directly_or_has_no_known_verb_stays(text: str):
    assert direct(text.split()) == text


@pytest.mark.parametrize(
    "text", ["could you check if it has shipped", "can you check for me if it has shipped"]
)
def test_to_have_something_checked_is_to_ask_for_it(text: str):
    assert asked(text) == "has it shipped?"


def test_what_is_to_be_checked_is_not_asked():
    assert asked("could you check my essay") == "could you check my essay"
