"""What a thing is, an example of it, what may replace it: each is another question of the same thing."""

from __future__ import annotations

import pytest
from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.facets import facets
from cachelayer.semantic.guards.relations import relations

THINGS = ("webhook", "foreign key", "travel visa", "cover letter")
ASKED = (
    "What is a {}?",
    "Give an example of a {}",
    "What are the alternatives to a {}?",
    "What are the risks of a {}?",
    "When should I use a {}?",
    "How do I make a {}?",
)


@given(st.sampled_from(THINGS), st.sampled_from(ASKED), st.sampled_from(ASKED))
def test_each_question_of_a_thing_is_told_from_the_others(thing: str, one: str, other: str):
    if one != other and not {one, other} <= {*ASKED[4:]} and {one, other} != {ASKED[3], ASKED[5]}:
        assert apart(facets, one.format(thing), other.format(thing))


@pairs(
    ("Explain the free plan", "How do I get the free plan?"),
    ("What is a migraine?", "Do I need a scan for a migraine?"),
    ("What are the benefits of fasting?", "What are the risks of fasting?"),
    ("What is a lease?", "List the types of a lease"),
    ("What can I use instead of buttermilk?", "How do I make buttermilk?"),
    ("What is the difference between soda and baking powder?", "Can I bake with soda and baking powder?"),
    ("What is the latest version of Node?", "How do I update to the latest version of Node?"),
    ("What is a stored procedure?", "What is a stored procedure good for in Oracle?"),
    ("What causes acid reflux in the morning?", "Tell me about natural treatments for acid reflux"),
    ("How can gout be prevented?", "What are the symptoms of gout?"),
    ("What are the types of solar panels?", "How much do solar panels cost?"),
)
def test_what_it_is_what_it_does_and_how_it_differs_are_other_questions(one: str, other: str):
    assert apart(facets, one, other) and apart(relations, one, other)


TOLD = ("Tell me about", "Can you tell me more about", "I want to know about", "Describe", "Explain")


@pytest.mark.parametrize("told", TOLD)
@pairs(
    ("Mako sharks", "How do Mako sharks compare with tiger sharks?"),
    ("the Bronze Age collapse", "What came after the Bronze Age collapse?"),
    ("lavender plants", "What are the different types of lavender plants?"),
    ("the tanker scale", "Why was the tanker scale developed?"),
    ("compost", "Can compost go bad?"),
)
def test_to_be_told_of_a_thing_is_not_to_ask_something_of_it(told: str, one: str, other: str):
    assert apart(facets, f"{told} {one}", other)


@pytest.mark.parametrize("told", TOLD)
@pairs(
    ("your return policy", "What is your return policy?"),
    ("lavender plants", "What are lavender plants?"),
    ("recursion", "How does recursion work?"),
    ("the premium plan", "Give me information about the premium plan"),
)
def test_to_be_told_of_a_thing_is_to_ask_what_it_is(told: str, one: str, other: str):
    assert not apart(facets, f"{told} {one}", other)


@pairs(
    ("What is a webhook?", "Explain what a webhook is"),
    ("What is photosynthesis?", "Define photosynthesis"),
    ("What is photosynthesis?", "How does photosynthesis work?"),
    ("What is a webhook?", "What is the meaning of webhook?"),
    ("What is a webhook?", "Can you explain webhooks?"),
    ("What is a normal pulse?", "What is considered a normal pulse?"),
    ("My doctor was in a rush. What is cholesterol?", "What is cholesterol?"),
    ("What are the advantages of leasing?", "What are the benefits of leasing?"),
    ("What are the advantages of leasing a car?", "Should I lease a car?"),
    ("Give examples of renewable energy", "What are renewable energies?"),
    ("What are the alternatives to butter?", "What can I use instead of butter?"),
    ("What is the difference between mitosis and meiosis?", "a table which contrasts mitosis and meiosis"),
    ("What's the diff between http and https", "What is the difference between HTTP and HTTPS?"),
    ("What is the difference between a virus and a germ?", "How does a virus differ from a germ?"),
    ("What is the area of a circle?", "How do I calculate the area of a circle?"),
    ("What is the best way to peel an egg?", "How do I peel an egg?"),
    ("How is gout treated?", "What are the remedies for gout?"),
    ("What does it cost to treat gout?", "How high is the cost of gout's treatment?"),
)
def test_the_same_question_of_a_thing_in_other_words_is_not(one: str, other: str):
    assert not apart(facets, one, other)


FRAGMENTS = (
    "|?|how|how did|what|what is|what can|what are the|write|write a|write about|prove|is|is this|is this a|explain"
    "|explain the|example of|instead of|difference between|15% 80|suggest|suggest a|how do i|how to|5 apples changed"
    "|tell me about|about|can you tell me|describe"
)


@given(*2 * [st.sampled_from(FRAGMENTS.split("|"))])
def test_fragments_of_requests_are_no_trouble(one: str, other: str):
    apart(relations, one, other)
