"""Prose answers: one in other words, apart by one fact, doubtful as different."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from pairs import pairs

from cachelayer.semantic.answers import is_prose
from cachelayer.semantic.evidence.neighbours import Shared
from cachelayer.semantic.evidence.prose import APART, ONE, OPEN, read_prose, relation
from cachelayer.semantic.evidence.scope import Scope

ANSWER = "You can change this under Settings: pick the plan, confirm it, and wait 3 days until our team writes to you."
OTHER = "Our team writes to you 3 days after you went to Settings, chose another plan and said yes to the change there."


def vector(*parts: float) -> NDArray[np.float32]:
    found = np.array(parts, np.float32)
    return found / np.float32(np.linalg.norm(found))


def related(a: str, b: str) -> str:
    return relation(read_prose(b"a", a, vector(1, 0)), read_prose(b"b", b, vector(1, 0)))[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3 days", "5 days"),
        ("Settings", "Profile"),
        ("can", "cannot"),
        ("wait 3", "wait 13"),
        ("plan", "phone"),
    ],
)
def test_answers_worded_alike_but_for_one_fact_are_apart(old: str, new: str) -> None:
    assert related(ANSWER, ANSWER.replace(old, new)) == APART


def test_answers_worded_alike_but_for_words_without_content_are_one() -> None:
    assert related(ANSWER, ANSWER.replace("the plan", "that plan")) == ONE


def test_answers_in_other_words_are_open_and_another_figure_parts_them() -> None:
    assert related(ANSWER, OTHER) == OPEN
    assert related(ANSWER, OTHER.replace("3", "4")) == APART


def scope() -> Scope:
    return Scope(2, Shared(2))


def test_other_words_are_the_same_answer_only_where_the_neighbours_predicted_it() -> None:
    here = scope()
    first, _ = here.answer(ANSWER, vector(1, 0.1))
    assert here.answer(OTHER, vector(1, 0.9), predicted=first) == (first, False)
    doubtful = scope()
    first, _ = doubtful.answer(ANSWER, vector(1, 0.1))
    second, new = doubtful.answer(OTHER, vector(1, 0.9))
    assert new
    assert second != first


def test_two_answers_kept_apart_for_doubt_join_when_the_neighbours_take_one_for_the_other() -> None:
    here = scope()
    first = here.keep(1, ANSWER, vector(1, 0.1))
    second = here.keep(2, OTHER, vector(1, 0.9))
    assert first != second
    assert here.answer(OTHER, vector(1, 0.9), predicted=first) == (first, False)
    assert here.entries == {1: first, 2: first}


NAMELESS = OTHER.replace("Settings", "that page")


def misplaced() -> tuple[Scope, int, int]:
    """`NAMELESS` was taken for the answer of entry 1; that of entry 3, apart from it by a name, would be right."""
    here = scope()
    wrong = here.keep(
        1, "Somebody in Lisbon shows you how that is done when you come by 3 days later.", vector(1, 0)
    )
    here.keep(2, NAMELESS, vector(1, 0.9))
    here.answer(NAMELESS, vector(1, 0.9), predicted=wrong)
    own = here.keep(3, ANSWER, vector(0.3, 1))
    assert here.entries == {1: wrong, 2: wrong, 3: own}
    assert own != wrong
    return here, wrong, own


def test_a_wording_taken_for_the_wrong_answer_moves_to_the_one_that_the_neighbours_keep_predicting() -> None:
    here, wrong, own = misplaced()
    told = [here.answer(NAMELESS, vector(1, 0.9), predicted=own) for _ in range(3)]
    assert told == [(wrong, False), (wrong, False), (own, False)]
    assert here.entries == {1: wrong, 2: own, 3: own}


def test_a_wording_stays_where_neighbours_mostly_foretell_it_or_a_fact_parts_it_from_the_other() -> None:
    here, wrong, own = misplaced()
    for predicted in (wrong, own, own, wrong, own, own, own):
        assert here.answer(NAMELESS, vector(1, 0.9), predicted=predicted)[0] == wrong
    other = here.keep(4, ANSWER.replace("3", "4"), vector(0.3, 1))
    assert {here.answer(NAMELESS, vector(1, 0.9), predicted=other)[0] for _ in range(20)} == {wrong}


def test_a_contrast_learned_later_parts_a_wording_from_an_answer_that_it_was_taken_for() -> None:
    here = scope()
    yes, no = "Orders can be changed later on by you or by anyone of your whole family at home.", ""
    no = yes.replace("can", "cannot")
    reworded = (
        "Whether it is you, or someone else at home in your whole family: "
        "later on, orders cannot be changed by anyone."
    )
    first = here.keep(1, yes, vector(1, 0.1))
    here.keep(2, reworded, vector(1, 0.2))
    here.answer(reworded, vector(1, 0.2), predicted=first)
    assert here.entries[2] == first
    here.keep(3, no, vector(1, 0.15))
    assert here.entries[2] != first
    assert (here.find(yes), here.find(reworded)) == (here.entries[1], here.entries[2])


def test_labels_numbers_json_and_code_are_never_compared_by_meaning() -> None:
    for short in (
        "card_arrival",
        "42",
        '{"a": "b c d e f g h i j k l m n o p"}',
        "def f(): return 1",
        "one two three",
    ):
        assert not is_prose(short)
    assert is_prose(ANSWER)


FORM = "Thank you for asking about your account. Please follow the procedure called {} and wait for our confirmation."


@pairs(
    ("exchange rate", "wrong exchange rate for cash withdrawal"),
    ("card payment fee charged", "extra charge on a statement"),
    ("verify my identity", "edit personal details"),
)
def test_a_template_filled_in_otherwise_is_another_answer(one: str, other: str) -> None:
    """Its vectors are nearly equal, and the more words it holds the nearer."""
    assert related(FORM.format(one), FORM.format(other)) == APART


@pairs(
    (ANSWER, f"Sure! {ANSWER}"),
    (ANSWER, f"{ANSWER} Anything else?"),
    (ANSWER, ANSWER.replace("wait 3 days", "wait for the 3 days")),
)
def test_what_is_said_before_or_after_and_small_words_make_no_other_answer(one: str, other: str) -> None:
    assert related(one, other) == ONE
