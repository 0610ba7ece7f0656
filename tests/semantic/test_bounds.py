"""A number is bounded from the same side in both texts, in whatever words; nor are both of two one of them."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.amounts import both
from cachelayer.semantic.guards.phrases import phrases
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.thresholds import thresholds


@pairs(
    ("staff with more than ten years of service", "who has been here for less than ten years?"),
    ("who scored over 30 goals?", "which players scored fewer than 30 goals?"),
    ("what if I earn more than 50000?", "what if my income is below 50,000?"),
    ("hotels with at least 4 stars", "which hotels have four stars at most, no more than 4?"),
    ("cafes rated 4 stars or more", "cafes rated under 4 stars"),
    ("rooms for up to 3 guests", "for 3 guests or more, which rooms are there?"),
    ("no fewer than 5 players", "teams of up to 5"),
)
def test_the_least_is_not_the_most(one: str, other: str):
    assert apart(relations, one, other)


@pairs(
    ("hotels for no more than 100 euros", "hotels for at most 100 euros"),
    ("files of 10 MB or less", "files not larger than 10 MB"),
    ("no fewer than 5 players", "at least five players"),
    ("hotels that don't cost more than 100", "hotels under 100"),
    ("is he older than 60?", "is he over 60?"),
    ("more than 3 and less than 9", "less than 9 but over 3"),
    ("more than 3 years", "less than 9 years"),
    ("phones for 300 euros", "phones under 300 euros"),
    ("phones up to 300 euros", "phones under 300 euros"),
    ("adults over 65", "adults aged 65 or more"),
    ("songs by one or two singers", "songs by at most two singers"),
    ("on or before May 4", "no later than the 4th of May"),
    ("open before 9 or 11", "open before 9 or before 11"),
    ("the highest number of 5 players", "the tallest of 5 players"),
    ("rooms with a bed for at most as many as 3", "rooms for 3"),
    ("what happened in 2004?", "the events of 2004"),
    ("a business for under 5 lakhs", "a business for at most 5 lakhs"),
    ("villages with up to 3 shops", "a village that has at most 3 shops"),
    ("toys for kids over 5", "toys for kids of at least 5"),
    ("villages with no shops", "villages without shops"),
)
def test_the_same_side_in_other_words_is_the_same(one: str, other: str):
    assert not apart(thresholds, one, other)
    assert not apart(phrases, one, other)


@pairs(
    ("books with at least two authors", "which books have more than two authors?"),
    ("books with fewer than three authors", "books that have three authors or fewer"),
    ("films from before 1990", "films that were shown in 1990 or earlier"),
    ("who joined after 2004?", "which members joined in or after 2004?"),
    ("flats with two rooms", "flats that have more than two rooms"),
    ("flats of three rooms minimum", "a flat that has three rooms"),
    ("books by one or two authors", "books written by two authors"),
    ("who owns two cars at most?", "owners of two cars"),
    ("who left in 2004 at the latest?", "members who left no earlier than 2004"),
    ("who was born before or during 1990?", "people with a birthday before 1990"),
    ("who owns at the least two cars?", "owners of fewer than two cars"),
    ("who was born after 2004?", "people who were born in 2004"),
    ("which flats were listed before january 2?", "flats listed on january 2nd"),
    ("who got 5 letters from Ann?", "list those to whom Ann sent at least 5 letters"),
    ("can I hand it in after Friday?", "may it be handed in on Friday?"),
    ("is it open before May?", "does it open in May?"),
    ("who finished school by 2004?", "which pupils left after 2004?"),
    ("books that have over two authors", "which books have at least two authors?"),
    ("villages with under 3 shops", "a village that has at most 3 shops"),
)
def test_a_number_that_is_included_is_not_left_out_and_one_that_is_bounded_is_not_just_that_many(
    one: str, other: str
):
    assert apart(relations, one, other)


@pairs(
    ("do both parents have to sign?", "is one parent's signature enough?", True),
    ("do I need both shots?", "is one of the shots enough?", True),
    ("are both doors shut?", "is either door shut?", True),
    ("do both parents have to sign?", "must mother and father sign?", False),
    ("do both apps work?", "does this one work?", False),
)
def test_both_of_two_is_not_one_of_them(one: str, other: str, differ: bool):
    assert apart(both, one, other) == differ
