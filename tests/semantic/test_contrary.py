"""A request that contradicts all wordings of an answer does not get it, however many agree (decision 133)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cachelayer.semantic.evidence.contrary import contrary, edited, replaced
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.semantic.evidence.judging import PROVEN
from cachelayer.semantic.guards.plain import GUARDS
from cachelayer.semantic.text.signature import signature
from cachelayer.types import Candidate, Decision, Query

HEATER = (
    "turn on the heater", "please turn the heater on", "switch on the heater", "heater on", "I want the heater on",
    "can you turn on my heater", "would you switch the heater on for me", "turn the heater on now",
)  # fmt: skip
TIMER = (
    "set a timer for 5 minutes",
    "start a 9 minute timer",
    "timer for 20 minutes",
    "put 12 minutes on the timer",
)
EVERY = range(len(GUARDS))


def against(request: str, wordings: tuple[str, ...]) -> bool:
    return contrary(signature(request), [signature(said) for said in wordings], EVERY)


@pytest.mark.parametrize(
    ("request_", "wordings"),
    [
        ("turn the heater off", HEATER),
        ("set a timer for 50 minutes", ("set a timer for 5 minutes", "start a 5 minute timer")),
        ("is the clinic open on Sunday", ("is the clinic open on Monday", "clinic hours on monday")),
        ("from savings to checking", ("from checking to savings",)),
    ],
)
def test_the_contrary_of_what_all_say_is_another_question(request_: str, wordings: tuple[str, ...]) -> None:
    assert against(request_, wordings)


@pytest.mark.parametrize(
    ("request_", "wordings"),
    [
        ("set a timer for 50 minutes", TIMER),  # which differ in it themselves
        ("turn the heater off", (*HEATER, "heater off please")),
        ("transfer 200 dollars to savings", ("transfer money to savings", "move money into my savings")),
        ("put the heater on", HEATER),
    ],
)
def test_what_the_wordings_differ_in_or_do_not_speak_of_is_no_contrary(
    request_: str, wordings: tuple[str, ...]
) -> None:
    assert not against(request_, wordings)


def test_an_edit_counts_in_a_word_without_which_the_answer_was_never_given() -> None:
    said = [frozenset("how many feet are in a mile".split()), frozenset("a mile in feet".split())]
    asked = frozenset("how many meters are in a mile".split())
    assert edited(asked, said, frozenset(("feet",)).intersection) == 0  # type: ignore[arg-type]
    assert edited(asked, said, lambda words: False) == -1
    assert (
        edited(frozenset("what is a mile in meters please".split()), said[:1], bool) == -1
    )  # no near wording
    assert edited(said[0], said, lambda words: False) == 0  # the same words, perhaps in another order


def unit(rng: np.random.Generator, centre: np.ndarray, scatter: float) -> np.ndarray:
    x = centre + rng.normal(size=centre.size) * scatter
    return (x / np.linalg.norm(x)).astype(np.float32)


class Home:
    """A scope with evidence of many answers, among them one with some wordings; all near ones agree."""

    def __init__(self, wordings: tuple[str, ...], scatter: float = 0.01) -> None:
        self.scatter = scatter
        self.rng, self.decider = (
            np.random.default_rng(0),
            EvidenceDecider(random=random.Random(0).random, shadow=0),
        )
        self.kept: list[tuple[np.ndarray, str, str]] = []
        centres = np.eye(48)
        for n in range(6 * PROVEN):
            self.teach(
                f"question {n} about something", unit(self.rng, centres[1 + n % 40], 0.01), f"answer {n % 40}"
            )
        self.centre = centres[0]
        for said in wordings:
            self.teach(said, unit(self.rng, self.centre, scatter), "done")

    def found(self, x: np.ndarray) -> list[Candidate]:
        scores = [float(v @ x) for v, _, _ in self.kept]
        near = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:8]
        return [Candidate(i, scores[i], *self.kept[i][1:]) for i in near]

    def teach(self, text: str, x: np.ndarray, answer: str) -> None:
        query = Query(text, x)
        self.decider.observe("f", b"", query, self.found(x), answer, None)
        self.kept.append((x, text, answer))
        self.decider.stored(len(self.kept) - 1, "f", b"", query, answer)

    def ask(self, text: str) -> Decision:
        x = unit(self.rng, self.centre, self.scatter)
        return self.decider.preview("f", b"", Query(text, x), self.found(x), 0.05)


def test_many_neighbours_do_not_outvote_the_opposite_of_all_of_them() -> None:
    home = Home(HEATER)
    assert home.ask("please get the heater on").entry is not None
    assert home.ask("please get the heater off").entry is None


def test_many_neighbours_do_not_outvote_an_edit_of_one_of_them() -> None:
    home = Home(
        (
            "how many feet are in a mile",
            "a mile in feet",
            "what is a mile in feet",
            "number of feet in a mile",
        )
    )
    assert home.ask("what's the number of feet in a mile").entry is not None
    assert home.ask("number of meters in a mile").entry is None


PLANS = (
    "does the free plan include single sign-on", "can I use single sign-on on the free plan",
    "is single sign-on part of the free plan", "single sign-on with the free plan?",
)  # fmt: skip


def test_many_neighbours_do_not_outvote_another_word_in_the_place_of_one_that_all_of_them_have() -> None:
    home = Home(PLANS, scatter=0.08)
    assert home.ask("will my free plan come with single sign-on").entry is not None
    assert home.ask("will my pro plan come with single sign-on").entry is None
    assert home.ask("would single sign-on come with the enterprise plan").entry is None


@pytest.mark.parametrize(
    ("request_", "gone", "new", "place"),
    [
        ("the pro plan", {"free"}, {"pro"}, 0),  # before the same word
        ("the price of an old plan", {"include"}, {"old"}, -1),
        ("a plan of the free sort", {"sso"}, {"sort"}, -1),  # at an end
        ("does the plans include it", {"plan"}, {"plans"}, -1),  # a form of it
        ("on a paid plan I pay", {"include"}, {"paid"}, -1),  # elsewhere
    ],
)
def test_a_word_is_replaced_by_one_that_stands_beside_the_same(
    request_: str, gone: set[str], new: set[str], place: int
) -> None:
    said = [signature("does the free plan include sso")]
    assert replaced(signature(request_), said, gone, new) == place


def test_where_numbers_vary_within_an_answer_another_number_is_served() -> None:
    assert Home(TIMER * 2).ask("please put 40 minutes on the timer").entry is not None
