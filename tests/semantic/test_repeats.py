"""Repeats: one request typed otherwise is served from the first on, and only where the function does not heed it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import repeats

from cachelayer import CacheLayer, Policy
from cachelayer.semantic.evidence.calibration import Form
from cachelayer.semantic.evidence.decide import EvidenceDecider
from cachelayer.testing import WordEmbedder
from cachelayer.types import Candidate, Decision, Query, Reason, Turn

VECTOR = np.zeros(4, np.float32)
ASKED = "How do I reset the Hub 3?"


@pytest.mark.parametrize(
    "typed",
    [
        "how do i reset the hub 3",
        "HOW DO I RESET THE HUB 3???",
        "Hi, how do I reset the Hub 3? Thanks!",
        "hi how do I reset the hub 3 thx",
        "Hello Wickley team, How do I reset the Hub 3?",
        "Hi there! I'm new here. How do I reset the Hub 3? Kind regards",
        "Sorry to bother you: How do I rseet the Hub 3?",
        "Dear support, How do I reset the Hub 3? Please help.",
        "please how do i reset the hub 3",
        "Guten Tag, how do I reset the Hub 3? Vielen Dank",
        "how do i please reset the hub 3 thank you very much",
        "how do I reset the Hub 3, many thanks",
    ],
)
def test_a_greeting_thanks_small_letters_stops_and_a_slip_of_the_pen_leave_a_request_what_it_is(
    typed: str,
) -> None:
    assert repeats(typed, ASKED)
    assert repeats(ASKED, typed)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The order is gone, can I correct the street?", "the order is gone, can i correct the street"),
        (
            "I want the chimes again. How do I end Quiet Hours? Thanks!",
            "i want the chimes again. how do i end quiet hours",
        ),
        ("¿Cómo cancelo mi suscripción?", "¿cómo cancelo mi suscripción"),
        ("Wie kündige ich mein Abo?", "Hallo, wie kündige ich mein Abo"),
        ("Are reutrns from Norway free?", "are retruns from Norway free"),
        ("What does error E12 on my Hub mean? Thanks!", "what does error E12 on my hub mean"),
        ("yes", "Yes please!"),
        ("No", "no thanks"),
        ("3 days", "3 days please"),
        ("another one", "Another one, please"),
    ],
)
def test_so_do_a_mark_that_the_words_make_needless_and_slips_on_both_sides(text: str, other: str) -> None:
    assert repeats(text, other)
    assert repeats(other, text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("What does this word mean? Thanks!", "What does this word mean?"),
        ("How do I pronounce it? Merci", "How do I pronounce it?"),
        ("La puerta está cerrada", "¿La puerta está cerrada?"),
        ("who is Bernadtete", "who is Bernadetet"),
        ("How do you say thank you in French?", "How do you say please in French?"),
        ("Translate to Spanish: good morning", "Translate to Spanish: thank you"),
        ("What is French for thank you?", "What is French for please help?"),
        ("How is it in Spanish, thank you", "How is it in Spanish, cheers"),
        ("Was ist auf Englisch danke?", "Was ist auf Englisch bitte?"),
        ("Cómo es en inglés gracias", "Cómo es en inglés por favor"),
        ("Ciao, what language is that?", "Hola, what language is that?"),
        ("Is it rude to end with thanks", "Is it rude to end with cheers"),
        ("Play the song thank you", "Play the song please"),
        ("I need a card with please", "I need a card with thanks"),
        ("Set my status to have a nice day", "Set my status to have a good evening"),
        ("Should I end it with best regards", "Should I end it with best wishes"),
        ("Well water is safe to drink?", "Water is safe to drink?"),
        ("hello kitty birth year", "kitty birth year"),
        ("OK Computer track list", "computer track list"),
        ("the door is locked now", "the door is locked now?"),
        ("How do I enable quota alerts", "How do I enable Quora alerts"),
        ("trial by fire movie", "trail by fire movie"),
        ("How do I reset the Hub 2?", ASKED),
        ("How do I go from Paris to Rome?", "How do I go to Paris from Rome?"),
        ("Can I cancel it?", "Can't I cancel it?"),
        ("Is -10 colder than 10?", "Is 10 colder than -10?"),
        ("How do I go from -5 to 5?", "How do I go from 5 to -5?"),
        ("What does the US import?", "what does us import, and The rest?"),
        ("print xs[2:] of it", "print xs[:2] of it"),
        ("Thanks!", "Hello!"),
        ("yes", "no"),
        ("yes", "yes?"),
        ("3 days", "4 days"),
        ("yes", "thanks"),
        ("Turkey", "turkey"),
    ],
)
def test_what_asks_for_something_else_is_no_repeat(text: str, other: str) -> None:
    assert not repeats(text, other)
    assert not repeats(other, text)


@given(st.lists(st.sampled_from("how do i open the red box thanks hi ok now please say".split()), max_size=9))
def test_every_text_repeats_itself_or_nothing_and_both_ways_alike(words: list[str]) -> None:
    text = " ".join(words)
    assert repeats(text, text) or not repeats(text, text + " thanks")
    assert repeats(text, "hello, " + text) == repeats("hello, " + text, text)


@given(
    st.lists(
        st.sampled_from(
            ["have a good day", "thanks in advance", "please help me", "ty", "hi", "so", ".", "?", "open it"]
        ),
        max_size=5,
    )
)
def test_of_manners_alone_nothing_is_left_to_go_wrong(parts: list[str]) -> None:
    text = " ".join(parts)
    assert repeats(text, "open it") == repeats("open it", text)


def test_the_same_words_in_another_conversation_are_no_repeat() -> None:
    assert not repeats(ASKED, ASKED, (Turn("user", "I have two hubs"),))


def decider(check: float | str) -> EvidenceDecider:
    return EvidenceDecider(random=random.Random(1).random, shadow=check)


def asked(d: EvidenceDecider, text: str, bound: float = 0.01) -> Decision:
    kept = Candidate(7, 0.8, ASKED, "Press the button.")
    return d.decide("f", b"", Query(text, VECTOR), [kept], bound)


def told(d: EvidenceDecider, text: str, answer: str) -> None:
    kept = Candidate(7, 0.8, ASKED, "Press the button.")
    d.observe("f", b"", Query(text, VECTOR), [kept], answer, None)


def started(check: float | str = 0.0) -> EvidenceDecider:
    d = decider(check)
    d.observe("f", b"", Query(ASKED, VECTOR), [], "Press the button.", None)
    d.stored(7, "f", b"", Query(ASKED, VECTOR), "Press the button.")
    return d


def test_a_repeat_is_served_at_once_and_spends_nothing_of_the_budget() -> None:
    d = started()
    for n in range(50):
        decision = asked(d, f"{'Hi, ' * (n % 2)}how do I reset the hub 3{'?' * n}")
        assert (decision.entry, decision.detail) == (7, "repeat")
    told_of = d.stats()["f"]["0.01"]
    assert (told_of["repeats"], told_of["repeats_checked"], told_of["hits"]) == (50, 0, 0)
    assert asked(d, "how do I reset the hub 3", bound=0.0).reason is Reason.OFF


def test_the_first_repeats_of_a_function_are_all_checked() -> None:
    d = started("auto")
    assert [asked(d, "how do i reset the hub 3").shadow for _ in range(3)] == [True] * 3
    assert d.stats()["f"]["0.01"]["repeats_checked"] == 3


def test_a_function_that_heeds_how_it_is_asked_gets_no_repeats() -> None:
    d = started()
    told(d, "hi, how do I reset the hub 3", "Hello! Press the button.")
    assert asked(d, "hey, how do I reset the hub 3").entry is None


def test_one_wrong_in_fifty_is_the_functions_own_noise() -> None:
    form = Form()
    for n in range(1, 501):
        form.learn(right=n % 50 != 0)
    assert form.risk <= 0.01
    for _ in range(4):
        form.learn(right=False)
    assert form.risk > 0.3


@pytest.mark.parametrize(
    ("truth", "served"),
    [
        ("w", False),
        ("rw", False),
        ("rrw", False),
        ("rrrw", True),
        ("r" * 99 + "w", True),
        ("r" * 99 + "ww", False),
    ],
)
def test_one_wrong_repeat_among_the_first_three_or_two_in_a_row_stop_repeats(
    truth: str, served: bool
) -> None:
    form = Form()
    for letter in truth:
        form.learn(right=letter == "r")
    assert (form.risk <= 0.01) is served


async def test_a_caller_who_greets_is_served_what_another_asked_without() -> None:
    layer = CacheLayer(policy=Policy(max_error_rate=0.01), embedder=WordEmbedder())
    calls = []

    @layer.cached
    async def ask(question: str) -> str:
        calls.append(question)
        return "Press the button for five seconds."

    async with layer:
        await ask(ASKED)
        await layer.flush()
        outcome = await ask.outcome("Good morning, how do i reset the hub 3? Thanks!")
        await layer.flush()
    assert outcome.answer == "Press the button for five seconds."
    assert outcome.source == "index"


def test_a_request_in_other_words_repeats_none_that_is_known() -> None:
    query, decider = Query(ASKED, VECTOR), EvidenceDecider(random=random.Random(1).random)

    def again(other: str) -> Decision | None:
        return decider.again("f", b"", query, [Candidate(1, 1.0, other, None)], 0.05)

    assert again("how do i reset the hub 3") is None
    decider.stored(1, "f", b"", query, "an answer")
    assert again("how do i sell the hub 3") is None
    repeated = again("how do i reset the hub 3")
    assert repeated is not None and repeated.entry == 1
