"""Of one kind of things each text names another: none of them shares an answer, however it is worded."""

from __future__ import annotations

from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards import kinds as module
from cachelayer.semantic.guards.kinds import kinds
from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.text.signature import signature


@pairs(
    ("Do you allow dogs in the rooms?", "Are cats welcome at your hotel?"),
    ("I want to paint my bedroom blue", "Which red paint is good for a bedroom?"),
    ("Will it rain in Oslo tomorrow?", "Is snow expected tomorrow in Oslo?"),
    ("How do I claim on my car insurance?", "What do I do to file a travel insurance claim?"),
    ("Can I cancel by email?", "Is it possible to send the cancellation via letter?"),
    ("How much is a new clutch?", "What does it cost to replace the battery of my car?"),
    ("a gift for my brother's birthday", "What should I give my sisters?"),
    ("what does a ticket cost for an adult?", "how much do children pay for a ticket?"),
    ("vacuum the living room", "clean the bedroom with the vacuum"),
)
def test_another_member_of_a_kind_is_another_question(one: str, other: str):
    assert apart(kinds, one, other)
    assert apart(relations, one, other)


@pairs(
    ("Do you allow puppies or dogs?", "Are dogs welcome?"),
    ("Do you take dogs and cats?", "May I bring my cat?"),
    ("How much is car insurance?", "What does auto insurance cost?"),
    ("a present for my mom", "What can I give my mother?"),
    ("Does insurance cover my car?", "Is my life covered by insurance?"),
    ("I cared for it deeply", "Can I take the bus?"),
)
def test_the_same_member_by_another_name_or_beside_others_is_no_other(one: str, other: str):
    assert not apart(kinds, one, other)


@given(st.sampled_from(sorted(module._NAMED)), st.sampled_from(sorted(module._NAMED)))
def test_two_words_exclude_one_another_both_ways_and_none_itself(one: str, other: str):
    a, b = signature(f"tell me of {one} please"), signature(f"tell me of {other} please")
    assert kinds(a, b) == kinds(b, a)
    assert not kinds(a, a)


def test_no_word_is_two_members_of_one_kind():
    for line in module._KINDS.replace("/\n", "/ ").strip().splitlines():
        words = line.replace(" / ", " ").split()
        assert len(words) == len(set(words)), line
