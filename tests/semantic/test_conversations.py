"""The same words in another conversation are another question; the same conversation in other words is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import pairs

from cachelayer import Budgets, CacheLayer, Policy, Source
from cachelayer.semantic.conversations import Conversations
from cachelayer.semantic.pairs.contexts import FEATURES, align, measures, serious
from cachelayer.semantic.pairs.verifier import PairVerifier
from cachelayer.semantic.text.reading import Reading, read
from cachelayer.semantic.text.words import words
from cachelayer.types import Candidate, Query, Turn

PATIENT = Budgets(embed="30s", search="30s", verify="30s")
ZERO = np.zeros(384, np.float32)


def turns(*said: str) -> tuple[Turn, ...]:
    return tuple(Turn(("user", "assistant")[i % 2], text) for i, text in enumerate(said))


def judge(a: tuple[Turn, ...], b: tuple[Turn, ...], last: str = "yes please") -> tuple[float, str]:
    query = Query(last, ZERO, a)
    return PairVerifier().judge(query, [Candidate(1, 1.0, last, None, b)])[0]


SHOP = turns(
    "I want to return the blue tent",
    "Do you have the receipt?",
    "I do",
    "Shall I send a label for the parcel?",
)
OTHERS = {
    "another question before it": (*SHOP[:-1], Turn("assistant", "Shall I give you a voucher instead?")),
    "another thing": (Turn("user", "I want to return the blue lamp"), *SHOP[1:]),
    "another number": (Turn("user", "I want to return 2 blue tents"), *SHOP[1:]),
    "a refusal instead": (*SHOP[:2], Turn("user", "no I don't"), SHOP[3]),
    "another talk": turns("book a room in Graz", "For when?", "in May", "Shall I reserve it?"),
    "nothing before": (),
}


@pytest.mark.parametrize("what", OTHERS)
def test_the_same_words_in_another_context_are_not_served_at_ten_percent(what: str) -> None:
    for a, b in ((SHOP, OTHERS[what]), (OTHERS[what], SHOP)):
        p, guard = judge(a, b)
        assert 1.0 - p > 0.1
        assert guard == "context"


def long_talk(who: str, characters: int) -> tuple[Turn, ...]:
    said = [f"{who} {' '.join(f'w{i}x{j}' for j in range(400))}"[:2000] for i in range(characters // 2000)]
    return (*SHOP, *turns(*said))


def test_conversations_too_long_to_be_compared_at_once_are_different_ones() -> None:
    """Every word of one was compared with every word of the other: minutes and gigabytes for 160 turns of 2,000."""
    verifier = PairVerifier()
    for characters in (20_000, 300_000):
        a, b = long_talk("i", characters), long_talk("you", characters)
        one, other = Candidate(1, 1.0, "yes please", None, a), Candidate(2, 1.0, "yes please", None, b)
        assert verifier.judge(Query("yes please", ZERO, a), [other]) == [(0.0, "context")]
        assert verifier.judge(Query("yes please", ZERO, a), [one])[0][0] > 0.99
    assert len(verifier._readings) <= 2, "none of their turns was read"


@pairs(
    ("I got an email from the bank", "I got an email to the bank"),
    ("my income is over 3000 euros", "my income is up to 3000 euros"),
    ("my list is [1, 2]", "my list is (1, 2)"),
    ("I was a nurse", "I will be a nurse"),
)
def test_small_words_and_marks_of_earlier_turns_are_heard(one: str, other: str) -> None:
    p, guard = judge(turns(one, "I see."), turns(other, "I see."))
    assert 1.0 - p > 0.1
    assert guard == "context"


def test_small_talk_changes_nothing() -> None:
    chatty = (*turns("hi there", "Hello! How can I help?"), *SHOP[:2], *SHOP[2:])
    assert 1.0 - judge(SHOP, chatty)[0] <= 0.1


@pairs(
    ("Show sales by month", "Can you show me sales by month?"),
    ("How do I install it?", "How can I install it?"),
    ("Write a function in Python that sorts a list", "I need a Python function to sort a list"),
)
def test_earlier_turns_in_another_frame_change_nothing(one: str, other: str) -> None:
    before, now = (turns(said, "Here it is.", "now sorted", "Done.") for said in (one, other))
    p, _ = judge(before, now, "in red please")
    assert 1.0 - p < 0.01


def test_case_and_punctuation_of_earlier_turns_change_nothing() -> None:
    plain = tuple(Turn(t.role, t.text.lower().rstrip("?")) for t in SHOP)
    assert 1.0 - judge(SHOP, plain)[0] <= 0.1


said = st.lists(
    st.sampled_from([t.text for t in SHOP] + ["no", "thanks!", "in May", "2 of them", ""]), max_size=7
)


@settings(max_examples=40, deadline=None)
@given(said, said)
def test_measures_are_finite_symmetric_and_as_many_as_named(a: list[str], b: list[str]) -> None:
    def reader(text: str) -> Reading:
        return read(text, words())

    def flat(rows: Sequence[Sequence[float]]) -> list[float]:
        return [row[0] * 3.0 for row in rows]

    left, right = serious(turns(*a), reader), serious(turns(*b), reader)
    one, other = measures(left, right, flat, words()), measures(right, left, flat, words())
    assert len(one) == len(FEATURES)
    assert np.isfinite(one).all()
    pairs = align(left, right)
    assert all(i < k and j < n for (i, j), (k, n) in pairwise(pairs))
    assert one == pytest.approx(other, abs=1e-4)


def test_a_change_in_the_middle_of_a_long_turn_is_a_change() -> None:
    page = "the tent is blue and the lamp is green . " * 200
    other = page[:4000] + "the tent is mine" + page[4016:]
    assert 1.0 - judge(turns("tell me all", page), turns("tell me all", other))[0] > 0.1
    assert judge(turns("tell me all", page), turns("hi", "Hello!", "tell me all", page))[0] >= 0.9


def test_what_is_remembered_is_bounded() -> None:
    verifier = PairVerifier()
    verifier._readings.most = 1_000_000
    for i in range(200):
        verifier.prepare(f"{i} " * 1000)
    assert verifier._readings.bytes <= 1_000_000
    assert 1 < len(verifier._readings) < 50
    verifier.clear()
    assert not len(verifier._readings)


def test_refusals_and_questions_are_never_taken_for_small_talk() -> None:
    def reader(text: str) -> Reading:
        return read(text, words())

    for text in ("no, thanks", "no", "yes", "How much is it?", "not today", "the second one"):
        assert serious((Turn("user", text),), reader), text
    for text in ("thanks a lot!", "one moment please", "No problem", "hello, how are you today?"):
        assert not serious((Turn("user", text),), reader), text


CHAT = [
    ("phew, it's really hot in here today", "Stay cool!"),
    ("it has been raining here all day", "I hope it clears up soon!"),
    ("sorry, my dog is barking", "No worries, take your time."),
    ("how has your day been?", "Very good, thank you for asking."),
    ("haha", ":)"),
]


@pytest.mark.parametrize("chat", CHAT)
def test_chatter_between_turns_changes_nothing(chat: tuple[str, str]) -> None:
    for at in (0, 2):
        assert 1.0 - judge(SHOP, (*SHOP[:at], *turns(*chat), *SHOP[at:]))[0] <= 0.1


@pairs(("the hot one please", "a cold one"), ("coffee", "tea"), ("early", "late"))
def test_an_answer_in_words_of_chatter_is_an_answer(one: str, other: str) -> None:
    ask, offer = "Which one would you like?", "Shall I bring it to your room?"
    a, b = turns("I'd like a drink", ask, one, offer), turns("I'd like a drink", ask, other, offer)
    assert 1.0 - judge(a, b)[0] > 0.1


GREETED = [
    (),
    turns("hi", "Hello! How can I help you today?"),
    turns("good morning", "Hi there! What can I do for you?"),
    turns("hey", "Hey! How may I assist you?"),
    turns("hello, how are you?", "I'm fine, thank you! How can I help?"),
]


@pytest.mark.parametrize("one", GREETED)
@pytest.mark.parametrize("other", GREETED)
def test_how_one_was_greeted_changes_no_question(one: tuple[Turn, ...], other: tuple[Turn, ...]) -> None:
    assert judge(one, other, "how do I close my account?") == judge((), (), "how do I close my account?")


@pytest.mark.parametrize("last", ["yes", "for my mother", "repeat that", "the second one", "ok", "???", ""])
def test_what_says_nothing_by_itself_is_compared_with_its_greeting(last: str) -> None:
    one, other = turns("hi", "Great! Is it for you?"), turns("hi", "Hello! How can I help?")
    assert 1.0 - judge(one, other, last)[0] > 0.1


@pytest.mark.parametrize(
    "told",
    [
        turns("hi, I'm a nurse", "Hello! How can I help?"),
        turns("answer like a pirate", "Ok! How can I help?"),
        turns("hi", "Hello! How can I help you? I can only answer in French."),
        turns("hi", "Hello! How can I help you with your mortgage?"),
    ],
)
def test_what_is_told_beside_a_greeting_is_heard(told: tuple[Turn, ...]) -> None:
    for other in GREETED:
        assert 1.0 - judge(told, other, "what do I have to know first?")[0] > 0.05


def test_an_exchange_that_only_one_side_has_is_a_difference() -> None:
    asked = turns("I want to return the blue tent", "When did you buy it?", "last winter")
    longer = (*asked[:1], *asked[1:], *SHOP[1:])
    assert 1.0 - judge(SHOP, longer)[0] > 0.1


def test_entries_are_found_by_their_whole_conversation() -> None:
    talks, here, near = Conversations(), b"scope", np.eye(3, dtype=np.float32)
    talks.add(1, here, SHOP, near[0])
    talks.add(2, here, SHOP[:2], near[0])
    talks.add(3, b"other scope", SHOP, near[0])
    assert talks.near(here, SHOP, near[0], 4) == [(1.0, 1)]
    talks.drop(1, here, SHOP)
    assert talks.near(here, SHOP, near[0], 4) == []


def chat(history: tuple[Turn, ...], last: str, system: str = "Be brief.") -> list[dict[str, Any]]:
    earlier = [{"role": t.role, "content": t.text} for t in history]
    return [{"role": "system", "content": system}, *earlier, {"role": "user", "content": last}]


async def served(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    """Whether the answer to one is served to the other, through the whole layer."""
    async with CacheLayer(policy=Policy(max_error_rate=0.1, shadow=0.0, budgets=PATIENT)) as layer:

        @layer.cached
        async def ask(messages: list[dict[str, Any]]) -> str:
            return "the answer to " + messages[-1]["content"]

        await ask(one)
        await layer.flush()
        return (await ask.outcome(other)).source is Source.INDEX


async def test_a_layer_serves_a_question_typed_differently_in_the_same_conversation_only() -> None:
    assert await served(chat(SHOP, "when will it come?"), chat(SHOP, "When will it come"))
    assert not await served(chat(SHOP, "when will it come?"), chat(SHOP, "when will it come?", "Be funny."))
    for other in OTHERS.values():
        assert not await served(chat(SHOP, "when will it come?"), chat(other, "when will it come?"))


@pairs(("I have 80€", "I have 80$"), ("It costs 5% more", "It costs 5€ more"))
def test_a_turn_that_differs_in_a_sign_alone_is_another_conversation(one: str, other: str) -> None:
    assert judge(turns(one, "I see"), turns(other, "I see"), "what can I buy there") == (0.0, "context")
