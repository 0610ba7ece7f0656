"""Who does it and to whom: persons who trade places, or another person who acts, make another request."""

from __future__ import annotations

from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.persons import actors, swapped
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.text.signature import signature


@pairs(
    ("can he borrow my bike?", "can I borrow his bike?"),
    ("does she need our consent?", "do we need her consent?"),
    ("is her name on my deed?", "is my name on her deed?"),
    ("can anyone read my notes?", "can I read anyone's notes?"),
    ("someone scratched my car", "I scratched someone's car"),
    ("my neighbour's hedge grows into my garden", "my hedge grows into my neighbour's garden"),
    ("Ann's dog chased Ben's cat", "Ben's dog chased Ann's cat"),
    ("my wife works and I stay home", "I work and my wife stays home"),
    ("I have a visa but my son has none, may he board?", "my son has a visa but I have none, may I board?"),
    ("I'm on my parents' policy and I'm moving", "my parents are on my policy and I'm moving"),
    ("does he want her to call?", "does she want him to call?"),
    ("my kid ate one of my pills", "I ate one of my kid's pills"),
    ("why did you change my plan?", "why did I change my plan?"),
    ("were you at the desk?", "was I at the desk?"),
)
def test_persons_who_trade_places_are_told_apart(one: str, other: str):
    assert apart(swapped, one, other)
    assert apart(relations, one, other)


@pairs(
    ("can he borrow my bike?", "is he allowed to borrow my bike?"),
    ("they can't hear me but I can hear them", "I can hear them but they can't hear me"),
    ("I love him and he loves me", "he loves me and I love him"),
    ("should my wife or I sign?", "should I or my wife sign?"),
    ("can my uncle marry my friend?", "can my friend marry my uncle?"),
    ("can I fly with my dog?", "can my dog fly with me?"),
    ("how do you reset it?", "how do I reset it?"),
    ("do you need a visa?", "do I need a visa?"),
    ("will you cancel it?", "will I cancel it?"),
    ("did we get the refund?", "did I get the refund?"),
    ("", ""),
)
def test_the_same_persons_in_their_places_are_let_pass(one: str, other: str):
    assert not apart(swapped, one, other)


@pairs(
    ("can my landlord end the lease early?", "can I end the lease early?", True),
    ("does the bank report it?", "do I report it?", True),
    ("should my children file a return?", "should I file a return?", True),
    ("can my landlord end the lease early?", "can my landlord end it early?", False),
    ("does my account have roaming?", "do I have roaming?", False),
    ("can the user change it?", "can I change it?", False),
    ("can my dog come?", "can I bring my dog?", False),
    ("can I?", "can my dog?", False),
)
def test_another_who_acts_is_another_question(one: str, other: str, differ: bool):
    assert apart(actors, one, other) == differ


_WORDS = st.lists(
    st.sampled_from("i my he his someone's wife and with did you lost keys 's".split()), max_size=7
)


@given(_WORDS, _WORDS)
def test_who_trades_places_is_seen_from_either_side(one: list[str], other: list[str]):
    a, b = signature(" ".join(one)), signature(" ".join(other))
    assert swapped(a, b) == swapped(b, a) and actors(a, b) == actors(b, a)
    assert not swapped(a, a) and not actors(a, a)
