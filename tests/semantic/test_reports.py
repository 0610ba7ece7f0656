"""What happened to a thing is told apart from questions that ask something else of it."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.reports import reports


@pairs(
    ("My calendar disappeared", "Can I share my calendar?"),
    ("There is a mistake in my invoice", "What is my invoice?"),
    ("My resume is wrong", "Do I have to pay to change my resume?"),
    ("I lost my tax form", "How old is my tax form?"),
    ("My API key disappeared", "Why do you need my API key?"),
    ("Someone changed my password", "I changed my password"),
    ("Someone changed my calendar", "Where do I find my calendar?"),
)
def test_a_report_is_no_question_for_something_else(one: str, other: str):
    assert apart(reports, one, other) and apart(relations, one, other)


@pairs(
    ("My toilet keeps running", "Why won't my toilet stop running?"),
    ("My order is late", "Is my order late?"),
    ("I forgot my password", "How do I reset my password?"),
    ("I want to share my calendar", "Can I share my calendar?"),
    ("Someone stole my bike", "My bike was stolen"),
    ("Someone hacked my account", "Who hacked my account?"),
    ("There is a fee for my card", "Is there a fee for my card?"),
    (
        "My arm is in plaster and I would like to know whether I can shower",
        "Can I shower with my arm in plaster?",
    ),
)
def test_a_question_for_the_reason_the_remedy_or_the_same_is_not_told_apart(one: str, other: str):
    assert not apart(reports, one, other)
