"""Who acts, which act comes first, and whether something is wished for or can be done: each makes another request."""

from __future__ import annotations

import pytest
from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.agents import agents
from cachelayer.semantic.guards.exchanges import furthered
from cachelayer.semantic.guards.moods import moods
from cachelayer.semantic.guards.relations import relations


@pairs(
    ("what happens to my data if I cancel?", "what happens to my data if you cancel?"),
    ("who pays when we break our lease?", "who pays when you break our lease?"),
    ("can I record my calls?", "can you record my calls?"),
    ("can I see my location?", "can someone else see my location?"),
    ("may I sell my data?", "do they sell my data?"),
    ("am I allowed to share my files?", "are you allowed to share my files?"),
    ("do I have to report my income?", "do you report my income?"),
    ("how long do I keep my records?", "how long do you actually keep my records?"),
    ("can I sell tickets?", "do you sell tickets?"),
    ("may I deliver pizza?", "will you deliver pizza?"),
    ("Do I tell my doctor?", "Do you tell my doctor?"),
    ("Do I need to see my file?", "Do you need to see my file?"),
    ("If my sister parks in my spot, do I get a fine?", "Do I get a fine if I park in my sister's spot?"),
    ("Am I liable if my tenant breaks my window?", "If I break my tenant's window, am I liable?"),
    ("I lent Tom 50 euros, how do I get it back?", "Tom lent me 50 euros, how do I pay it back?"),
)
def test_what_another_one_does_is_another_request(one: str, other: str):
    assert apart(agents, one, other) and apart(relations, one, other)


@pairs(
    ("how do I cook rice?", "how do you cook rice?"),
    ("can I bring a dog?", "can you bring a dog?"),
    ("can I rent bikes?", "do you rent bikes?"),
    ("can I get my refund?", "can you give me my refund?"),
    ("I want to cancel my order", "can you cancel my order?"),
    ("will I be charged if I cancel my order?", "do you charge me if I cancel my order?"),
    ("if I cancel, do you keep my data?", "do you keep my data when I cancel?"),
    ("what do I do if I lost my card?", "can you tell me what to do if I lost my card?"),
    ("how do I cancel my order?", "I want you to cancel my order"),
    ("can I", "my you"),
    ("I need to change my flight", "can you change my flight for me?"),
    ("how do I export my data to CSV?", "how can I get a CSV export of my data?"),
    ("how do I get my cat to stop biting me?", "how do I stop my cat from biting my hands?"),
    ("how do I help my son with maths?", "my son needs help with maths, how do I help?"),
)
def test_you_may_be_anybody_and_one_verb_is_not_another(one: str, other: str):
    assert not apart(agents, one, other)


@pairs(
    ("can I vote by mail?", "can I register to vote by mail?", True),
    ("how do I swim faster?", "how do I learn to swim faster?", True),
    ("do I have to pay?", "do I have to agree to pay?", True),
    ("how do I close it?", "how do I go to close it?", False),
    ("I cancel my order", "I want to cancel my order", False),
    ("the way to do it", "the best way to do it", False),
    ("go", "I try to go", False),
)
def test_an_act_that_comes_first_makes_another_request(one: str, other: str, differ: bool):
    assert apart(furthered, one, other) is differ


@pytest.mark.parametrize(
    ("order", "question", "differ"),
    [
        ("please speak Spanish", "can you speak Spanish?", True),
        ("speak French", "do you speak French?", True),
        ("please ship to Canada", "can you ship to Canada?", True),
        ("please keep logs", "do you keep logs?", True),
        ("please speak slower", "can you speak slower?", False),
        ("speak to me in French", "can you speak to me in French?", False),
        ("ship to Canada?", "do you ship to Canada?", False),
        ("please deliver it today", "can you deliver it today?", False),
        ("please suggest names for a cat", "can you suggest names for a cat?", False),
        ("please speak", "can you", False),
    ],
)
def test_a_wish_is_no_question_whether_it_can_be_done(order: str, question: str, differ: bool):
    assert apart(moods, order, question) is differ


WORDS = st.lists(
    st.sampled_from("i you we can do will sell my data to have please speak french a the".split()), max_size=7
)


@given(WORDS, WORDS)
def test_any_words_are_compared_the_same_either_way(one: list[str], other: list[str]):
    for guard in (agents, furthered, moods):
        apart(guard, " ".join(one), " ".join(other))
