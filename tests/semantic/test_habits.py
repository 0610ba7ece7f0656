"""How it used to be, is becoming or would have been, whose it is and to whom: other requests than how it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.amounts import degrees
from cachelayer.semantic.guards.conditions import conditions, mirrored
from cachelayer.semantic.guards.doers import heads
from cachelayer.semantic.guards.exchanges import lettered, owners, selves
from cachelayer.semantic.guards.habits import habits
from cachelayer.semantic.guards.rates import rates
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.tenses import tenses
from cachelayer.semantic.text.signature import Signature, signature

Guard = Callable[[Signature, Signature], bool]


@pairs(
    ("do you ship to Malta?", "did you use to ship to Malta?"),
    ("where does Serena live?", "where did Serena used to live?"),
    ("who owns this inn?", "who used to own this inn?"),
    ("I work at a bank, may I apply?", "I used to work at a bank, may I apply?"),
    ("is the climate unstable?", "is the climate becoming unstable?"),
    ("why is the lake salty?", "why is the lake becoming salty?"),
    ("are rents high in Leeds?", "are rents getting high in Leeds?"),
    ("is the light blinking?", "is the light supposed to blink?"),
    ("what will happen if the dam breaks?", "what would happen if the dam had broken?"),
)
def test_as_it_was_or_will_be_is_not_as_it_is(one: str, other: str):
    assert apart(habits, one, other)
    assert apart(relations, one, other)


@pairs(
    ("did Tom use to be a pilot?", "was Tom a pilot once?"),
    ("what is a colander used to do?", "what do you do with a colander?"),
    ("can a gift card be used to pay for shipping?", "can I pay for shipping with a gift card?"),
    ("how do I get used to a new keyboard?", "how do I adapt to a new keyboard?"),
    ("is it getting colder in May?", "is it becoming colder in May?"),
    ("why is my phone getting hot?", "why is my phone hot?"),
    ("is my card getting blocked?", "is my card blocked?"),
    ("how to become a nurse?", "how do I become a nurse?"),
    ("how am I supposed to log in?", "how do I log in?"),
    ("should the light blink?", "is the light supposed to blink?"),
    ("what is the pay after becoming a pilot?", "what is the pay of a pilot?"),
    ("what if I have a day to live?", "what would you do if you had a day to live?"),
    ("what would've happened if the South won?", "what might have happened if the South had won?"),
)
def test_a_habit_in_other_words_is_the_same(one: str, other: str):
    assert not apart(habits, one, other)


def test_of_two_who_are_named_his_may_be_either_ones():
    one = signature("If Ben and Ruth part, does he keep his house?")
    other = signature("If Ben and Ruth part, does he keep Ruth's house?")
    assert owners(one, other) and owners(other, one) and relations(one, other)
    alone = signature("Did Ruth sell her house?"), signature("Did Ruth sell Ruth's house?")
    assert not owners(*alone)


@pairs(
    ("did Marta leave Paul", "was Marta left by Paul"),
    ("does Steven understand Thomas", "is Steven understood by Thomas"),
    ("did the wave strike the ship", "was the wave struck by the ship"),
)
def test_verbs_that_bend_have_passives_too(one: str, other: str):
    assert apart(relations, one, other)


def test_a_verb_that_ends_in_s_is_not_of_the_present():
    assert not relations(signature("did Anna miss the train"), signature("was the train missed by Anna"))


@pytest.mark.parametrize(
    ("guard", "one", "other"),
    [
        (selves, "does the oven clean itself", "does the oven clean it"),
        (selves, "do I renew it myself", "do you renew it for me"),
        (
            conditions,
            "I had the shot before I got sick, is that bad",
            "I got sick before I had the shot, is that bad",
        ),
        (
            conditions,
            "I can't log in after changing my password",
            "I can't change my password after logging in",
        ),
        (conditions, "I quit because I was ill", "I was ill because I quit"),
        (tenses, "could he have signed the lease", "could he sign the lease"),
        (tenses, "I should have called", "I called"),
        (conditions, "if I pay late is there a fee", "if there is a fee do I pay late"),
        (conditions, "if it rains do we cancel", "does it rain if we cancel"),
        (mirrored, "are you allowed to see my data", "am I allowed to see your data"),
        (degrees, "is the bridge as long as the tunnel", "is the bridge longer than the tunnel"),
        (degrees, "which phone is as cheap as mine", "which phone is less cheap than mine"),
        (rates, "take it twice a day", "take it once every two days"),
        (rates, "is it run daily", "is it run every other day"),
        (rates, "three times a week", "once in a month and every three weeks"),
        (heads, "the index of an item", "the item at an index"),
        (lettered, "copy it from server A to server B", "copy it from server B to server A"),
        (relations, "must the form be signed", "has the form been signed"),
        (relations, "I'm about to be fired", "I was fired"),
        (relations, "tax on gifts that I give", "tax on gifts that I receive"),
    ],
)
def test_one_small_exchange_makes_another_request(guard: Guard, one: str, other: str):
    assert apart(guard, one, other)


@pytest.mark.parametrize(
    ("guard", "one", "other"),
    [
        (selves, "does it clean itself", "is it self cleaning"),
        (selves, "can I renew it myself", "can I renew it for me"),
        (conditions, "before I eat, should I take the pill", "should I take the pill before I eat"),
        (conditions, "after upgrading my app crashes", "my app crashes after upgrading"),
        (conditions, "I missed it because I was ill", "I was ill, because of that I missed it"),
        (tenses, "what could have caused the leak", "what could cause the leak"),
        (tenses, "I should have received it", "I did not receive it"),
        (tenses, "must I have insurance", "do I need insurance"),
        (conditions, "do we cancel if it rains", "if it rains do we cancel"),
        (conditions, "if the card is lost what do I do", "what do I do if the card is lost"),
        (mirrored, "could you give me a refund", "could I get a refund from you"),
        (mirrored, "how do I reset my password", "how do you reset your password"),
        (rates, "twice a day", "every 12 hours"),
        (rates, "is it run daily", "is it run every day"),
        (rates, "twice every day", "two times per day"),
        (rates, "what a day, and once it rained", "is it run every other day"),
        (heads, "the price of a ticket", "the ticket and its price"),
        (heads, "the number of seats in a car", "the number of seats of a car"),
        (degrees, "is it as big as a bus", "has it the size of a bus, or is it as big as one"),
        (relations, "must the form be signed", "does the form have to be signed"),
    ],
)
def test_the_same_in_another_order_or_from_another_side_is_one_request(guard: Guard, one: str, other: str):
    assert not apart(guard, one, other)
