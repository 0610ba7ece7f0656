"""A word that nobody knows stands for the one that was meant, where an error of the pen leads to one word alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import repeats

from cachelayer.semantic.text.repeats import core
from cachelayer.semantic.text.signature import signature
from cachelayer.semantic.text.spelling import Spelling
from cachelayer.semantic.text.words import words


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("rseet", "reset"),
        ("pasword", "password"),
        ("passsword", "password"),
        ("accomodation", "accommodation"),
        ("diffrence", "difference"),
        ("definately", "definitely"),
        ("seperate", "separate"),
        ("thermostaat", "thermostat"),
        ("invoicce", "invoice"),
        ("symtoms", "symptoms"),
    ],
)
def test_an_error_that_people_make_is_mended(typed: str, meant: str) -> None:
    assert words().spelling.meant(typed, name=False) == meant


@pytest.mark.parametrize(
    "word",
    "crypto kubectl heroku copay iphones airtag e12 straße qwzx rseett sketchr roverr rustjs".split(),
)
def test_a_word_that_is_merely_unknown_stands_for_itself(word: str) -> None:
    assert words().spelling.meant(word, name=False) == ""


@pytest.mark.parametrize(
    "word",
    """router warranty invoice modem voicemail reset paypal apologised venmo flickr tumblr fiverr frontend
    macarons""".split(),
)
def test_words_that_people_use_are_known(word: str) -> None:
    assert not words().spelling.strange([word])


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("how do I resset my pasword", "How do I reset my password?"),
        ("what is teh diffrence of a lease and a loan", "What is the difference of a lease and a loan?"),
        ("when r u open on sundays", "When are you open on Sundays?"),
        ("can u mend my umbrela", "Can you mend my umbrella?"),
        ("Who was teh frist presidnet of the Romans?", "Who was the first president of the Romans?"),
        ("how do I organise the neighbours' theatre", "how do I organize the neighbors' theater"),
        ("how do i unclog a kithcen snik", "how do I unclog a kitchen sink"),
        ("bake a brithday cake with very stong coffee", "Bake a birthday cake with very strong coffee"),
        ("how do I cancle a cancelled order", "how do I cancel a canceled order"),
        ("the pros and cons of livin gin Montana", "the pros and cons of living in Montana"),
        ("how do yo udo this workout", "how do you do this workout"),
        ("can I payfor shipping twice", "can I pay for shipping twice"),
        ("why does abtch normalization help", "why does batch normalization help"),
    ],
)
def test_a_request_with_two_slips_repeats_the_one_without(text: str, other: str) -> None:
    assert repeats(text, other)
    assert repeats(other, text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Is recieve spelled correctly?", "Is receive spelled correctly?"),
        ("is there a typo in accomodation here", "is there a typo in accommodation here"),
        ("who leads the Labour party", "who leads the Labor party"),
        ("how do you spell colour today", "how do you spell color today"),
        ("is this story long", "is this storey long"),
        ("where does Mr Alisson live now", "where does Mr Allison live now"),
        ("resset teh umbrela of my pasword", "reset the umbrella of my password"),
        ("how do I unlock my iphone", "how do I unlock my phone"),
        ("how do I deploy a nuxt app", "how do I deploy a next app"),
        ("how do you spell stong now", "how do you spell strong now"),
        ("when does Kristen sing", "when does Kristin sing"),
        ("is venmo safe for my dog", "is venom safe for my dog"),
        ("who won what AIIMS wanted", "who won what aims wanted"),
        ("is the rapist in today", "is the therapist in today"),
        ("I want a mans laughter lawyer", "I want a manslaughter lawyer"),
        ("who lives on the Isleof Man", "who lives on the Isle of Man"),
        ("how do you spell livin gin Rome", "how do you spell living in Rome"),
    ],
)
def test_spelling_that_is_asked_about_names_and_many_slips_are_left_alone(text: str, other: str) -> None:
    assert not repeats(text, other)
    assert not repeats(other, text)


@given(st.text("abcdeilnorstu", min_size=3, max_size=9), st.text("abcdeilnorstu", min_size=3, max_size=9))
def test_what_was_meant_is_a_common_word_with_the_same_first_letter(word: str, other: str) -> None:
    meant = Spelling({word, other}, ()).meant(word + "e", name=False)
    assert meant in ("", word, other) and (not meant or meant[0] == word[0])


def test_mending_changes_no_text_whose_words_are_known() -> None:
    text = "how do i return a router under warranty"
    assert core(text, signature(text).words, words().spelling) == tuple(text.split())
