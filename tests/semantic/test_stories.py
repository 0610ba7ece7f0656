"""What is told beside a question may decide which answer is right; what only sets the scene does not."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import pairs

from cachelayer.semantic.guards.stories import scenic, story
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.text.parts import parts_of
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words
from cachelayer.types import Candidate, Query

VECTOR = np.zeros(4, np.float32)
COSINE = 0.85


def _sure(one: str, other: str) -> tuple[float, str]:
    (judged,) = PairVerifier().judge(Query(one, VECTOR), [Candidate(1, COSINE, other, "an answer")])
    return judged


def _scenic(one: str, other: str) -> bool:
    table = words()
    return scenic(read(one, table), read(other, table), table)


@pairs(
    ("I deleted my account. How do I log in?", "How do I log in?"),
    ("How do I log in? I deleted my account.", "How do I log in?"),
    ("i deleted my account how do i log in", "how do i log in"),
    ("I already paid. Where do I see my invoice?", "Where do I see my invoice?"),
    ("My voucher expired. How do I use it?", "How do I use my voucher?"),
    ("I'm vegan. Where do I get protein?", "Where do I get protein?"),
    ("I have asthma. Can I take aspirin?", "Can I take aspirin?"),
    ("I emptied the trash, how do I restore a file?", "How do I restore a file?"),
    ("Because I am a contractor, do I get sick pay?", "Do I get sick pay?"),
    ("How do I approve a payment since I lost my phone?", "How do I approve a payment?"),
    ("The driver was drunk. Does the insurance pay?", "Does the insurance pay?"),
    ("I deleted my account. How do I log in?", "I'm new here. How do I log in?"),
    ("I can't find my phone. How do I log in?", "How do I log in?"),
)
def test_what_is_told_beside_a_question_makes_it_another(one: str, other: str) -> None:
    for a, b in ((one, other), (other, one)):
        assert _sure(a, b)[0] < 0.95


@pairs(
    ("I'm new here. How do I open an account?", "How do I open an account?"),
    ("I looked everywhere. Where do I change my PIN?", "Where do I change my PIN?"),
    ("How do I undo a commit? I'm stuck.", "How do I undo a commit?"),
    ("I can't find the button. Where do I change my email?", "Where do I change my email?"),
    ("I've been trying for an hour. How do I activate my card?", "How do I activate my card?"),
    ("My son wants to know. Why is the sky blue?", "Why is the sky blue?"),
    ("I love your app! How do I set a limit?", "How do I set a limit?"),
    ("I'm a bit confused, how do I set a limit?", "How can I set a limit?"),
    ("I have a discount code. Where do I enter my discount code?", "Where do I enter my discount code?"),
    ("Your website is confusing. How can I contact support?", "How do I contact support?"),
)
def test_what_only_sets_the_scene_changes_no_question(one: str, other: str) -> None:
    for a, b in ((one, other), (other, one)):
        assert _sure(a, b)[0] >= 0.95


def test_explain_names_the_story() -> None:
    assert _sure("I deleted my account. How do I log in?", "How do I log in?")[1] == "story"


@pytest.mark.parametrize(
    "told",
    ["I'm sure it can.", "I want it in one word.", "I hope you pretend.", "It is.", "I like wrong answers."],
)
def test_what_is_told_to_whoever_answers_sets_no_scene(told: str) -> None:
    assert not _scenic(f"{told} How do I reset the hub 3?", "How do I reset the hub 3?")


@pytest.mark.parametrize("told", ["I feel lost.", "I'm scared.", "I'm tired of it."])
def test_of_a_question_that_names_nothing_all_that_matters_is_what_is_told(told: str) -> None:
    assert _scenic(f"{told} How do I reset the hub 3?", "How do I reset the hub 3?")
    assert not _scenic(f"{told} What should I do?", "What should I do?")


@pytest.mark.parametrize(
    ("text", "told", "asked"),
    [
        ("My card was stolen, what should I do?", ["my card was stolen"], "what should I do?"),
        ("How do I log in? I quit.", ["i quit"], "How do I log in?"),
        ("What is the capital of Peru?", [], "What is the capital of Peru?"),
        ("I want to know what I can do with it?", [], "I want to know what I can do with it?"),
        ("My laptop won't start.", [], "My laptop won't start."),
        ("Who pays? Because the tenant left, I mean.", ["the tenant left i mean"], "Who pays?"),
        ("so my trial ended - how do I export my data?", ["my trial ended"], "how do I export my data?"),
    ],
)
def test_a_text_is_split_into_its_statements_and_its_question(text: str, told: list[str], asked: str) -> None:
    found = parts_of(text)
    assert [" ".join(words) for words in found.statements] == told
    assert found.question == asked


def test_one_story_told_twice_is_no_difference() -> None:
    one = "I broke up with my boyfriend and now I miss him terribly. How do I cope with the pain?"
    table = words()
    assert story(read(one, table), read(one.replace("terribly", "dearly"), table), table) is None
