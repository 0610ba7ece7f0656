"""A question whether something is so is answered by no reason, moment or span, nor one for a reason by any of these."""

from __future__ import annotations

from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.inquiries import inquiries
from cachelayer.semantic.guards.permissions import permissions


@pairs(
    ("Is fried food unhealthy?", "Why is fried food unhealthy?"),
    ("is my card blocked", "why is my card blocked"),
    ("Must I pay tax on it?", "Why must I pay tax on it?"),
    ("Is there a fee for transfers?", "Why is there a fee for transfers?"),
    ("Do you deliver to Norway?", "How long does delivery to Norway take?"),
    ("Does the number 12 still stop at Mill Lane?", "When did the number 12 last stop at Mill Lane?"),
    ("Should I change my tyres?", "How often should I change my tyres?"),
    ("Can I bring guests?", "How many guests can I bring?"),
    ("Why did the meeting move to ten?", "Since when is the meeting at ten?"),
    ("Is the shop open on Sunday?", "When is the shop open on Sunday?"),
    ("Why does shipping take so long?", "How long does shipping take?"),
    ("Should I learn Rust?", "How do I learn Rust?"),
    ("Do I need a visa for Peru?", "Where do I get a visa for Peru?"),
    ("Is it allowed to camp in the park?", "Where in the park do people camp?"),
    ("Is migraine hereditary?", "What is a migraine?"),
    ("do gantt charts work", "what are gantt charts"),
    ("How often should I water basil?", "How much should I water basil?"),
    ("How many times a day do I feed a kitten of 8 weeks?", "How much do I feed an 8 week old kitten?"),
    ("How frequently does a car need oil?", "how much oil does the car need"),
    ("Can I change the name on my ticket?", "whose name is on my ticket"),
    ("Can we drive the van?", "Who drives the van?"),
    ("Is the new gym any good?", "Where is the new gym?"),
    ("are your labs old", "where are your labs"),
)
def test_whether_why_and_when_are_other_questions(one: str, other: str):
    assert apart(inquiries, one, other)


@pairs(
    ("Can I cancel my order?", "How can I cancel my order?"),
    ("Can you tell me why my card is blocked?", "Why is my card blocked?"),
    ("Do you know when the shop opens?", "When does the shop open?"),
    ("Is there a fee for transfers?", "How much is the fee for transfers?"),
    ("Is the gym near here?", "Where is the gym?"),
    ("Is there a gym?", "Where is a gym?"),
    ("Is my parcel lost?", "Where is my parcel?"),
    ("Does delivery take long?", "How long does delivery take?"),
    ("Is parking free?", "How much does parking cost?"),
    ("Is the shop open on Sunday?", "When is the shop open?"),
    ("Is there a bus to the airport?", "Where does the bus to the airport leave?"),
    ("When and why do leaves fall?", "Why do leaves fall?"),
    ("Is it possible to cancel my order?", "How do I cancel my order?"),
    ("May I change my seat?", "How do I change my seat?"),
    ("Is camping allowed in the park?", "Where in the park is camping allowed?"),
    ("Do you know what a migraine is?", "What is a migraine?"),
    ("Should I ask how to learn Rust, or how do I?", "How do I learn Rust?"),
    ("Does it matter what the price is?", "What is the price?"),
    ("Does coffee affect sleep?", "How does coffee affect sleep?"),
    ("Can you tell me the weather today?", "What is the weather?"),
    ("What is the reason for the delay?", "Why is there a delay?"),
    ("Reset my password", "How do I reset my password?"),
    ("", "Why?"),
    ("Can anybody help me with tax?", "who can help me with tax"),
)
def test_one_may_ask_for_the_same_otherwise(one: str, other: str):
    assert not apart(inquiries, one, other)


@pairs(
    ("Do I have to register the drone?", "Is it worth registering the drone?"),
    ("Can I legally record the call?", "Should I record the call?"),
    ("Do pupils need a calculator?", "May pupils use a calculator?"),
    ("Should I fast before the scan?", "Is it safe to fast before the scan?"),
    ("Are tenants required to be insured?", "Is it wise for tenants to be insured?"),
    ("Must I register the drone?", "Is it wise to register the drone?"),
    ("Must I register the drone?", "May I register the drone?"),
    ("Shall I register the drone?", "Must I register the drone?"),
    ("When can I prune roses?", "When should I prune roses?"),
    ("When may I leave?", "When do I have to leave?"),
    ("Who may sign the form?", "Who must sign the form?"),
)
def test_leave_duty_advice_and_safety_are_other_questions(one: str, other: str):
    assert apart(permissions, one, other)


@pairs(
    ("Can I bring my dog?", "Am I allowed to bring my dog?"),
    ("Do I need a visa?", "Is a visa required?"),
    ("Can I eat the peel?", "Is it safe to eat the peel?"),
    ("Can you recommend a hotel?", "Do you recommend a hotel?"),
    ("Is it possible to pay by card?", "Could we pay by card?"),
    ("How do I register?", "Do I have to register?"),
    ("Must I register the drone?", "Do I have to register the drone?"),
    ("When can you come?", "When should you come?"),
    ("When do you open?", "When can I come?"),
    ("", "Must I?"),
)
def test_each_may_be_asked_for_in_many_words(one: str, other: str):
    assert not apart(permissions, one, other)


@given(
    st.lists(
        st.sampled_from(
            "is are why when how long often there free card do you not can must should have to safe ?".split()
        ),
        max_size=9,
    )
)
def test_no_text_asks_for_something_else_than_itself(said: list[str]):
    assert not apart(inquiries, " ".join(said), " ".join(said))
    assert not apart(permissions, " ".join(said), " ".join(said))


def test_whether_it_is_so_is_not_what_can_be_done():
    assert apart(inquiries, "Is a fever of 39 dangerous?", "What can I take for a fever of 39?")
    assert apart(inquiries, "Does it rain a lot in Vienna?", "What can I do in Vienna when it rains?")
    assert not apart(inquiries, "Does anything help against hiccups?", "What can I do against hiccups?")
    assert apart(inquiries, "What happens if I change my plan?", "Do I have to pay to change my plan?")
    assert not apart(inquiries, "What happens if I change my plan?", "Do I lose my data if I change my plan?")
    assert apart(inquiries, "Do I need an API key?", "In which cases do I need an API key?")
    assert not apart(inquiries, "Is there something I can take for a fever?", "What can I take for a fever?")
