"""What is brought to a place is not taken from it, in whatever words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.courses import courses
from cachelayer.semantic.pairs.verifier import forbidding
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words


def otherwise_bound(one: str, other: str) -> bool:
    table = words()
    a, b = read(one, table), read(other, table)
    assert courses(a, b, table) == courses(b, a, table)
    return courses(a, b, table)


@pairs(
    ("How do I get from Porto to Braga?", "What is the way to Porto from Braga?"),
    ("Copy my photos to the server", "How can I get my photos from the server?"),
    ("How do I turn a PDF into a JPG?", "JPG to PDF, please"),
    ("Convert litres to gallons", "How many litres? I have to turn gallons into litres"),
    ("carry the boxes out of the cellar", "Where do I put boxes, they go into the cellar"),
    ("Move 20 euros from savings to checking", "Transfer 20 euros out of checking into savings"),
    ("translate this from German to Dutch", "Put this Dutch text into German"),
)
def test_another_way_round_is_another_request(one: str, other: str) -> None:
    assert otherwise_bound(one, other)
    assert forbidding(read(one, words()), read(other, words()), words())


@pairs(
    ("How do I get from Porto to Braga?", "What is the way to Braga from Porto?"),
    ("How far is it from Porto to Braga?", "What's the distance from Braga to Porto?"),
    ("trains from Porto or Braga", "Which trains leave from Braga or Porto?"),
    ("Copy my photos to the server", "How do I get my photos onto the server?"),
    ("I want to listen to jazz from Cuba", "Play jazz from Cuba, I like to listen to it"),
    ("Move 20 euros to savings", "Transfer 20 euros from checking to savings"),
    ("How do I get to the airport?", "What is the best way from the station to the airport?"),
    ("Refund for my order, please", "How do I get a refund?"),
)
def test_the_same_way_in_other_words_is_not(one: str, other: str) -> None:
    assert not otherwise_bound(one, other)


SAID = st.lists(st.sampled_from("from to into out of the Rome Cairo bus and how take".split()), max_size=14)


@given(SAID, SAID)
def test_no_text_is_bound_otherwise_than_itself_nor_one_than_another_alone(
    said: list[str], other: list[str]
) -> None:
    assert not otherwise_bound(" ".join(said), " ".join(said))
    otherwise_bound(" ".join(said), " ".join(other))
