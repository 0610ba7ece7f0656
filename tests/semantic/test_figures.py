"""Of the same data, another figure or other rows may be asked for."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.figures import figures
from cachelayer.semantic.guards.relations import relations


@pairs(
    ("total sales by region in 2023", "average sales by region in 2023"),
    ("what is the average rent in Berlin", "what is the maximum rent in Berlin"),
    ("revenue by month", "cumulative revenue by month"),
    ("which formula sums column B?", "a formula that counts column B"),
    ("how long does a trip take", "what is the average time of a trip"),
    ("how many people live in South Dakota", "what is the population density of South Dakota"),
    ("give me the cities in Texas", "what are the major cities in Texas"),
    ("which state has the most rivers", "which state has the most major rivers"),
    ("recent semantic parsing papers", "papers about semantic parsing"),
    ("orders older than 30 days", "orders from the last 30 days"),
    ("how many new users signed up yesterday", "number of users who were active yesterday"),
    ("list open tickets", "which tickets are closed"),
    ("how did our revenue change compared to last year", "what was our revenue last year"),
    (
        "the capitals of states that border Texas",
        "the capital of the state that borders the state that borders Texas",
    ),
)
def test_another_figure_a_narrower_list_and_the_other_side_of_a_window_are_other_requests(
    one: str, other: str
) -> None:
    assert apart(figures, one, other)
    assert apart(relations, one, other)


@pairs(
    ("total sales by region", "sum of sales per region"),
    ("the largest number of users", "the maximum number of users"),
    ("how much does an elephant weigh", "what does the average adult elephant weigh"),
    ("the average rent in Oslo", "what is the rent in Oslo usually"),
    ("cumulative revenue by month", "running total of revenue by month"),
    ("which state is the most dense", "which state has the highest population density"),
    (
        "what are the major differences between a lease and a loan",
        "what are the differences between a lease and a loan",
    ),
    ("how do I add new users", "how do I add users"),
    ("how do I change my address", "what is the way to change my address"),
    ("how do mutexes and semaphores compare", "what is the difference between mutexes and semaphores"),
    ("show me my last five transactions", "list my five most recent transactions"),
    ("orders older than 30 days", "orders that are more than 30 days old"),
    ("orders older than 30 days", "orders not from the last 30 days"),
)
def test_the_same_figure_and_the_same_rows_in_other_words_are_not(one: str, other: str) -> None:
    assert not apart(figures, one, other)
