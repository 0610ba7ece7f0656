"""A question word that stands alone asks one thing more; where it is told of, or asked already, it does not."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.inquiries import questions


@pairs(
    ("Who wrote Hamlet?", "Who wrote Hamlet? When?"),
    ("Who wrote Hamlet?", "Who wrote Hamlet, and when exactly?"),
    ("What is a monad?", "What is a monad? How?"),
    ("How do I reset the hub?", "How do I reset the hub? Why?"),
    ("How do I reset the hub?", "How, when and why do I reset the hub?"),
    ("When does the store open?", "When and where does the store open?"),
    ("Can I return shoes?", "Can I return shoes? If so, how?"),
    ("how do I reset my password", "how do I reset my password where"),
    ("My garage door stopped working. Why?", "How much does it cost to repair a garage door?"),
    ("My parcel is late. Why?", "How long does a parcel take?"),
)
def test_a_further_question_is_another_request(one: str, other: str) -> None:
    assert apart(questions, one, other)


@pairs(
    ("How do I reset my password?", "How? How do I reset my password?"),
    ("Which is the best city to live in?", "Which is the best city to live in, and why?"),
    ("Is it safe to eat raw eggs?", "Is it safe to eat raw eggs? Why or why not?"),
    ("Where do I park?", "I don't know where. Where do I park?"),
    ("Can you fix the sink?", "Can you fix the sink? I don't know how."),
    ("Is the shop open?", "Is the shop open? Tell me when."),
    ("Why is nobody answering?", "How come nobody is answering?"),
    ("The dishwasher leaves marks, why?", "How come the dishwasher leaves marks?"),
    ("Where is my order?", "Where is my order?? What?"),
)
def test_a_question_that_is_asked_already_or_told_of_is_none(one: str, other: str) -> None:
    assert not apart(questions, one, other)
