"""What is to be done, what is allowed and what comes of what is part of a request: no two of them share an answer."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.acts import acts
from cachelayer.semantic.guards.causes import causes
from cachelayer.semantic.guards.moods import moods
from cachelayer.semantic.guards.permissions import duties
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.voices import voices
from cachelayer.semantic.text.signature import signature

_APART = [
    (acts, "pause the podcast", "I want you to restart the podcast"),
    (acts, "call the landlord", "I would like to visit the landlord"),
    (acts, "how can I phone the club", "help me email the club"),
    (acts, "Outline a speech about rivers", "Please grade a speech about rivers"),
    (acts, "can you summarize this letter for me", "can you translate this letter for me"),
    (acts, "I want you to proofread the poem", "I want you to rewrite the poem"),
    (acts, "Find the typos in the letter", "Delete the typos in the letter"),
    (acts, "Clean the hall for Friday", "Book the hall for Friday"),
    (moods, "Check the invoice", "Has the invoice been checked?"),
    (moods, "Please translate the letter", "Was the letter translated?"),
    (acts, "I want you to act as a guide for Rome", "Recommend a guide for Rome"),
    (moods, "Suggest a better name for this variable", "Is this a good name for this variable?"),
    (acts, "Write a complaint about noise", "Answer a complaint about noise"),
    (acts, "Explain the water cycle", "Draw a diagram of the water cycle"),
    (moods, "Prove the theorem", "What is the theorem?"),
    (moods, "Write about leases", "In which cases should I use leases?"),
    (moods, "Make a quiz about leases", "What are leases?"),
    (duties, "How many sick days may I take?", "How many sick days do I have to take?"),
    (duties, "Does a lease have to be signed here?", "Is a lease able to be signed here?"),
    (duties, "am I allowed to feed the geese", "am I required to feed the geese"),
    (causes, "Why were the trams cancelled?", "What came as a result of the trams being cancelled?"),
    (causes, "how does rust come about on steel", "what does rust do to steel"),
    (causes, "Does stress cause headaches?", "Do headaches cause stress?"),
    (causes, "Does depression make people gain weight?", "Does gaining weight make people depressed?"),
    (causes, "make git stop ignoring the config file", "make git ignore the config file"),
    (causes, "How can I quit receiving letters?", "How can I receive letters?"),
    (voices, "towns burnt by the Vikings", "towns that burnt the Vikings"),
    (voices, "events triggered by the strike", "events that triggered the strike"),
]


@pytest.mark.parametrize(("guard", "text", "other"), _APART)
def test_another_act_leave_or_cause_forbids(guard: object, text: str, other: str) -> None:
    assert callable(guard) and guard(signature(text), signature(other))
    assert relations(signature(text), signature(other)) and relations(signature(other), signature(text))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Summarize the report", "Write a summary of the report"),
        ("Compare tea and coffee", "Explain how tea and coffee compare"),
        ("Recommend a book on ants", "can you suggest a book on ants"),
        ("Fix the bug in this loop", "please debug this loop"),
        ("Find me a book on ants", "Recommend a book on ants"),
        ("Check whether the door is locked", "Is the door locked?"),
        ("Find typos and delete them", "Delete the typos that you find"),
        ("Write a slogan for a bakery", "What is a good slogan for a bakery?"),
        ("Reply to the email", "Write a reply to the email"),
        ("Write a definition of inertia", "What is inertia?"),
        ("Create a budget for two", "Can you create a budget for two?"),
        ("List the vegan dishes", "Are there any vegan dishes?"),
        ("Book a table for two", "Reserve a table for two"),
        ("What do I have to do to cancel?", "What can I do to cancel?"),
        ("How can I pay the toll?", "How do I have to pay the toll?"),
        ("Do I need to register my dog?", "Must I register my dog?"),
        ("Can you tell me whether I have to sign it?", "Do I have to sign it?"),
        ("What skills are required to teach chess?", "How can I teach chess?"),
        ("Why does my knee hurt?", "What makes my knee hurt?"),
        ("What happens if I miss a payment?", "What are the consequences of a missed payment?"),
        ("Explain causes and effects of floods", "What are the causes and consequences of floods?"),
        ("How do I stop my tap from dripping?", "What helps against a dripping tap?"),
        ("How do I stop a man from calling me?", "How do I block a man who is calling me?"),
        ("How do I stop receiving letters?", "I receive letters and do not want them"),
        ("Tips for people who stop smoking", "Tips for people who quit smoking"),
        ("Will tariffs affect prices?", "How will prices be affected by tariffs?"),
        ("Who painted the ceiling?", "Who was the ceiling painted by?"),
        ("the song written by Prince", "the song that Prince has written"),
    ],
)
def test_the_same_wish_in_other_words_is_not_forbidden(text: str, other: str) -> None:
    a, b = signature(text), signature(other)
    for guard in (acts, duties, causes, voices, moods):
        assert not guard(a, b) and not guard(b, a)


@pytest.mark.parametrize("guard", [acts, duties, causes])
@pytest.mark.parametrize(
    "text", ["", "?", "must", "can", "why", "please", "make", "write", "what does do to"]
)
def test_fragments_are_no_trouble(guard: object, text: str) -> None:
    assert callable(guard)
    for other in ("", "must", "make", "write it", "may be", "what"):
        assert guard(signature(text), signature(other)) in (True, False)
