"""What somebody wants to do was not done yet; and who has too much of it wants no more."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.amounts import degrees
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.tenses import wishes


@pairs(
    ("I'd like to close my account", "I closed my account"),
    ("we want to fire our accountant, how?", "our accountant was fired, what now?"),
    ("I've cancelled my booking, what now?", "I need to cancel my booking, what now?"),
    ("I'm about to sell the house, is there tax?", "tax on a house that I sold?"),
    ("thinking of leaving the club", "I left the club"),
)
def test_what_is_wanted_is_not_over(one: str, other: str):
    assert apart(relations, one, other)


@pairs(
    ("I want to cancel my order", "can my order be cancelled?"),
    ("I want to cancel my order", "I want my order cancelled"),
    ("I want to activate my card", "my card is not activated"),
    ("I want to return the shoes I bought", "I bought shoes and would like to return them"),
    ("I want to know who called", "who called?"),
    ("we're going to Rome", "we went to Rome"),
    ("I want to cancel my order", "how do I cancel my order?"),
)
def test_a_wish_in_other_words_is_a_wish(one: str, other: str):
    assert not apart(wishes, one, other)


@pairs(
    ("make the music louder", "the music is too loud", True),
    ("the soup is too hot, help", "how do I get the soup hotter?", True),
    ("my dough is too sticky", "make the dough stickier", True),
    ("the letters are too large", "can the letters be larger?", True),
    ("the music is too loud", "turn the music down", False),
    ("the letters are too small", "make the letters larger", False),
    ("the music is too loud", "it should not be louder", False),
    ("is it too hot, or hotter than usual?", "is it hotter than usual?", False),
)
def test_too_much_is_not_more(one: str, other: str, differ: bool):
    assert apart(degrees, one, other) == differ
