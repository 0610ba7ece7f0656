"""A command to list or count asks what there is, or how many; a command to do something is no question."""

from __future__ import annotations

import numpy as np
import pytest
from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.counts import counts
from cachelayer.semantic.guards.moods import moods
from cachelayer.semantic.pairs.reframed import reframed
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words
from cachelayer.types import Candidate, Query

VECTOR = np.zeros(4, np.float32)


@pairs(
    ("List the risks of fasting", "What are the risks of fasting?"),
    ("Tell me the capital of Peru", "What's the capital of Peru?"),
    ("Can you list the side effects of ibuprofen?", "What are the side effects of ibuprofen?"),
    ("Give me a list of all EU countries", "List all EU countries"),
    ("Name the members of the band", "Who are the members of the band?"),
    ("Give me some tips for better sleep", "What are some tips for better sleep?"),
    ("I want to know the price of the pro plan", "What is the price of the pro plan?"),
    ("Show me my orders", "What are my orders?"),
    ("What are all the features of the pro plan?", "List the features of the pro plan"),
    ("What are the different kinds of pasta?", "List the kinds of pasta"),
    ("Name the river that flows through Rome", "Which river flows through Rome?"),
    ("Find all airlines that have at least 10 flights", "Which airlines have at least 10 flights?"),
    ("Find the hotel that has the best view", "Which hotel has the best view?"),
    (
        "Find the name, city and size of the largest park",
        "What is the name, city and size of the largest park?",
    ),
    ("List the names of all the films", "What are the names of all movies?"),
    ("Count the number of authors", "How many authors are there?"),
    ("Count the users", "What is the total number of users?"),
    ("Count the customers in each city", "How many customers are there in each city?"),
    ("Find the number of unique visitors", "How many distinct visitors do we have?"),
    ("Find the number of papers published by MIT", "How many papers are published by MIT?"),
    ("What is the number of guests who smoke?", "How many guests smoke?"),
    ("For each country, what is the average height?", "What is the average height for each country?"),
    ("Which country has the greatest number of airports?", "Which country has the most airports?"),
)
def test_a_command_is_the_question_that_it_asks(one: str, other: str):
    a, b = read(one, words()), read(other, words())
    assert reframed(a, b) and reframed(b, a)
    ((sure, guard),) = PairVerifier().judge(Query(one, VECTOR), [Candidate(1, 0.95, other, "an answer")])
    assert sure > 0.99 and not guard


@pairs(
    ("List all customers in Norway", "List some customers in Norway"),
    ("List 5 risks of fasting", "What are the risks of fasting?"),
    ("Name all the planets", "Name one of the planets"),
    ("Show hidden files", "What are hidden files?"),
    ("Show the ruler", "What is the ruler?"),
    ("Return the shoes", "What are the shoes?"),
    ("Report the bugs", "What are the bugs?"),
    ("Give the kids a snack", "What are the kids a snack?"),
    ("Show my last orders", "What are the last orders?"),
    ("Count the number of active users", "How many users are there?"),
    ("How many orders were shipped?", "How many orders are shipped?"),
    ("How many members are there in Texas?", "How many members are there in total?"),
    ("What is the name of the kid?", "What is the name of the movie Kid?"),
    ("What is the title of the film?", "What is the title of the movie?"),
)
def test_a_command_of_something_else_is_another_question(one: str, other: str):
    a, b = read(one, words()), read(other, words())
    assert not reframed(a, b) and not reframed(b, a)


@pytest.mark.parametrize(
    ("order", "question", "differ"),
    [
        ("Show the taskbar", "What is the taskbar?", True),
        ("Please show hidden files", "What are hidden files?", True),
        ("Display the grid in Word", "What is the grid in Word?", True),
        ("Show the prices", "What are the prices?", False),
        ("Show me the wifi password", "What is the wifi password?", False),
        ("Show the price of a ticket", "What is the price of a ticket?", False),
    ],
)
def test_who_orders_a_thing_to_be_shown_does_not_ask_what_it_is(order: str, question: str, differ: bool):
    assert apart(moods, order, question) is differ


@pairs(
    ("How many students are there per class?", "How many classes are there per student?", True),
    ("How many distinct courses do students take?", "Find the number of students who take courses", True),
    ("How many students are there per class?", "What is the number of students of each class?", False),
    ("How many people live in Oslo?", "What is the number of inhabitants of Oslo?", False),
)
def test_what_is_counted_is_not_what_it_is_counted_of(one: str, other: str, differ: bool):
    assert apart(counts, one, other) is differ
