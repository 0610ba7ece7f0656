"""Small verbs that make another statement of the same words: to be one and to have one, to get and to give."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.predicates import predicates
from cachelayer.semantic.guards.relations import relations


@pairs(
    ("is Ann a lawyer?", "does Ann have a lawyer?"),
    ("what if I am a tenant?", "what if I have a tenant?"),
    ("I'm a nanny, what do I owe?", "I have a nanny, what do I owe?"),
    ("is it a demo?", "does it have a demo?"),
    ("do I get a receipt?", "do I give a receipt?"),
    ("where can I get blood?", "where can I give blood?"),
    ("will I need a seat?", "will I get a seat?"),
    ("what is the boss like?", "what does the boss like?"),
    ("what were owls like?", "what did owls like?"),
    ("do I ask him to leave?", "do I ask to leave?"),
    ("do you want me to send it?", "do you want to send it?"),
    ("is the hotel near the port?", "is there a hotel near the port?"),
    ("are my tickets at the desk?", "are there tickets at the desk?"),
)
def test_another_small_verb_is_another_statement(one: str, other: str):
    assert apart(predicates, one, other)
    assert apart(relations, one, other)


@pairs(
    ("has Ann a lawyer?", "does Ann have a lawyer?"),
    ("is it gone?", "has it gone?"),
    ("I am a customer of yours", "I have been a customer of yours"),
    ("can I get my dog a treat?", "can I give my dog a treat?"),
    ("get me a taxi", "give me a taxi"),
    ("I want you to cancel it", "I want to cancel it"),
    ("what does it look like?", "what does that look like?"),
    ("what is it like there?", "what's it like there?"),
    ("is the heating free?", "is there free heating?"),
    ("is parking there?", "is there parking?"),
)
def test_the_same_said_with_another_small_word_is_let_pass(one: str, other: str):
    assert not apart(predicates, one, other)
