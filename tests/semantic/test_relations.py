"""Two texts about the same things are not one where small words put them into another relation."""

from __future__ import annotations

from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import judge, pairs

from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.text.signature import signature


@pairs(
    ("tents up to 90 euros", "tents over 90 euros"),
    ("tents below 90 euros", "tents for 90 euros"),
    ("tickets for at least 4 people", "tickets for up to 4 people"),
    ("moved out after 2011", "moved out in 2011"),
    ("must be paid by Tuesday", "must be paid on Tuesday"),
    ("a postcard from my uncle", "a postcard to my uncle"),
    ("a quote from Vera", "a quote for Vera"),
    ("essays about Kant", "essays by Kant"),
    ("park behind the church", "park at the church"),
    ("raise the rent by 5%", "raise the rent to 5%"),
    ("was the fee waived?", "will the fee be waived?"),
    ("three weeks ago", "in three weeks"),
    ("few guests stayed", "a few guests stayed"),
    ("stop even if the bell rings", "stop if the bell rings"),
    ("must I sign it", "can I sign it"),
    ("do I owe you an answer", "do you owe me an answer"),
    ("did she invite him", "did he invite her"),
    ("we paid them", "they paid us"),
    ("whom did she phone", "who phoned her"),
)
def test_another_relation_forbids_whatever_the_similarity(one: str, other: str) -> None:
    assert apart(relations, one, other)
    assert judge(one, other, 0.999)[0] == judge(other, one, 0.999)[0] == 0.0


@pairs(
    ("how do I earn money from a blog", "how can I earn money with a blog"),
    ("flights Oslo to Rome", "flights from Oslo to Rome"),
    ("they charged me twice", "I was charged twice"),
    ("would you consider me rich", "am I considered rich"),
    ("closed till Monday", "closed until Monday"),
    ("less than 3 eggs", "under 3 eggs"),
    ("can I pay by card", "can I pay with a card"),
    ("how can I book a table", "can you help me book a table"),
    ("is it open on Sunday", "is it open Sundays"),
    ("open from 9 to 5 on Monday", "open 9 to 5 on Monday"),
    ("the difference between soda and borax", "how do soda and borax differ"),
    ("around 30 guests come", "about 30 guests come"),
    ("a question about my bill", "a question on my bill"),
)
def test_another_wording_of_one_relation_is_left_to_the_trees(one: str, other: str) -> None:
    assert not apart(relations, one, other)


def test_the_guard_is_named() -> None:
    assert judge("wait until noon", "wait before noon", 1.0) == (0.0, "relations")


WORDS = st.lists(
    st.sampled_from("I me you from to over up at least 3 was will call by about the few".split())
)


@given(WORDS, WORDS)
def test_relations_are_symmetric_and_silent_on_repeats(left: list[str], right: list[str]) -> None:
    a, b = signature(" ".join(left)), signature(" ".join(right))
    assert relations(a, b) == relations(b, a)
    assert not relations(a, a)
