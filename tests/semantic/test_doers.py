"""Who does it is not whom it is done to, and one unit is not another, in whatever words around."""

from __future__ import annotations

from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.doers import doers
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.units import units
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words


@pairs(
    ("How many times has Ajax beaten Porto?", "What number of times has Porto beaten Ajax?"),
    ("Why did Sparta attack Athens?", "What made Athens attack Sparta?"),
    ("May the tenant sue the landlord?", "can a landlord sue his tenant"),
    ("My dog bit the neighbour, what now?", "The neighbour bit my dog, what should I do?"),
    ("How does inflation drive wages?", "In what way do wages drive inflation?"),
    ("Is an owner able to read a guest's notes?", "Can a guest read the notes of an owner?"),
    ("In which cases is a tenant able to sue a landlord?", "When can a landlord sue a tenant?"),
)
def test_who_does_it_elsewhere_is_done_to(one: str, other: str) -> None:
    assert apart(doers, one, other)
    assert relations(read(one, words()).signature, read(other, words()).signature)


@pairs(
    ("How many times has Ajax beaten Porto?", "How often has Ajax beaten Porto?"),
    ("Why did Sparta attack Athens?", "Why was Athens attacked by Sparta?"),
    ("When did Ann marry Bob?", "When did Bob marry Ann?"),
    ("Is an owner able to read a guest's notes?", "Can the notes of a guest be read by an owner?"),
    ("Is a car allowed in the park?", "Does the park allow cars?"),
    ("Why does my game crash after the update?", "Why does the update crash my game?"),
    ("What is the shipping cost for Norway?", "How much does Norway shipping cost?"),
    (
        "Tell me of the river in North America and Central America",
        "the river in Central America, North America",
    ),
    ("A recipe with eggs, milk, bread and butter", "recipe: butter, bread, milk and eggs"),
)
def test_the_same_doer_in_another_order_of_words_is_not(one: str, other: str) -> None:
    assert not apart(doers, one, other)


@pairs(
    ("What are 20 pesos in pounds?", "How much is 20 pesos in euros?"),
    ("Show me the distance in km", "show the distance in miles"),
    ("How many days until Easter?", "How many weeks are there until Easter?"),
    ("What does a line cost a month?", "Price of a line per year"),
    ("How do I convert lbs into grams?", "How do I convert lbs to kilos?"),
)
def test_another_unit_is_another_request(one: str, other: str) -> None:
    assert apart(units, one, other)
    assert relations(read(one, words()).signature, read(other, words()).signature)


@pairs(
    ("What are 20 pesos in pounds?", "20 pesos in gbp"),
    ("Price in dollars?", "How many bucks is it?"),
    ("Best time of year for Norway?", "In which months should I see Norway?"),
    ("I moved last week, where is my post?", "I moved some days ago, where is my post?"),
    ("How long is it in minutes?", "How long is it?"),
    ("How much is it a month?", "What is the monthly price in dollars?"),
    ("Is it open 24 hours?", "Is it open on what day?"),
)
def test_the_same_unit_and_one_side_alone_are_not(one: str, other: str) -> None:
    assert not apart(units, one, other)


SAID = st.lists(
    st.sampled_from("my the dog bit cat did days in weeks a Ann Bob saw by 3".split()), max_size=12
)


@given(SAID, SAID)
def test_both_are_even_and_no_text_is_apart_from_itself(said: list[str], other: list[str]) -> None:
    one, two = " ".join(said), " ".join(other)
    assert not apart(doers, one, one)
    assert not apart(units, one, one)
    apart(doers, one, two)
    apart(units, one, two)
