"""How it used to be, how it is becoming and whose it is: other requests than how it is."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.exchanges import owners
from cachelayer.semantic.guards.habits import habits
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.text.signature import signature


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("do you ship to Malta?", "did you use to ship to Malta?"),
        ("where does Serena live?", "where did Serena used to live?"),
        ("who owns this inn?", "who used to own this inn?"),
        ("I work at a bank, may I apply?", "I used to work at a bank, may I apply?"),
        ("is the climate unstable?", "is the climate becoming unstable?"),
        ("why is the lake salty?", "why is the lake becoming salty?"),
        ("are rents high in Leeds?", "are rents getting high in Leeds?"),
    ],
)
def test_as_it_was_or_will_be_is_not_as_it_is(one: str, other: str):
    assert habits(signature(one), signature(other)) and habits(signature(other), signature(one))
    assert relations(signature(one), signature(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("did Tom use to be a pilot?", "was Tom a pilot once?"),
        ("what is a colander used to do?", "what do you do with a colander?"),
        ("can a gift card be used to pay for shipping?", "can I pay for shipping with a gift card?"),
        ("how do I get used to a new keyboard?", "how do I adapt to a new keyboard?"),
        ("is it getting colder in May?", "is it becoming colder in May?"),
        ("why is my phone getting hot?", "why is my phone hot?"),
        ("is my card getting blocked?", "is my card blocked?"),
        ("how to become a nurse?", "how do I become a nurse?"),
    ],
)
def test_a_habit_in_other_words_is_the_same(one: str, other: str):
    assert not habits(signature(one), signature(other)) and not habits(signature(other), signature(one))


def test_of_two_who_are_named_his_may_be_either_ones():
    one = signature("If Ben and Ruth part, does he keep his house?")
    other = signature("If Ben and Ruth part, does he keep Ruth's house?")
    assert owners(one, other) and owners(other, one) and relations(one, other)
    alone = signature("Did Ruth sell her house?"), signature("Did Ruth sell Ruth's house?")
    assert not owners(*alone)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("did Marta leave Paul", "was Marta left by Paul"),
        ("does Steven understand Thomas", "is Steven understood by Thomas"),
        ("did the wave strike the ship", "was the wave struck by the ship"),
    ],
)
def test_verbs_that_bend_have_passives_too(one: str, other: str):
    assert relations(signature(one), signature(other)) and relations(signature(other), signature(one))


def test_a_verb_that_ends_in_s_is_not_of_the_present():
    assert not relations(signature("did Anna miss the train"), signature("was the train missed by Anna"))
