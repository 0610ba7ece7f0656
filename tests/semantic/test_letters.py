"""What is to be written has another purpose, or takes the other side."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.letters import letters, stances


@pairs(
    ("write an apology to my landlord", "draft a complaint to my landlord", True),
    ("write a note to thank my aunt", "write a note to invite my aunt", True),
    ("write a letter accepting the offer", "write a letter in which I reject the offer", True),
    ("write an apology to my landlord", "draft an email that says sorry to my landlord", False),
    ("write a note declining the invitation", "write a refusal to the invitation", False),
    ("write a text to decline it", "write a text about the invitation", False),
    ("write an apology for my complaint", "write a note to complain", False),
    ("my invitation never came", "I want to complain", False),
)
def test_what_is_written_for_one_end_does_not_serve_another(one: str, other: str, differ: bool):
    assert apart(letters, one, other) is differ


@pairs(
    ("argue that zoos are cruel", "defend zoos as useful", True),
    ("arguments for homework", "which arguments are there against homework?", True),
    ("argue that it does more harm than good", "make the case that it is beneficial", True),
    (
        "argue that it does more harm than good",
        "make the case that it is more harmful than beneficial",
        False,
    ),
    ("a speech against zoos", "a speech opposing zoos", False),
    ("reasons for the delay", "reasons against it", True),
    ("an essay for my class on zoos", "an essay against zoos", False),
    ("is it good for me?", "is it bad for me?", False),
)
def test_an_argument_for_it_is_none_against_it(one: str, other: str, differ: bool):
    assert apart(stances, one, other) is differ
