"""Of the same things, something else may be asked for."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.targets import targets


@pairs(
    ("what is the capital of the state with the longest river", "which state has the longest river"),
    ("what is the length of the longest river in Texas", "what is the longest river in Texas"),
    ("how many rivers are there in Texas", "list the rivers in Texas"),
    ("how many prime numbers are there below 50", "list the prime numbers below 50"),
    ("how long is the longest river in Texas", "what is the longest river in Texas"),
    ("where is Kansas", "what is the capital of Kansas"),
    ("how many states border the largest state", "what is the population of the largest state"),
    ("how many rivers are in Missouri", "how many states does the Missouri river run through"),
    ("give me the largest state", "what is the size of the largest state"),
    ("what is the purpose of a mitochondrion", "what is a mitochondrion"),
    ("rivers in New York", "how many rivers are in New York"),
    ("how many states have major rivers", "what are the major rivers in the US"),
    ("what is the number of states that border Kentucky", "which states border Kentucky"),
    ("how large is Texas", "what is the size of the capital of Texas"),
    ("find all shops which have 9 reviews", "find all the reviews of shops with 9 reviews"),
    ("papers written by Heimerl", "what keywords are in papers by Heimerl"),
    ("the users of the country with the most revenue", "which country has the most users"),
)
def test_what_one_text_asks_for_and_the_other_mentions_is_another_request(one: str, other: str) -> None:
    assert apart(targets, one, other)


@pairs(
    ("what is the capital of Australia", "which city is the capital of Australia"),
    ("what are the shipping costs", "what is the cost of shipping"),
    ("what's the name of the author of Emma", "which author wrote Emma"),
    ("what is the best way to return an item", "which way can an item be returned best"),
    ("how many people live in Boulder", "what is the population of Boulder"),
    ("what is my deductible", "how high is my deductible"),
    ("in which country is Kilimanjaro", "where is Kilimanjaro"),
    ("what is meant by osmosis", "what is osmosis"),
    ("which documents do I need for a visa", "what documents are needed for a visa"),
    ("how many calories are in a banana", "what is the number of calories in a banana"),
    ("number of orders per customer", "how many orders does each customer have"),
    ("what is the quorum of the assembly", "how many members must be present at the assembly for a quorum"),
    ("how large is Denver", "what is the size of the city of Denver"),
    ("show me how to reset my password", "password reset"),
)
def test_one_thing_asked_for_in_other_words_is_not(one: str, other: str) -> None:
    assert not apart(targets, one, other)
