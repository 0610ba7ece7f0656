"""Questions about what changes by the hour are told from those about what happened and how things are done."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachelayer import CacheLayer, ConfigurationError, Policy, Reason
from cachelayer.semantic import freshness
from cachelayer.semantic.freshness import MAX_TEXT, time_sensitive
from cachelayer.testing import Gate, ManualClock, WordEmbedder

CHANGES = (
    "What time is it in Tokyo?",
    "what's the date",
    "What is the weather like in Oslo?",
    "weather Berlin",
    "Will it rain tomorrow?",
    "What's the current exchange rate from euros to dollars?",
    "how many yen is 40 dollars in yen",
    "Show me the latest news about the election",
    "What is the price of gold?",
    "How much did I spend this month?",
    "who won the game last night",
    "What's the score of the match?",
    "Is the store on Main Street open?",
    "What is the status of my order?",
    "any delays on the northern line right now",
    "Tell me what is happening in town this weekend.",
    "Thanks. And what's the traffic like?",
    "What is the stock price of Acme?",
    "latest version of Debian",
    "upcoming concerts in Graz",
    "the next ferry to Bergen",
    "is the mail server down?",
    "is flight LX 18 on time?",
)
STAYS = (
    "My card was declined at the supermarket today.",
    "I tried to pay now and it failed, what should I do?",
    "How do I change my PIN now?",
    "How is the exchange rate calculated?",
    "Why is the exchange rate different from the market?",
    "What does 'current account' mean?",
    "I received the wrong exchange rate this week",
    "Please cancel my order right now",
    "Speak French from now on",
    "How do I reset the hub?",
    "Can you explain what weather is?",
    "Play rain by the lake in the living room speakers for the next song",
    "What is the capital of Norway?",
    "How long does a refund take?",
    "write a poem about the morning",
    "how do I write the next chapter down",
    "is it fine to sit down on the grass",
)
ELSEWHERE = (
    "Wie ist das Wetter in Köln?", "Was kostet das heute?", "Quelle heure est-il maintenant ?", "¿Qué clima hace hoy?",
    "Che tempo fa oggi?", "Como está o trânsito agora?", "Wat is het nieuws vandaag?",
    "wie spät ist es", "quelle heure est-il", "que hora es", "che ore sono", "hoe laat is het",
    "今天天气怎么样", "今日の天気は", "지금 몇 시야",
)  # fmt: skip


@pytest.mark.parametrize("question", CHANGES)
def test_a_question_about_a_passing_state_is_flagged_with_its_words(question: str) -> None:
    cue = time_sensitive(question)
    assert cue and cue.casefold() in question.casefold()


@pytest.mark.parametrize("question", STAYS)
def test_what_happened_how_to_and_definitions_are_not(question: str) -> None:
    assert time_sensitive(question) == ""


@pytest.mark.parametrize("question", ELSEWHERE)
def test_nine_other_languages_are_read_by_words_alone(question: str) -> None:
    assert time_sensitive(question)


def test_other_languages_are_never_flagged() -> None:
    for question in ("Jaka jest dziś pogoda?", "Hur är vädret idag?", "Какая сегодня погода?"):
        assert time_sensitive(question) == ""


@given(st.text(max_size=3000))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(time_sensitive(text), str)


CUE = st.one_of([
    st.from_regex(e, fullmatch=True, alphabet=st.characters(max_codepoint=0xFF))
    for e in (freshness._ENGLISH_CLOCK, freshness._ENGLISH_STATE, freshness._ENGLISH_WHEN, freshness._WORDS)
])  # fmt: skip


@settings(max_examples=400)
@given(CUE, st.sampled_from(["show me {}", "I know. {}?", "tell me, \u2014{}\u2014", "{}"]))
def test_ruling_out_by_words_rules_out_nothing_that_the_expressions_match(cue: str, around: str) -> None:
    text = around.format(cue)
    every = {""}  # is in every sentence: nothing is ruled out
    sentences = re.split(r"[.!?;\n]+", text)
    searched = next((cue for one in sentences if (cue := freshness._asked(one, every, every, every))), "")
    foreign = freshness._WORDS.search(text)
    assert time_sensitive(text) == (foreign.group() if foreign else searched)


@given(st.sampled_from(CHANGES), st.booleans())
def test_the_question_before_or_after_a_long_text_is_found(question: str, first: bool) -> None:
    filler = "The parcel lies in the hall. " * (MAX_TEXT // 10)
    assert time_sensitive(f"{question}\n{filler}" if first else f"{filler}\n{question}")


def test_typographic_apostrophes_and_case_change_nothing() -> None:
    assert time_sensitive("WHAT\N{RIGHT SINGLE QUOTATION MARK}S THE TIME")


def layered(clock: ManualClock, **policy: Any) -> tuple[CacheLayer, Any, Gate]:
    layer = CacheLayer(policy=Policy(ttl_jitter=0, **policy), embedder=WordEmbedder(), clock=clock)
    gate = Gate(opened=True)
    return layer, layer.wrap(gate, name="ask", text="question"), gate


async def test_answers_to_flagged_questions_age_faster_and_others_do_not() -> None:
    clock = ManualClock()
    _, ask, gate = layered(clock)
    for question in ("What is the weather in Oslo?", "What is the capital of Norway?"):
        await ask(question)
    clock.advance(599)
    for question in ("What is the weather in Oslo?", "What is the capital of Norway?"):
        await ask(question)
    assert gate.calls == 2
    clock.advance(2)
    for question in ("What is the weather in Oslo?", "What is the capital of Norway?"):
        await ask(question)
    assert gate.calls == 3


async def test_the_owner_decides_which_questions_age() -> None:
    for fresh, calls in (("off", 1), (lambda text: "weather" in text, 2), (lambda text: False, 1)):
        clock = ManualClock()
        _, ask, gate = layered(clock, fresh=fresh, fresh_ttl="1m")
        for _ in range(2):
            await ask("What is the weather in Oslo?")
            clock.advance(61)
        assert gate.calls == calls


async def test_a_shorter_ttl_of_the_owner_stays() -> None:
    clock = ManualClock()
    _, ask, gate = layered(clock, ttl="10s")
    await ask("What is the weather in Oslo?")
    clock.advance(11)
    await ask("What is the weather in Oslo?")
    assert gate.calls == 2


async def test_a_fresh_ttl_of_nothing_keeps_nothing() -> None:
    _, ask, _ = layered(ManualClock(), fresh_ttl=0)
    assert (await ask.outcome("What is the weather in Oslo?")).stored is Reason.TTL_ZERO


async def test_bypass_compares_flagged_questions_by_nothing_but_equality() -> None:
    layer, ask, _ = layered(ManualClock(), fresh="bypass")
    async with layer:
        for question, reason in (
            ("What is the weather in Oslo?", Reason.TIME_SENSITIVE),
            ("What is the capital of Norway?", Reason.NO_CANDIDATE),
        ):
            assert (await ask.outcome(question)).misses["similar"] == reason
            await layer.flush()
            assert (await ask.outcome(question)).match == "exact"
        assert layer.stats()["similar"]["entries"] == 1


async def test_a_failing_function_of_the_owner_costs_no_caller_an_answer() -> None:
    def fresh(text: str) -> bool:
        raise KeyError(text)

    clock = ManualClock()
    layer, ask, _ = layered(clock, fresh=fresh)
    assert await ask("q") == "answer 1"
    clock.advance(601)
    assert await ask("q") == "answer 2"
    assert layer.stats()["faults"] == {"fresh:KeyError": 2}


@pytest.mark.parametrize(("field", "value"), [("fresh", "always"), ("fresh_ttl", "soon")])
def test_bad_settings_name_field_and_remedy(field: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{field}='{value}': give"):
        Policy(**{field: value})
