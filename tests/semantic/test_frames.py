"""One question in two frames is one; what differs besides, or is shown, is another question."""

from __future__ import annotations

import numpy as np
import pytest
from pairs import pairs

from cachelayer.semantic.evidence.judging import KNOWN
from cachelayer.semantic.pairs.verifier import PairVerifier, reframed
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words
from cachelayer.types import Candidate, Query

VECTOR = np.zeros(4, np.float32)
SAME = [
    ("How do I install the driver?", "How can I install the driver?"),
    ("how to install the driver", "What do I have to do to install the driver?"),
    ("How do I install the driver?", "What are the steps for installing the driver?"),
    ("How do I bring a dog on the plane?", "What's the right way to bring a dog on the plane?"),
    ("How do I cancel my order?", "I'd like to cancel my order, how do I do that?"),
    ("How do I cancel my order?", "How do I go about cancelling my order?"),
    ("How do I cancel my order?", "I'm trying to cancel my order. How do I do that?"),
    ("How do I cancel my order?", "I need to cancel my order but I don't know how to do it"),
    ("How do I open a stall?", "I'd like to open a stall, how does that work?"),
    ("How do I open a stall?", "What do I have to do if I want to open a stall?"),
    ("How do I open a stall?", "Can you walk me through opening a stall?"),
    ("How do I open a stall?", "Please guide me through how to open a stall."),
    ("Can I swim here?", "May I swim here?"),
    ("Can I pay in coins?", "Could I pay in coins?"),
    ("How do I set up a standing order?", "How can a standing order be set up?"),
    ("How do I take the medicine?", "How should the medicine be taken?"),
    ("How do I sort a list in Python?", "In Python, how can I sort a list?"),
    ("How much is a ticket to Leeds?", "What does a ticket to Leeds cost?"),
    ("How much are the tickets?", "What is the price of the tickets?"),
    ("Where do I find my payslip?", "Where can I find my payslip?"),
    ("Which version of Office do we have?", "What version of Office do we have?"),
    ("What is the best way to learn Go?", "What are the best ways to learn Go?"),
    ("What's the difference between let and var?", "What are the differences between let and var?"),
    ("What are the risks of fasting?", "What are some of the risks of fasting?"),
    ("Where do I park a bike?", "Where can we park a bike?"),
    ("The printer is jammed. What should I do?", "The printer is jammed. What can I do?"),
    ("Can I pause my subscription?", "Is there a way to pause my subscription?"),
    ("Can I pause my subscription?", "Would it be possible to pause my subscription?"),
    ("How tall is Mount Fuji?", "What is the height of Mount Fuji?"),
    ("How old are the pyramids?", "What's the age of the pyramids?"),
    ("How big is Saturn?", "What is Saturn's size?"),
    ("What is the weight of an elephant?", "How much does an elephant weigh?"),
    ("Who wrote Emma?", "Who is the author of Emma?"),
    ("Who invented the zipper?", "Who was the inventor of the zipper?"),
    ("What causes acne?", "What are the causes of acne?"),
    ("How often should I change the filter?", "How often should the filter be changed?"),
    ("Where can I buy stamps?", "Where can stamps be bought?"),
    ("How does a microwave work?", "Explain how a microwave works."),
    ("How many rivers does Colorado have?", "How many rivers are in Colorado?"),
    ("Why are oceans salty?", "Why oceans are salty?"),
    ("Why is my image so big?", "How come my image is so big?"),
    ("How are curly braces used?", "How curly braces are used?"),
    ("How are variables declared?", "How variables are declared?"),
    ("How can I get there from Rome?", "How I can get there from Rome?"),
    ("Why is the oldest gate shut?", "why the oldest gate is shut?"),
    ("How much does the red tent cost?", "How expensive is the red tent?"),
    ("How do I activate my card?", "How can I enable my card?"),
    ("Where can I watch this movie?", "Where do I watch this film?"),
    ("How do I log in to Netflix?", "How do I sign into Netflix?"),
    ("What is the fee per month?", "What is the monthly fee?"),
    ("Is the report sent daily?", "Is the report sent every day?"),
    ("Does the UK have a king?", "Does the United Kingdom have a king?"),
    ("How do I look after an old dog?", "How do I take care of an old dog?"),
    ("Where is the check-in desk?", "Where is the check in desk?"),
    ("Can I keep the rate if I move?", "If I move, can I keep the rate?"),
    ("start the fan in two hours", "In two hours, start the fan."),
    ("My code is gone. How do I log in?", "How can I log in? My code is gone."),
    ("Tell Ann that I'm at home", "tell Ann I am at home"),
    ("Why was the fee charged twice?", "Why has the fee been charged twice?"),
    ("Do I need a permit to fish?", "Is a permit required to fish?"),
    ("What gloves do I need for acids?", "Which gloves are needed for acids?"),
    ("How much sugar does the dough need?", "How much sugar is needed for the dough?"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_question_in_two_frames_is_one(one: str, other: str):
    a, b = read(one, words()), read(other, words())
    assert reframed(a, b) and reframed(b, a)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_it_is_as_sure_as_the_same_words_are(one: str, other: str):
    ((sure, guard),) = PairVerifier().judge(Query(one, VECTOR), [Candidate(1, 0.95, other, "an answer")])
    assert 1.0 - sure <= KNOWN and not guard


@pairs(
    ("How do I install the driver?", "How can I install the drivers on Linux?"),
    ("How do I install the driver?", "Can I install the driver?"),
    ("How do I verify a customer?", "How do you verify a customer?"),
    ("How do I get better at chess?", "How can I be better at chess?"),
    ("Why are people who own boats rich?", "Why people own boats who are rich?"),
    ("How tall are the trees?", "How are tall trees?"),
    ("How are dangerous dogs trained?", "How dangerous are trained dogs?"),
    ("Can I smoke here?", "Am I allowed to smoke here?"),
    ("If I move, can I keep the rate?", "If I keep the rate, can I move?"),
    ("Is it safe? Not now.", "Not now. Is it safe?"),
    ("In case of fire, who do I call?", "Who do I call, in case of fire or flood?"),
    ("How do I hack my account?", "How can my account be hacked?"),
    ("How do I track my phone?", "How could my phone be tracked?"),
    ("How do I damage my car?", "How can my car get damaged?"),
    ("How do I delete a file?", "How can a file get deleted?"),
    ("How long can I hold a person?", "How long can a person be held?"),
    ("When can I fire an employee?", "When can an employee be fired?"),
    ("How do I forget my password?", "How could I forget my password?"),
    ("Can I have a fever?", "Could I have a fever?"),
    ("Can I be pregnant?", "Could I be pregnant?"),
    ("How do I cough?", "What should I do if I need to cough?"),
    ("How do I quit?", "What should I do if I want to quit?"),
    ("How do I buy a pump?", "I want to buy a pump, how does it work?"),
    ("How do I log in?", "I'm trying to log in but I don't know my password"),
    ("How do I log in?", "I want to log in but I don't know if I can"),
    ("How do I get to the museum?", "Walk me through the museum"),
    ("How do we lose the data?", "How could we lose the data?"),
    ("Where do I live?", "Where can I live?"),
    ("How do I create an account?", "How do I open an account?"),
    ("How do I cancel my phone?", "How do I cancel my telephone?"),
    ("What do I do in Rome?", "What can I do in Rome?"),
    ("Which of them is it?", "What of them is it?"),
    ("How do I reach my team?", "How do we reach our team?"),
    ("What are risks of fasting?", "What are some risks of fasting?"),
    ("How do I learn Go?", "What is the best way to learn Go?"),
    ("How much is a ticket?", "What did a ticket cost?"),
    ("Translate: how do I help you?", "Translate: how can I help you?"),
    ("Is it right to say how do I ask?", "Is it right to say how can I ask?"),
    ("In Java, how do I call Python?", "In Python, how do I call Java?"),
    ("How do I block my card?", "How can my card be unblocked?"),
    ("How do I pay the bill?", "How does the bill get paid?"),
    ("How tall is Mount Fuji?", "What is the depth of Mount Fuji?"),
    ("Who wrote Emma?", "Who is the publisher of Emma?"),
    ("Who owned Volvo?", "Who is the owner of Volvo?"),
    ("How often should I change the filter?", "How often should the filter be cleaned?"),
    ("Can I be fired?", "Can I fire?"),
    ("How do I activate my phone?", "How do I turn on my phone?"),
    ("How do I pick a lock?", "How do I choose a lock?"),
    ("What is a purchase order?", "What is a buy order?"),
    ("Who stars in Mom?", "Who stars in Mother?"),
    ("When is Baggage on?", "When is luggage on?"),
    ("What does the word kid mean?", "What does the word child mean?"),
    ("What do Americans call a film?", "What do Americans call a movie?"),
    ("Give me a synonym for baggage", "Give me a synonym for luggage"),
    ("What is the fee per month?", "What is the fee this month?"),
    ("How do I register a car?", "How do I sign up a car?"),
    ("What is this movie character?", "What is this character?"),
)
def test_what_differs_besides_the_frame_is_another_question(one: str, other: str):
    a, b = read(one, words()), read(other, words())
    assert not reframed(a, b) and not reframed(b, a)


def test_no_frame_is_a_mere_habit_of_typing():
    """Repeats are outside of the error budget; what is asked in another frame is not."""
    asked, other = "How do I install the driver?", "How can I install the driver?"
    near = [Candidate(1, 0.95, other, "an answer")]
    assert PairVerifier().repeated(Query(asked, VECTOR), near) is None


def test_guards_read_the_question_as_it_was_asked():
    asked, other = "How do I move 5 files?", "How can I move 6 files?"
    ((sure, guard),) = PairVerifier().judge(Query(asked, VECTOR), [Candidate(1, 0.99, other, "an answer")])
    assert (sure, guard) == (0.0, "numbers")
