"""Two words that trade places, and letters that stand for one another."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.relations import relations


@pairs(
    ("old friends in new houses", "new friends in old houses"),
    ("call the parent constructor in a java subclass", "call the subclass constructor from a java parent"),
    ("is x a subset of y", "is y a subset of x"),
    ("does red paint cover blue walls", "does blue paint cover red walls"),
    ("does it come once a minute or twice a week", "does it come twice a minute or once a week"),
    ("what can I import from canada and sell in india", "what can I import from india and sell in canada"),
    ("can a non-member live in a member state", "can a member live in a non-member state"),
    ("how do I get more logical and less emotional", "how do I get more emotional and less logical"),
    ("is group a full", "is group b full"),
    ("can I open an account for my daughter", "can I open an account with my daughter"),
    ("what does the letter \xe9 mean", "what does the letter e mean"),
)
def test_what_trades_places_is_another_request(one: str, other: str) -> None:
    assert apart(relations, one, other)


@pairs(
    ("oil price in texas today", "price of oil in texas today"),
    ("the difference between xml and json", "the difference between json and xml"),
    ("how far is zurich airport from basel", "how far is basel airport from zurich"),
    ("when interest rates rise what happens to bonds", "what happens to bonds when interest rates rise"),
    ("did anna invite ben to dinner", "was ben invited to dinner by anna"),
    ("i lost my card", "my card is lost"),
    ("is the room fit for a cot", "is the room fit with a cot"),
    ("is there a bus or train timetable", "is there a train or bus timetable"),
    ("what is a ledger in accounting", "a ledger in accounting is what"),
)
def test_what_is_told_in_another_order_is_not(one: str, other: str) -> None:
    assert not apart(relations, one, other)
