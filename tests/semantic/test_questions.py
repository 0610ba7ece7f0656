"""What a question asks for, however it asks: 'what time' is when, 'what does it cost' how much."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.inquiries import inquiries
from cachelayer.semantic.guards.plain import antonyms, question
from cachelayer.semantic.text.signature import signature


@pairs(
    ("what time does the bakery shut", "when does the bakery shut"),
    ("in what year was Haydn born", "when was Haydn born"),
    ("what does a canoe cost", "how much is a canoe"),
    ("what is the fee for parking", "how much do you charge for parking"),
    ("what's the best way to peel kiwis", "how do I peel kiwis"),
    ("what must I do to renew my licence", "how do I renew my licence"),
    ("on what dates are the holidays", "when are the holidays"),
    ("what is the reason cats purr", "why do cats purr"),
    ("what makes ice float", "why does ice float"),
    ("which lake is the deepest", "what is the deepest lake"),
    ("what is the notice period here", "how long is the notice period here"),
    ("what's the rent of a barge", "how much is the rent of a barge"),
    ("what is the distance to the moon", "how far is the moon"),
    ("how much salt does it need", "how many grams of salt does it need"),
    ("how many times a day do I feed it", "how often do I feed it"),
    ("how frequently is it emptied", "how often is it emptied"),
)
def test_one_question_is_asked_in_several_ways(one: str, other: str) -> None:
    assert signature(one).question == signature(other).question


@pairs(
    ("number of users who signed up in May", "how many users signed up in May"),
    ("list people who live in Rome", "how many people live in Rome"),
    ("the count of tickets which were closed", "how many tickets were closed"),
    ("employees whose contract ends in May", "when do contracts of employees end in May"),
)
def test_what_relates_to_several_things_asks_for_nobody(one: str, other: str) -> None:
    assert not apart(question, one, other) and not apart(inquiries, one, other)


@pairs(
    ("what is a notice period", "how long is the notice period"),
    ("what is the deposit for", "how much is the deposit"),
    ("what day of the week is it on", "when is it"),
    ("which one do you use", "what do you use it for"),
    ("how much salt is there", "what is the price of salt"),
    ("what time is it", "how is it"),
    ("what is the reason to fly", "what is the way to fly"),
    ("how much does a canoe cost", "what does a canoe weigh"),
)
def test_another_question_is_told_apart(one: str, other: str) -> None:
    assert apart(question, one, other)


def test_into_is_no_opposite_of_to() -> None:
    assert not antonyms(signature("translate it to Welsh"), signature("translate it into Welsh"))
    assert antonyms(signature("step into the lift"), signature("step out of the lift"))
