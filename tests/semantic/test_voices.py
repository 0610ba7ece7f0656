"""Who acts, when, how surely and in what form an answer is wanted: small words that make two requests."""

from __future__ import annotations

from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.text.signature import signature

LONG = (
    "this is all that we were told of it in the letter of last spring, and nobody knows what to make of it;"
)


@pairs(
    ("the lion killed the zebra", "the lion was killed by the zebra"),
    ("did Sparta conquer Athens", "was Sparta conquered by Athens"),
    ("who taught Beethoven", "who did Beethoven teach"),
    ("who was Samson betrayed by", "who did Samson betray"),
    ("who was hired by Nora", "who hired Nora"),
    ("who was hired to replace the coach", "who hired the coach"),
    ("who wants to be visited", "who wants to visit"),
    ("did Sparta hurt Athens", "was Sparta hurt by Athens"),
    ("who did Rome meet", "who was Rome met by"),
    ("which bank bought Merrill", "which bank did Merrill buy"),
    ("what causes rust", "what does rust cause"),
    ("what can replace cream", "what can cream replace"),
    ("has the form been checked", "will the form be checked"),
    ("what changed in the contract", "what will change in the contract"),
    ("can I skip the exam", "should I skip the exam"),
    ("may I leave early", "do I have to leave early"),
    ("the water is too deep", "the water is deep"),
    ("nearly all seats are taken", "all seats are taken"),
    (f"{LONG} our lawyer sued the city", f"{LONG} our lawyer was sued by the city"),
    (f"our lawyer beat the city. {LONG}", f"our lawyer was beaten by the city. {LONG}"),
    ("in one word: what is honour", "what is honour"),
    ("answer yes or no: is jade a stone", "is jade a stone"),
    ("explain tides briefly", "explain tides in detail"),
    ("if p then q; what if p", "if p then q; what if q"),
    ("1 out of 8", "8 out of 1"),
    ("rinse the wool, then dye it", "dye the wool, then rinse it"),
)
def test_another_actor_time_or_form_is_another_request(one: str, other: str) -> None:
    assert apart(relations, one, other)


@pairs(
    ("the lion killed the zebra", "the zebra was killed by the lion"),
    ("who betrayed Samson", "who was Samson betrayed by"),
    (f"{LONG} it arrives Monday", f"{LONG} it is delivered by Monday"),
    ("who hired Nora", "by whom was Nora hired"),
    ("the hound found the boy", "the boy was found by the hound"),
    ("which formats does it read", "which formats are read by it"),
    ("what does code 7 mean", "tell me what code 7 means"),
    ("what does code 7 mean", "what is the meaning of code 7"),
    ("is the hall accessible by lift", "is the hall lift accessible"),
    ("which plans cover it in full", "which plans pay for all of it"),
    ("can it be paid by cheque", "can I pay with cheque"),
    ("do I need a notary to make a will", "is a notary needed to make a will"),
    ("may I bring a cat", "can I bring a cat"),
    ("could you wake me", "will you wake me"),
    ("explain tides briefly", "explain tides in short"),
    ("rinse the wool and then dye it", "the wool: rinse it, then dye it"),
    ("what happened in Bonn in 1949", "in 1949, what happened in Bonn"),
    ("how do I turn text in a Word document", "how do I turn text in Word documents"),
)
def test_the_other_voice_of_one_request_is_left_to_the_trees(one: str, other: str) -> None:
    assert not apart(relations, one, other)


WORDS = st.lists(
    st.sampled_from("who what did was hired by Nora Tom bank buys in one word yes or no too".split())
)


@given(WORDS, WORDS)
def test_voices_are_symmetric_and_silent_on_repeats(left: list[str], right: list[str]) -> None:
    a, b = signature(" ".join(left)), signature(" ".join(right))
    assert relations(a, b) == relations(b, a)
    assert not relations(a, signature(" ".join(left)))
