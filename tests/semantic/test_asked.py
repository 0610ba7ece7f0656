"""Manners around a request are no part of what it asks; what is asked is never cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.semantic.text.asked import asked


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi, could you tell me where the ferry leaves?", "where does the ferry leave?"),
        (
            "hello there! I was wondering how long yeast keeps, if you don't mind my asking",
            "how long does yeast keep",
        ),
        ("sorry to bother you, do you happen to know who won the cup", "who won the cup"),
        ("Good evening, hope you're well, a quick question: is the pool heated?", None),
        ("Good evening, hope you're well, is the pool heated today?", "is the pool heated today?"),
        ("Can you tell me if I can bring a dog? Thanks so much!", "can I bring a dog?"),
        ("I'd like to know whether the museum is open, please", "is the museum open?"),
        ("may I ask what the fee is for skis", "what is the fee for skis"),
        ("heyyy how do i mend a tent, thank youuu", "how do i mend a tent"),
        ("Mend the tent, please. That would be great.", "Mend the tent"),
        ("how do I mend a tent?", "how do I mend a tent?"),
        ("remind me what the ferry costs", "what does the ferry cost"),
        ("please advise how I mend a tent", "how do I mend a tent"),
        ("Please go ahead and mend the tent", "mend the tent"),
    ],
)
def test_what_is_asked_is_left(text: str, left: str | None) -> None:
    assert asked(text) == (text if left is None else left)


@pytest.mark.parametrize(
    "text",
    [
        "How do you say thank you in Thai?",
        "Write a poem that ends with thanks",
        'What does "hi, could you tell me how" mean?',
        "hello kitty backpack for a girl",
        "good day trading strategies for beginners",
        "can you tell me a joke about dogs",
        "tell me the rules of chess",
        "let me know when my parcel arrives",
        "please tell me if it rains in Rome",
        "remind me to call Ann",
        "remind me when it rains in Rome",
        "advise whether to sell it",
        "go ahead",
        "I want to know my balance",
        "thanks a lot!",
        "Hello, what is that in German?",
        "How can I have a great day?",
        "How do I stop wondering",
        "Why do you think it would be awesome",
        "How do I find out if possible",
        "When should I use thanks",
        "Play the song thank you",
        "What is the French for many thanks",
        "Print a banner with thank you",
        "Help me, please",
        "Do you know Ann?",
        "",
    ],
)
def test_what_only_looks_like_manners_stays(text: str) -> None:
    assert asked(text) is text


@given(st.text(max_size=700))
def test_any_text_is_read(text: str) -> None:
    assert len(asked(text)) <= len(text) + 1


@given(
    st.lists(st.sampled_from("hi , please can you tell me if how i can go thanks so much ? ! . 5 x".split()))
)
def test_manners_are_cut_once_and_for_all(words: list[str]) -> None:
    text = " ".join(words)
    assert asked(text) is text or len(asked(text)) <= len(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Thx, and how do I mend a tent?", "how do I mend a tent?"),
        ("Ok thanks. And where do I moor the boat?", "where do I moor the boat?"),
        ("If it isn't too much trouble, please dim the lights.", "please dim the lights."),
        ("If it's no bother, could you dim the lights", "could you dim the lights"),
        ("I don't suppose you know when the pool opens?", "when does the pool open?"),
        ("would you mind telling me where the ferry leaves?", "where does the ferry leave?"),
        ("I can't figure out how to mend a tent", "how to mend a tent"),
        ("I don't know if I can bring a dog", "can I bring a dog?"),
        ("dim the lights if it's not a problem", "dim the lights"),
    ],
)
def test_thanks_that_begin_and_doubts_are_manners(text: str, left: str):
    assert asked(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "And how do I mend a tent?",
        "I don't know him or his boat",
        "I can't find the remote anywhere",
        "If it is not a problem of theirs, whose is it",
        "great tents for two people",
    ],
)
def test_doubts_that_are_the_matter_stay(text: str):
    assert asked(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "if I lose my card what do I do?",
        "when the app opens it crashes. What now?",
        "where I work we have no wifi",
        "what the fee is",
    ],
)
def test_a_greeting_puts_no_question_off(text: str):
    assert asked(f"Hello, {text}") == text
