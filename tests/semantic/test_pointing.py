"""What is asked of a thing that is given is not what is asked of such things in general."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.pointing import pointing
from cachelayer.semantic.guards.relations import relations


@pairs(
    ("Solve this quadratic equation", "How do I solve a quadratic equation?"),
    ("What is the moral of this story?", "What is the moral of a story?"),
    ("Is this an example of a metaphor?", "Show an example of a metaphor"),
    ("Summarize the following letter", "How do I summarize a letter?"),
    ("Is this normal?", "What is normal?"),
    ("revenue for this customer", "revenue per customer"),
)
def test_this_thing_is_not_a_thing(one: str, other: str):
    assert apart(pointing, one, other) and apart(relations, one, other)


@pairs(
    ("Solve this equation", "Solve the equation"),
    ("Who is open this weekend?", "Who is open on a weekend?"),
    ("Is this letter a formal letter?", "Is it a formal letter?"),
    ("How do I fix this error?", "How do I fix the error?"),
    ("Is this spam?", "Is the following spam?"),
)
def test_times_and_things_that_both_point_at_are_not_told_apart(one: str, other: str):
    assert not apart(pointing, one, other)
