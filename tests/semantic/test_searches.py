"""A search, or an order, of which more is said is another one."""

from __future__ import annotations

import numpy as np
from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.searches import searches
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.text.signature import signature
from cachelayer.types import Candidate, Query, Turn


@pairs(
    ("lasagna recipe", "vegan lasagna recipe"),
    ("hotels in rome", "find pet friendly hotels in rome"),
    ("hotels in rome", "i'm looking for hotels in rome with a pool"),
    ("python jobs berlin", "remote python jobs berlin"),
    ("car rental oslo", "electric car rental oslo"),
    ("brownies", "brownies without nuts"),
    ("dune", "books like dune"),
    ("where can i find desk lamps", "wooden desk lamps"),
    ("play jazz", "play jazz in the kitchen"),
    ("could you set a timer", "set a timer for pasta"),
    ("cancel the timer", "stop my timer for the eggs"),
    ("resume the vacuum", "continue the vacuum in the hall"),
    ("change lights to pink", "can you change the bedroom lights to pink"),
    ("are there any cafes in prague", "cafes in prague with wifi"),
)
def test_a_search_of_which_more_is_said_is_another(one: str, other: str) -> None:
    assert apart(searches, one, other)


@pairs(
    ("hotels in rome", "show me some good hotels in rome please"),
    ("hotels in rome", "rome hotels"),
    ("red running shoes", "where can i buy red running shoes online"),
    ("wireless headphones below 50", "find wireless headphones under 50"),
    ("novels like dune", "novels similar to dune"),
    ("i would like to play jazz", "play jazz music"),
    ("tell me a joke", "i'd like to hear a joke"),
    ("write a formal invitation", "write an invitation in a formal tone"),
    ("hamilton tickets", "buy tickets for hamilton"),
    ("how do i cook rice", "how do i cook rice in a pot"),
    ("my card was stolen", "my card was stolen abroad"),
    ("what is a cell", "what is a biological cell"),
    ("is there life on mars", "is there any microbial life on mars"),
)
def test_what_only_asks_makes_no_other_search_and_questions_are_none(one: str, other: str) -> None:
    assert not apart(searches, one, other)


def test_requests_that_stand_by_themselves_are_told_apart_so_and_replies_in_a_conversation_are_not() -> None:
    def objects(*turns: Turn) -> bool:
        query = Query("spinach lasagna recipe", np.zeros(1, np.float32), turns)
        return PairVerifier().judge(query, [Candidate(1, 0.9, "lasagna recipe", None, turns)])[0] == (
            0.0,
            "relations",
        )

    assert objects()
    assert not objects(Turn("user", "I'm hungry"), Turn("assistant", "What shall it be?"))


def test_food_for_vegetarians_is_none_for_vegans() -> None:
    a, b = signature("vegan restaurants in soho"), signature("vegetarian restaurants in soho")
    assert not b.vocabulary.isdisjoint(a.against)
