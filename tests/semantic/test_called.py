"""'How big is a python?' is not 'How big is Python?', and 'the hub' is 'Hub'."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import pairs

from cachelayer.semantic.guards.called import called
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words
from cachelayer.types import Candidate, Query

VECTOR = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        ("What is an apple?", "What is Apple?"),
        ("How big is a python?", "How big is Python?"),
        ("Is a python dangerous?", "Is Python dangerous?"),
        ("How do I delete a word?", "How do I delete Word?"),
        ("How do I remove the rust?", "How do I remove Rust?"),
        ("How old is the queen?", "How old is Queen?"),
        ("Where is the amazon?", "Where is Amazon?"),
    ],
)
def test_a_thing_is_not_what_has_its_name(thing: str, name: str) -> None:
    for one, other in ((thing, name), (name, thing)):
        ((sure, guard),) = PairVerifier().judge(Query(one, VECTOR), [Candidate(1, 0.95, other, "an answer")])
        assert (sure, guard) == (0.0, "names")


@pairs(
    ("How do I reset the hub?", "How do I reset Hub?"),
    ("How do I open a python file?", "How do I open a Python file?"),
    ("How do I sort a list in python?", "How do I sort a list in Python?"),
    ("how big is a python", "HOW BIG IS PYTHON"),
    ("Where is the customer portal?", "Where is the Customer Portal?"),
    ("How do I become a top writer?", "How do I become Top Writer?"),
    ("What is an apple?", "what is apple"),
    ("Can I sell an apple?", "Can I sell an Apple watch and an apple?"),
    ("", "A B"),
)
def test_what_is_written_with_a_capital_is_no_name_for_that_alone(one: str, other: str) -> None:
    a, b = read(one, words()), read(other, words())
    assert not called(a, b) and not called(b, a)
