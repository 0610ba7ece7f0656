"""Two wishes of one thing may want it begun and ended; a reply alone says too little."""

from __future__ import annotations

import pytest
from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.deeds import deeds, talks
from cachelayer.semantic.guards.fragments import fragments
from cachelayer.semantic.guards.moods import moods


@pairs(
    ("change my booking", "I need to cancel my booking", True),
    ("make an appointment", "I'd like to reschedule the appointment", True),
    ("can you change the address of my savings account?", "I'd like to open another savings account", True),
    ("I want to make a change to my order", "please cancel my order", True),
    ("how do I increase my limit?", "could I lower my limit?", True),
    ("use my savings account", "I want to open another savings account", True),
    ("cancel my seven am alarm", "set my alarm for seven am", True),
    ("how do I write-protect my card?", "how do I remove the write protection from my card?", True),
    ("how do I password protect a file?", "how do I take the protection off my file?", True),
    ("how do I encrypt a disk?", "my disk is encrypted, how do I get rid of that?", True),
    ("how do I protect a page so that nobody can remove it?", "how do I remove a page?", False),
    ("how do I remove a member of the team?", "how do I change the members of the team?", False),
    ("how do I protect my account?", "how do I use my account?", False),
    ("set the volume to five", "change the volume to five", False),
    ("how can I block my card?", "I want to cancel my card", False),
    ("end my subscription", "terminate my subscription", False),
    ("I want to change or cancel my booking", "I want to cancel my booking", False),
    ("cancel my booking", "I'd like the cancellation of my booking", False),
    ("make the text bigger", "increase the size of the text", False),
    ("how do I close my account?", "where do I open a ticket?", False),
    ("the shop will close", "I want to open the shop", False),
)
def test_what_one_wants_ended_another_wants_begun_or_changed(one: str, other: str, differ: bool):
    assert apart(deeds, one, other) is differ


@pairs(
    ("can we get room service?", "speak to room service", True),
    ("my card does not work", "my card does not work, can I talk to an agent?", True),
    ("can I talk to a person?", "how do I contact support?", False),
    ("talk about the weather", "how is the weather?", False),
)
def test_who_wants_to_talk_to_somebody_wants_something_else(one: str, other: str, differ: bool):
    assert apart(talks, one, other) is differ


@pairs(
    ("a debit card", "I have lost my debit card", True),
    ("it's a savings account", "open a savings account for my son", True),
    ("yes, a new one", "make me a new card", True),
    ("I think this is the fee", "what are the fees of this account?", True),
    ("a debit card", "it's a debit card", False),
    ("a recipe for pesto", "give me a recipe for pesto", False),
    ("yes, it is a gift", "it is a gift", False),
    ("yes or no: is it raining?", "is it raining in Rome?", False),
    ("debit card lost", "I have lost my debit card", False),
    ("it is how many degrees outside?", "how many degrees are there outside today?", False),
)
def test_a_reply_does_not_say_what_a_request_does(one: str, other: str, differ: bool):
    assert apart(fragments, one, other) is differ


@pytest.mark.parametrize(
    ("asked", "said", "differ"),
    [
        ("should it arrive soon?", "it should arrive soon", True),
        ("is the pool open today?", "the pool is open today", True),
        ("is the pool open today?", "is the pool open today", False),
    ],
)
def test_who_says_it_is_so_does_not_ask_whether(asked: str, said: str, differ: bool):
    assert apart(moods, asked, said) is differ


WORDS = st.lists(
    st.sampled_from(
        "yes it it's is this a an about card speak to make change cancel i my please open".split()
    ),
    max_size=7,
)


@given(WORDS, WORDS)
def test_any_words_are_compared_the_same_either_way(one: list[str], other: list[str]):
    for guard in (deeds, talks, fragments, moods):
        apart(guard, " ".join(one), " ".join(other))
