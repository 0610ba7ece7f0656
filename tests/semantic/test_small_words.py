"""An order is no question, what is past is not to come, and a small word exchanged in its place says another thing."""

from __future__ import annotations

import pytest
from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import judge, pairs

from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.text.signature import signature

ORDERS = [
    ("is the window shut", "shut the window"),
    ("did somebody feed the cat", "feed the cat"),
    ("has the report been printed", "please print the report"),
    ("are there seats left on the 9 am ferry", "reserve 2 seats on the 9 am ferry"),
    ("why would I wipe my disk", "could you wipe my disk"),
    ("when is my fine due", "pay my fine when it is due"),
    ("who drafted the contract", "draft the contract"),
    ("how was the exam marked", "mark the exam"),
    ("I'd like a lawyer", "what is a lawyer"),
    ("should I wipe my disk", "wipe my disk"),
    ("must we feed the cat", "please feed the cat"),
    ("shall I shut the window", "shut the window"),
]
TENSES = [
    ("who is the mayor", "who was the mayor"),
    ("what's the password", "what was the password"),
    ("does the ferry run on time", "did the ferry run on time"),
    ("I'm renting a boat, who insures it", "I rented a boat, who insures it"),
    ("my licence expires in 2 weeks", "my licence expired 2 weeks ago"),
    ("my daughter has a rash", "my daughter had a rash"),
]
EXCHANGES = [
    ("turn down the radio", "turn out the radio"),
    ("how do I sign up for it", "how do I sign off for it"),
    ("a taxi to the harbour", "a taxi at the harbour"),
    ("did they complain to him", "did they complain about him"),
    ("a portrait by Ann", "a portrait of Ann"),
    ("can I travel as a nurse", "can I travel with a nurse"),
    ("bring a pen and paper", "bring a pen or paper"),
    ("who may enter", "who else may enter"),
    ("can I take the test again", "can I take the test"),
    ("send the form to Kim", "send the form back to Kim"),
    ("drop my ticket", "drop my tickets"),
    ("where is my ticket", "where are my tickets"),
    ("can I lease a barn", "can I lease out a barn"),
    ("how do I rate", "how do I get rated"),
    ("call the match", "call off the match"),
    ("the road to school", "the road from school"),
    ("when can I prune roses", "when should I prune roses"),
    ("zoom in in the map", "zoom out in the map"),
    ("it will definitely rain at noon", "it will possibly rain at noon"),
    ("will I be fined", "could I be fined"),
    ("is the pool open from tomorrow", "is the pool open tomorrow"),
    ("trains to Bern", "trains via Bern"),
    ("is there a bank at the harbour", "is there a bank near the harbour"),
    ("a toast for my uncle", "a toast about my uncle"),
    ("concerts with Ann Smith", "concerts by Ann Smith"),
    ("write a note to my boss", "write a note for my boss"),
]


@pytest.mark.parametrize(("a", "b"), [*ORDERS, *TENSES, *EXCHANGES])
def test_one_small_word_forbids_whatever_the_similarity(a: str, b: str) -> None:
    assert relations(signature(a), signature(b))
    assert judge(a, b)[0] == judge(b, a)[0] == 0.0


@pairs(
    ("how do I shut the window", "shut the window, how?"),
    ("can you explain the rules of bridge", "what are the rules of bridge"),
    ("is there a way to shut the window", "shut the window"),
    ("list the moons of Mars", "what are the moons of Mars"),
    ("can you swim in the lake", "is the lake safe to swim in"),
    ("where is my parcel", "track my parcel"),
    ("after a flood, who pays", "who pays after a flood"),
    ("why is my ticket blocked", "why was my ticket blocked"),
    ("why does my card fail", "why did my card fail"),
    ("the tap won't open though I cleaned it", "the tap doesn't open though it's clean"),
    ("open to the public", "open for the public"),
    ("a present for my uncle", "a present to my uncle"),
    ("is there a bank near the harbour", "is there a bank around the harbour"),
    ("the news from yesterday", "the news of yesterday"),
    ("pay in instalments", "pay by instalments"),
    ("how do I access my files", "how do I get access to my files"),
    ("fill in the form", "fill out the form"),
    ("how do I drop my ticket", "how do I drop my tickets"),
    ("how can I prune roses", "how should I prune roses"),
    ("what must I do to prune roses", "how can I prune roses"),
    ("may I shut the window", "shut the window"),
    ("olympics 2012 opening", "who sang when the 2012 olympics opened"),
    ("flights in winter: are they cheaper?", "are flights cheaper in winter"),
    ("what is meant by osmosis", "what is osmosis"),
    ("in one sentence, explain tides", "explain tides in one sentence"),
)
def test_another_wording_is_left_to_the_trees(one: str, other: str) -> None:
    assert not apart(relations, one, other)


WORDS = st.lists(
    st.sampled_from("shut the my is was did why i want a as to with up off back again door doors 3".split())
)


@given(WORDS, WORDS)
def test_small_words_are_heard_from_either_side(left: list[str], right: list[str]) -> None:
    a, b = signature(" ".join(left)), signature(" ".join(right))
    assert relations(a, b) == relations(b, a)
    assert not relations(a, a)
