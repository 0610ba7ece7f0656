"""Another end, another side, more than a thing or less, another count: none of them shares an answer."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.comparisons import comparisons
from cachelayer.semantic.guards.counts import counts
from cachelayer.semantic.guards.inquiries import inquiries
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.sides import sides


@pairs(
    ("which lessons start before noon?", "list the lessons ending before noon"),
    ("talks beginning after the break", "talks that finish after the break"),
    ("what stands to the left of the tower?", "which house is below the tower?"),
    ("hotels in the northern suburbs", "hotels in suburbs of the east"),
    ("what is the height of the box?", "tell me the width of the box"),
    ("who has the highest number of wins?", "which player has the fewest wins?"),
    ("boards that are 3 inches wide", "find a 3 inch long board"),
    ("leases that begin in May", "which leases expire in May?"),
    ("how many guests at most?", "minimum number of guests"),
    ("what is the max weight of a bag?", "how heavy must a bag be at least?"),
    ("policies taking effect in June", "policies that lapse in June"),
    ("when does the offer start?", "until what date is the offer good?"),
    ("when does the trial kick in?", "when is my trial over?"),
    ("people who joined us in May", "people who left us in May"),
    ("firms founded in 1990", "firms dissolved in 1990"),
    ("a shelf taller than 2 m", "shelves with a width of 2 m"),
)
def test_one_end_is_not_another(one: str, other: str):
    assert apart(sides, one, other)
    assert apart(relations, one, other)


@pairs(
    ("which lessons start before noon?", "lessons that begin before noon"),
    ("when does it end?", "when is it finished?"),
    ("when does the trial end?", "when is my trial over?"),
    ("leases that expire in May", "which leases run out in May?"),
    ("how much time is left to start?", "how long may I wait before I begin?"),
    ("can you come over?", "can you start?"),
    ("is it left or right of the tower?", "on which side of the tower is it, right or left?"),
    ("the highest tower", "the biggest tower"),
    ("boards that are 3 inches wide", "boards of which the width is 3 inches"),
    ("how long does it take to cut 3 m?", "how high a price do you ask for 3 m?"),
)
def test_the_same_end_in_another_form_is_the_same(one: str, other: str):
    assert not apart(sides, one, other)


@pairs(
    ("dishes that take less time than soup", "which dish needs longer than soup?", True),
    ("meetings on a later date than the review", "meetings before the review", True),
    ("rooms no bigger than the attic", "rooms that are larger than the attic", True),
    ("rooms no bigger than the attic", "rooms smaller than the attic", True),
    ("is a hare faster than a dog, older than it?", "is a dog younger than a hare?", False),
    ("is Rome bigger than Oslo?", "is Oslo smaller than Rome?", False),
    ("flats with the same rent as the villa", "flats that are more expensive than the villa", True),
    ("takes at least as long to cook as rice", "takes less time than rice", True),
    ("takes at least as long to cook as rice", "needs the same or more time as rice", False),
    ("flats the size of which is at most the size of the villa", "flats bigger than the villa", True),
    ("is the sofa as long as the old one?", "is the couch longer than its predecessor?", True),
    ("is it as fast as Java?", "is it not as fast as Java?", True),
    ("it costs less than or equal to the rent of the villa", "it costs no more than the villa", False),
    ("help as soon as the train stops", "more help than the train", False),
)
def test_more_than_a_thing_is_not_less_than_it_nor_as_much(one: str, other: str, differ: bool):
    assert apart(comparisons, one, other) == differ


@pairs(
    ("how many goals did she score in May?", "the number of fouls she made in May", True),
    ("how many saves has he made this year?", "how many games has he played this year?", True),
    ("how many goals did she score in 2004?", "which team did she play for in 2004?", True),
    ("how many goals did she score?", "the number of goals that she scored", False),
    ("how many assists did Messi have?", "what is the number of goals Messi scored?", True),
    ("how many songs did Prince release?", "what is the number of albums Prince released?", True),
    ("how many goals did she score?", "what is the number of goals she scored?", False),
    ("how many goals did she score?", "what total did her goals reach?", False),
    ("how many people live in Oslo?", "what is the number of inhabitants of Oslo?", False),
)
def test_one_count_is_not_the_count_of_something_else(one: str, other: str, differ: bool):
    assert apart(counts, one, other) == differ


@pairs(
    ("who threw the longest pass?", "how many yards was the longest pass?", True),
    ("who painted it?", "when was it painted?", True),
    ("who painted it, and when?", "when was it painted?", False),
    ("who sells it?", "where can I buy it?", False),
)
def test_who_is_not_when_nor_how_many(one: str, other: str, differ: bool):
    assert apart(inquiries, one, other) == differ
