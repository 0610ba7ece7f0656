"""Two questions behind one head are compared as two questions; what is shown behind a head is not."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.pairs.heads import behind_one_head
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.types import Candidate, Query

ZERO = np.zeros(384, np.float32)
PASSAGE = "Passage: The hotel has a pool and a small restaurant. Breakfast is included, and so is parking behind the "
HOUSE = (
    PASSAGE + "house, where pets may stay for ten euros a night if somebody looks after them.\n\nQuestion: "
)


def risk(one: str, other: str) -> float:
    return 1.0 - PairVerifier().judge(Query(one, ZERO), [Candidate(1, 0.98, other, None)])[0][0]


def test_one_question_in_two_frames_is_one_behind_a_long_head():
    assert risk(HOUSE + "Is breakfast included?", HOUSE + "Does the price include breakfast?") < 0.01
    assert risk(HOUSE + "How do I park there?", HOUSE + "How can I park there?") < 0.01


def test_what_follows_both_questions_may_be_the_same():
    asked = "Say so if it is not there. Use three sentences.\n"
    for frame in (HOUSE + "{}\nAnswer:", asked + "Question: {} \n" + PASSAGE + "house.\nHelpful answer:"):
        assert risk(frame.format("How do I park there?"), frame.format("How can I park there?")) < 0.01
        assert risk(frame.format("How do I park there?"), frame.format("How do I eat there?")) > 0.1


@given(
    st.sampled_from(
        ["Translate it.", "Rephrase it.", "Count the words.", "Say it in Dutch.", "What is its tone?"]
    )
)
def test_what_is_said_of_the_question_itself_needs_its_very_words(order: str):
    head = order + "\n" + HOUSE
    assert behind_one_head(head + "How do I park there?", head + "How can I park there?") is None


@pairs(
    (HOUSE + "How do I park there?\nAnswer:", HOUSE + "How can I park there?\nAnswer in Dutch:"),
    (HOUSE + "How do I park there?\nAnswer:", HOUSE + "How can I park there?"),
    (HOUSE + "Is breakfast included?", HOUSE + "Is parking included?"),
    (
        HOUSE + "Is breakfast included?",
        HOUSE.replace("Breakfast is", "Breakfast is not") + "Is breakfast included?",
    ),
)
def test_another_question_and_another_passage_are_not(one: str, other: str):
    assert risk(one, other) > 0.1


@given(
    st.lists(
        st.sampled_from(["Question: ", "Q:", "\n", "how do I", "open it", "?", ": ", "say "]), max_size=9
    ),
    st.data(),
)
def test_what_is_left_is_a_line_of_both_texts(parts: list[str], data: st.DataObject):
    a = "".join(parts)
    b = "".join(data.draw(st.permutations(parts)))
    if found := behind_one_head(a, b):
        assert found[0] in a and found[1] in b
        assert "\n" not in "".join(found)
