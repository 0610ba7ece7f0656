"""The phrasebook: what its lines say is the same is read as one, and what they only seem to say is not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.moods import moods
from cachelayer.semantic.pairs.verifier import forbidding, late, reframed
from cachelayer.semantic.text.particles import joined
from cachelayer.semantic.text.phrasebook import Beside, Phrasebook, lines, phrases
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.repeats import core
from cachelayer.semantic.text.signature import signature
from cachelayer.semantic.text.variants import FORMS, unvaried
from cachelayer.semantic.text.words import words

TEXT = phrases()
PHRASES = [(said, beside) for said, beside in lines(TEXT) if "{" not in str(said)]
SENTENCES = [(said, beside) for said, beside in lines(TEXT) if "{" in str(said)]
SLOT = re.compile(r"\{(\w+)(?::([^}]+))?\}")
FILLED = {
    "": "zebras",
    "noun": "walnuts",
    "number": "12",
    "most": "largest",
    "place": "in africa",
    "rest": "",
}


@pytest.mark.parametrize(("said", "beside"), PHRASES, ids=lambda x: str(x)[:60])
def test_each_phrase_of_a_line_is_read_as_its_first(said: list[str], beside: Beside):
    if beside.one and "$" in str(said):
        return  # nothing may stand behind it
    phrases = [each.strip(" ^$").split() for each in said]
    assert len({unvaried([*phrase, *sorted(beside.one)[:1]]) for phrase in phrases}) == 1


@pytest.mark.parametrize(("said", "beside"), SENTENCES, ids=lambda x: str(x)[:60])
def test_each_sentence_of_a_line_is_read_as_its_first(said: list[str], beside: Beside):
    kinds = {name: kind for one in said for name, kind in SLOT.findall(one) if kind}

    def filled(slot: re.Match[str]) -> str:
        kind = kinds.get(slot[1], "")
        if kind == "" and beside.one:
            return min(beside.one)
        return FILLED.get(kind, kind.split("/")[0].replace("_", " "))

    assert len({unvaried(SLOT.sub(filled, one).split()) for one in said}) == 1


def test_each_word_of_a_line_is_written_as_in_the_texts_that_it_is_looked_for_in():
    for said, beside in lines(TEXT):
        asked = [*beside.one, *beside.none]
        for one in [*said, *asked]:
            choices = [kind.replace("_", " ") for _, kinds in SLOT.findall(one) for kind in kinds.split("/")]
            for phrase in [SLOT.sub("zebras", one), *choices]:
                parts = [FORMS.get(word, word) for word in phrase.strip(" ^$").split()]
                text = f"yesterday zebras {phrase.strip(' ^$')} again"
                left = core(text, signature(text).words, words().spelling)
                assert " ".join(parts) in " ".join(FORMS.get(word, word) for word in left), phrase


@pairs(
    ("Turn on the lights", "Switch the lights on"),
    ("My flight was canceled", "My flight got cancelled"),
    ("Is the bar open this evening?", "Is the bar open tonight?"),
    ("When does the sale end?", "When is the sale over?"),
    ("What is a capacitor used for?", "What is the purpose of a capacitor?"),
    ("Can I use the app offline?", "Can I use the app without internet?"),
    ("Show me rooms without windows", "Show me rooms with no windows"),
    ("What are the hours per student?", "What are the hours for each student?"),
    ("Which courses start this semester?", "Which courses start this term?"),
    ("Turn the living room lights off at 9", "Switch off the living room lights at 9"),
    ("turn bedroom lamp off", "turn off bedroom lamp"),
    ("Where is Mount Etna located?", "Where is Mount Etna?"),
    ("How can I go from Bern to Rome?", "How do I get from Bern to Rome?"),
    ("Can you tell me a joke?", "Tell me a joke"),
    ("How do I change my DOB?", "How do I change my date of birth?"),
    ("How do I contact HR?", "How do I contact human resources?"),
    ("I did not receive the OTP", "I did not receive the one-time password"),
    ("How many mins are in a day?", "How many minutes are in a day?"),
    ("How tall is Mt. Everest?", "How tall is Mount Everest?"),
    ("List the pros of remote work", "List the advantages of remote work"),
    ("How do I center a div in CSS?", "How do you center a div in CSS?"),
    ("How do I export my contacts?", "Steps to export my contacts"),
    ("How do I turn on 2FA?", "How do I set up two-factor authentication?"),
    ("Where can I change my password?", "How do I change my password?"),
    ("Give me a list of unpaid orders", "List unpaid orders"),
    ("What should I see in Rome?", "What are the top sights in Rome?"),
    ("How do I enable dark mode?", "How do I turn on dark mode?"),
    ("What are your opening hours?", "When are you open?"),
    ("What are your opening hours on Sunday?", "When are you open on Sundays?"),
    ("Are you open on Sunday?", "Are you open on Sundays?"),
    ("How do I contact support?", "How can I reach customer service?"),
    ("What is the largest lake in Africa?", "Which lake in Africa is the biggest?"),
    ("When did the Berlin Wall fall?", "In which year did the Berlin Wall fall?"),
    ("What is the population of Canada?", "How many people live in Canada?"),
    ("How far is it from Rome to Florence?", "What's the distance between Florence and Rome?"),
    ("How long does delivery take?", "What is the delivery time?"),
    ("When will my order arrive?", "When can I expect my order?"),
    ("My order hasn't arrived", "I haven't received my order"),
    ("I forgot my password", "I can't remember my password"),
    ("The app keeps crashing", "The app crashes all the time"),
    ("My phone won't charge", "My phone isn't charging"),
    ("Who painted Guernica?", "By whom was Guernica painted?"),
    ("Convert 10 miles to km", "How many km are 10 miles?"),
    ("Set a timer for 10 minutes", "Start a 10 minute timer"),
    ("How do I merge two PDFs?", "How do I combine 2 PDF files?"),
    ("I'd like to speak to an agent", "Let me talk to a human"),
    ("Is breakfast included?", "Does the room rate include breakfast?"),
    ("Do you have a gym?", "Is there a gym?"),
    ("How do I sort a list in Python?", "How do I sort a list with Python?"),
    ("Will it rain in Oslo?", "Is it going to rain in Oslo?"),
    ("Do you ship to Norway?", "Can you deliver to Norway?"),
    ("How much does the red tent cost?", "How expensive is the red tent?"),
    ("What documents do I need for a loan?", "Which documents are required for a loan?"),
    ("How long is the warranty on the tent?", "What is the warranty period on the tent?"),
    ("When is the town library open?", "What are the town library's opening hours?"),
    ("Can I check out late?", "Is late check-out possible?"),
)
def test_what_says_the_same_is_read_as_one_and_no_guard_objects(one: str, other: str):
    a, b = read(one, words()), read(other, words())
    assert reframed(a, b) and reframed(b, a)
    assert not forbidding(a, b, words()) and not late(a, b, words())


@pairs(
    ("Turn on the lights", "Turn up the lights"),
    ("When does the sale start?", "When is the sale over?"),
    ("movies like With No Mercy", "movies like Without Mercy"),
    ("Play Tonight by Iggy Pop", "Play this evening by Iggy Pop"),
    ("Shop offline", "Shop without internet"),
    ("I did not receive the OTP", "I did not receive the password"),
    ("How do I contact HR?", "How do I contact a human?"),
    ("What does pwd do in Linux?", "What does password do in Linux?"),
    ("List the pros of remote work", "List the cons of remote work"),
    ("Define this term", "Define this semester"),
    ("Put the pan on the stove", "Put on the pan of the stove"),
    ("Can you play chess?", "Play chess"),
    ("Can you speak French?", "Speak French"),
    ("How do I enable the lamp?", "How do I turn on the lamp?"),
    ("When are you open?", "Are you open?"),
    ("Where is the key of the car?", "Where is the key located in the car?"),
    ("How do I get from Bern to Rome?", "How do I go from Rome to Bern?"),
    ("put money on hold", "put on money hold"),
    ("When do you open?", "When are you open?"),
    ("What day did the Berlin Wall fall?", "What year did the Berlin Wall fall?"),
    ("What time does the season start?", "When does the season start?"),
    ("How far is it from Rome to Florence by train?", "How far is it from Florence to Rome by train?"),
    ("What is the delivery date?", "What is the shipping date?"),
    ("How do you use my data?", "How do I use my data?"),
    ("How do you make your bread?", "How do I make my bread?"),
    ("Cancel my subscription", "Pause my subscription"),
    ("Which lake is the biggest?", "Which lake is the deepest?"),
    ("Which lake was the biggest?", "Which lake is the biggest?"),
    ("Is parking included?", "Is parking free?"),
    ("Do you have insurance?", "Do you offer insurance?"),
    ("How do I exit the motorway?", "How do I quit the motorway?"),
    ("Set a timer for 10 minutes", "Set a timer for 10 hours"),
    ("How much time do I have to return it?", "How much time do I need to return it?"),
    ("Will you tell my boss?", "Tell my boss"),
    ("Would you recommend a used car?", "Can you recommend a used car?"),
    ("Can you play the piano?", "Play the piano"),
    ("Can you turn off a fan without tools?", "Turn off a fan without tools"),
    ("How do you make decisions?", "How do I make decisions?"),
    ("When will my policy end?", "What year will my policy end?"),
    ("When does the pool open this summer?", "What time does the pool open this summer?"),
    ("When are you open again?", "What are your opening hours again?"),
    ("Do you have a car?", "Do you have a car available?"),
    ("Are weekends included?", "Does the price include weekends?"),
    ("How do I replace SQL with Python?", "How do I replace SQL in Python?"),
    ("How do I cancel my return flight?", "How do I cancel my round trip flight?"),
    ("How do I remove my account from this phone?", "How do I delete my account from this phone?"),
    ("Is there an app for tracking sleep?", "Do you have an app for tracking sleep?"),
    ("Do you have any openings on Tuesday?", "Are you hiring on Tuesday?"),
    ("How do I get rid of old tires?", "How do I remove old tires?"),
    ("What is the best library for logging in Python?", "What is the best library for signing in Python?"),
    ("Who can access my account?", "Who can log in to my account?"),
    (
        "How do I turn off my phone without losing notifications?",
        "How do I disable my phone without losing notifications?",
    ),
    ("Why did I stop getting the newsletter?", "Why did I unsubscribe from the newsletter?"),
    ("Who do I work for?", "Who should I work for?"),
    ("How do I update my password manager?", "How do I change my password manager?"),
    ("How do I talk to a person in a coma?", "How do I talk to a representative in a coma?"),
    ("Why does my dog wake me up at 5?", "Why does my dog set an alarm for 5?"),
    ("Can I bring my dog chocolate?", "Are dogs allowed chocolate?"),
    ("I forgot my medication, what now?", "I do not remember my medication, what now?"),
    ("Who discovered America?", "Who discovered the United States?"),
    ("I need to drink alcohol every day", "I want to drink alcohol every day"),
    ("Do I work on Friday?", "Do I work on Fridays?"),
    ("My wife does not work, can I get benefits?", "My wife will not work, can I get benefits?"),
    ("SELECT * FROM films WHERE year > 2000", "SELECT * FROM movies WHERE year > 2000"),
    ("drop table movies", "drop table films"),
    ("What does sudo reboot do?", "What does sudo restart do?"),
    ("When was Someone Like You released?", "When was Somebody Like You released?"),
)
def test_what_says_something_else_is_not(one: str, other: str):
    a, b = read(one, words()), read(other, words())
    assert not reframed(a, b) and not reframed(b, a)


@given(st.lists(st.sampled_from(sorted(set(re.findall(r"[a-z0-9']+", TEXT)))), max_size=12))
def test_a_text_that_was_read_is_read_the_same_again(said: list[str]):
    once = unvaried(said)
    assert all(once) and joined(list(said)) == joined(joined(list(said)))


def test_a_long_text_of_phrasal_verbs_is_read():
    assert joined(["turn", "the", "tv", "on", "and"] * 5000)[:3] == ["turn", "on", "the"]


def test_a_line_whose_sentence_lacks_a_slot_is_refused_with_its_words():
    with pytest.raises(ValueError, match="'what is it' has no slot"):
        Phrasebook("how big is {a}, what is it")


@pytest.mark.parametrize(
    "asks", ["Can you cancel orders?", "Can I cancel orders?", "Could you cancel orders?"]
)
def test_whether_it_is_done_at_all_is_no_wish_that_it_be_done(asks: str):
    assert moods(signature("Cancel my order"), signature(asks))
    assert not moods(signature("Cancel my order"), signature(asks.replace("orders", "my order")))
