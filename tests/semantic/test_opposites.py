"""Opposites and phrases that say the contrary forbid an answer; others that say the same do not."""

from __future__ import annotations

import pytest
from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import judge, pairs

from cachelayer.semantic.guards.phrases import phrases
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.text.opposites import ANTONYMS
from cachelayer.semantic.text.signature import signature

PHRASES = [
    ("invite everybody apart from Kim", "invite everybody including Kim"),
    ("is there a fee regardless of weight", "is there a fee depending on weight"),
    ("will they pay although the lock was open", "will they pay provided the lock was open"),
    ("which floods result from logging", "which floods result in logging"),
    ("may I swim prior to the exam", "may I swim following the exam"),
    ("what is served during the flight", "what is served ahead of the flight"),
    ("is the bakery still open", "is the bakery open yet"),
    ("which drinks are part of the menu", "which drinks are extra to the menu"),
    ("am I obliged to report it", "am I entitled to report it"),
    ("is the locker to be had free of charge", "is the locker to be had for a fee"),
    ("take the bus instead of the train", "take the bus as well as the train"),
]
WORDS = [
    ("reasons of the famine", "effects of the famine"),
    ("is it safer to sail at dusk", "is it riskier to sail at dusk"),
    ("are fires permitted on the beach", "are fires prohibited on the beach"),
    ("is a vest required in a canoe", "is a vest recommended in a canoe"),
    ("the gross wage of a baker", "the net wage of a baker"),
    ("resume the old backup job", "stop the old backup job"),
    ("can I pause the gym plan", "can I cancel the gym plan"),
    ("continue the upload to the server", "pause the upload to the server"),
    ("tea with lemon", "tea w/o lemon"),
]
TENSES = [
    ("which bands came to town", "which bands are coming to town"),
    ("what did the mill make, it made flour", "what does the mill make, it makes flour"),
]


@pytest.mark.parametrize(("a", "b"), [*PHRASES, *WORDS, *TENSES])
def test_the_contrary_is_never_served_whatever_the_similarity(a: str, b: str) -> None:
    assert judge(a, b)[0] == judge(b, a)[0] == 0.0


@pairs(
    ("invite everybody apart from Kim", "invite everybody except Kim"),
    ("may I swim prior to the exam", "may I swim before the exam"),
    ("will they pay although it rained", "will they pay even though it rained"),
    ("what led to the strike", "what resulted in the strike"),
    ("is a vest required in a canoe", "is a vest mandatory in a canoe"),
    ("tea without lemon", "tea w/o lemon"),
    ("as soon as it is open, call me", "once it is open, call me"),
    ("which bands came to town", "which bands have come to town"),
)
def test_other_words_for_the_same_are_left_to_the_trees(one: str, other: str) -> None:
    assert not apart(relations, one, other)


def test_opposites_are_so_from_either_side_and_none_is_its_own() -> None:
    assert all(word in ANTONYMS[other] for word, others in ANTONYMS.items() for other in others)
    assert not any(word in others for word, others in ANTONYMS.items())


@pytest.mark.parametrize(
    "pair", "enables/disables attaching/detached pausing/resuming stopped/resumed denies/approves".split()
)
def test_verbs_are_opposites_in_every_form_they_share(pair: str) -> None:
    one, other = pair.split("/")
    assert (other in ANTONYMS[one]) == (one[-2:] == other[-2:] or one.endswith("s"))


@pytest.mark.parametrize(
    ("pair", "opposed"),
    [
        ("sending/receive", True),
        ("throw/catching", True),
        ("reads/writing", True),
        ("closed/opens", False),
        ("booking/cancel", False),
        ("open/closes", False),
        ("disabled/enable", False),
    ],
)
def test_verbs_are_opposites_in_other_forms_where_no_form_is_a_state_or_a_thing(
    pair: str, opposed: bool
) -> None:
    one, other = pair.split("/")
    assert (other in ANTONYMS[one]) is opposed


TEXTS = st.lists(
    st.sampled_from("apart from other than including still yet once until the bus no matter as well".split())
)


@given(TEXTS, TEXTS)
def test_phrases_are_heard_from_either_side(left: list[str], right: list[str]) -> None:
    a, b = signature(" ".join(left)), signature(" ".join(right))
    assert phrases(a, b) == phrases(b, a)
    assert not phrases(a, a)
