"""Long statements are equal only if all their words of content are."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.statements import statements


@pairs(
    (
        "This is because many species are unable to regulate their body temperature.",
        "This is because many species are able to regulate their body temperature.",
    ),
    (
        "A referendum took place on the government's unwieldy bureaucracy in May.",
        "A vote took place on the unwieldy government's bureaucracy in May.",
    ),
    (
        "All the storks that nest on the roof in spring are able to find it again.",
        "All the storks that nest on the roof in spring are unable to find it again.",
    ),
)
def test_every_word_of_a_long_statement_counts(one: str, other: str) -> None:
    assert apart(statements, one, other)


@pairs(
    (
        "What is the reason that many species cannot regulate their body temperature?",
        "Why are many species unable to regulate the temperature of their bodies?",
    ),
    (
        "I ordered the blue jacket last week and it has not arrived yet.",
        "My blue jacket that was ordered a week ago still has not come.",
    ),
    (
        "Write the minutes of the annual meeting for the board and the owners.",
        "Draft the minutes of the annual meeting for the owners and the board.",
    ),
    ("The alarm does not work.", "The alarm is broken."),
    (
        "Search the files below the home folder for lines that begin with a number",
        "Find all lines which begin with a number, in the files under the home folder",
    ),
)
def test_questions_orders_and_what_persons_say_are_no_statements(one: str, other: str) -> None:
    assert not apart(statements, one, other)
