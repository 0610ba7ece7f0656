"""Who, what for what, and what with what: two things in each other's place are another request in whatever words."""

from __future__ import annotations

from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.agents import agents
from cachelayer.semantic.guards.amounts import wholes
from cachelayer.semantic.guards.belongings import belongings
from cachelayer.semantic.guards.comparisons import comparisons
from cachelayer.semantic.guards.moods import moods
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.replacements import replacements
from cachelayer.semantic.text.lexemes import stem


@pairs(
    ("Can oil replace butter here?", "May I replace oil with butter here?"),
    ("use rum instead of wine", "should I take wine rather than rum?"),
    ("Swap the red tile for the blue tile", "Can the blue tile be swapped for the red tile?"),
    ("substitute yogurt for cream", "substitute yogurt with cream"),
    ("What's a good substitute for buttermilk?", "What can I substitute buttermilk for?"),
    ("what can replace oil in a marinade?", "what can I replace with oil in a marinade?"),
)
def test_what_goes_is_not_what_comes_in_its_place(one: str, other: str) -> None:
    assert apart(replacements, one, other)
    assert apart(relations, one, other)


@pairs(
    ("Can oil replace butter here?", "May I replace butter with oil here?"),
    ("use rum instead of wine", "should I take rum rather than wine?"),
    ("substitute yogurt for cream", "can yogurt replace cream?"),
    ("How do I replace a tyre?", "What do I need to replace tyres?"),
    ("How do I replace the battery?", "how is the battery replaced?"),
    ("What's a good substitute for buttermilk?", "what can I use instead of buttermilk?"),
    ("What can I substitute for buttermilk?", "what could replace buttermilk?"),
)
def test_the_same_replacement_in_other_words_is_one(one: str, other: str) -> None:
    assert not apart(replacements, one, other)


@pairs(
    ("I pay in euros and am paid in pounds, ok?", "Paid in euros, but I would like to pay in pounds"),
    ("May two guests share a room?", "Can one guest book two rooms?"),
    ("Do two people need one key?", "are there two keys for one person?"),
)
def test_what_belongs_to_one_thing_does_not_belong_to_the_other(one: str, other: str) -> None:
    assert apart(belongings, one, other)
    assert apart(relations, one, other)


@pairs(
    ("I pay in euros and am paid in pounds, ok?", "Is it ok that I am paid in pounds and pay in euros?"),
    ("two months free", "do I get two free months?"),
    ("merge two PDF files", "how do I make one of two PDFs?"),
    ("a ham roll with tea or milk", "a roll with ham, milk or tea"),
)
def test_what_belongs_to_the_same_in_other_words_does(one: str, other: str) -> None:
    assert not apart(belongings, one, other)


@pairs(
    ("Is Rust faster than Python?", "Would Python be faster than Rust?"),
    (
        "Does the gold card give more miles than the silver one?",
        "Are there more miles with silver than with gold?",
    ),
    ("is plan A better than plan B", "would plan B be better than plan A?"),
)
def test_what_is_more_than_another_is_not_less(one: str, other: str) -> None:
    assert apart(comparisons, one, other)


@pairs(
    ("Is Rust faster than Python?", "Is Python slower than Rust?"),
    ("Is Rust faster than Python?", "Compared to Python, is Rust faster than that?"),
    ("is plan A better than plan B", "would plan A be better than plan B?"),
)
def test_the_same_comparison_in_other_words_is_one(one: str, other: str) -> None:
    assert not apart(comparisons, one, other)


@pairs(
    ("Can my wife drive my rental car?", "May I drive the rental car of my wife?"),
    ("How do I share a file with a client?", "How can a client share a file with me?"),
    ("Should I call the bank about my loan?", "Will the bank call me about my loan?"),
)
def test_what_i_do_to_somebody_is_not_what_they_do_to_me(one: str, other: str) -> None:
    assert apart(agents, one, other)


@pairs(
    ("Can my dog travel with me?", "May I travel with my dog?"),
    ("Can my wife drive my rental car?", "May I let my wife drive my rental car?"),
    ("Does my child need a ticket?", "Do I need a ticket for my child?"),
)
def test_what_two_do_together_or_one_lets_the_other_do_is_one(one: str, other: str) -> None:
    assert not apart(agents, one, other)


@pairs(
    ("delete all messages", "how do I delete a single message?"),
    ("update every app", "I want to update only one app"),
    ("return the whole order", "can I return part of my order?"),
)
def test_the_whole_is_not_one_or_a_part(one: str, other: str) -> None:
    assert apart(wholes, one, other)


@pairs(
    ("delete all messages", "delete every one of my messages"),
    ("sort the whole list", "sort a list that has more than one item"),
    ("which of all phones is best", "which phone is the best one"),
)
def test_one_that_counts_nothing_is_no_part(one: str, other: str) -> None:
    assert not apart(wholes, one, other)


@pairs(
    ("call dad", "did dad call?"),
    ("call dad", "when did dad last call"),
    ("open the shed door", "who opened the shed door"),
    ("put tea on our list", "is tea on our list"),
)
def test_a_short_order_is_no_question_whether_it_was_done(one: str, other: str) -> None:
    assert apart(moods, one, other)


@pairs(
    ("opening hours bakery", "when is the bakery open?"),
    ("sunset Oslo", "when is sunset in Oslo?"),
    ("check whether it is safe", "is it safe?"),
)
def test_a_heading_or_an_order_to_tell_is_what_the_question_asks(one: str, other: str) -> None:
    assert not apart(moods, one, other)


def test_a_protocol_and_its_secured_form_are_two_words() -> None:
    assert stem("https") != stem("http")
    assert stem("urls") == stem("url")


SAID = st.lists(
    st.sampled_from(
        "I my can call did all one two cars of with instead than faster replace Ann a in by".split()
    ),
    max_size=12,
)


@given(SAID, SAID)
def test_no_text_is_apart_from_itself_and_both_ways_are_alike(said: list[str], other: list[str]) -> None:
    one, two = " ".join(said), " ".join(other)
    for guard in (agents, belongings, comparisons, replacements, wholes):
        assert not apart(guard, one, one)
        apart(guard, one, two)
