"""What a text shows as an example, it shows mark for mark."""

from __future__ import annotations

from pairs import judge, pairs, repeats


@pairs(
    ("Fix the punctuation: where are you", "Fix the punctuation: where are you?"),
    ("Proofread this: No I can not go", "Proofread this: No, I can not go"),
    ("Capitalize correctly: i live in paris", "Capitalize correctly: I live in Paris"),
    ("Correct any mistakes: i dont know him", "Correct any mistakes: I don't know him"),
    ("convert this to lowercase: HELLO World", "convert this to lowercase: hello world"),
    ("How many commas are in this? a, b, c", "How many commas are in this? a b c"),
    ('Is "i" capitalized correctly here: Me and I', 'Is "i" capitalized correctly here: me and I'),
    (
        "Does this sentence need a comma?\nIf it rains we stay",
        "Does this sentence need a comma?\nIf it rains, we stay",
    ),
    ('What is meant by "let\'s eat grandma"?', 'What is meant by "let\'s eat, grandma"?'),
    ("There is a typo in my name: jon", "There is a typo in my name: Jon"),
    ("Is recieve spelled correctly?", "Is receive spelled correctly?"),
    ("Did I spell neccessary right?", "Did I spell necessary right?"),
    ("Check the spelling of wierd", "Check the spelling of weird"),
    ("Is it spelled seperate?", "is it spelled separate"),
    ("what does ; do in a shell", "what does , do in a shell"),
    ("When should I use \u201c and \u201d in a text", "When should I use \u2018 and \u2019 in a text"),
)
def test_another_comma_capital_or_mark_is_another_example(one: str, other: str) -> None:
    assert judge(one, other)[0] == judge(other, one)[0] == 0.0
    assert not repeats(one, other)


@pairs(
    ("how do i turn off grammar checking in word", "How do I turn off grammar checking in Word?"),
    ("Check grammar: Its a nice day", "check grammar: Its a nice day"),
    ('When do I need a comma before "and"?', 'when do I need a comma before "and"'),
    ('Where is the "Dark Mode" switch?', "where is the \u201cdark mode\u201d switch"),
    ("hello , how do I reset the hub", "hello, how do I reset the hub"),
    ("there is a typo in my name. how do i fix it", "There is a typo in my name. How do I fix it?"),
    ("I have two letters: how do i send them", "i have two letters, how do I send them?"),
    ("How do you spell accomodate?", "How do you spell accommodate?"),
    ("What does definately mean?", "What does definitely mean?"),
)
def test_the_same_habits_mean_nothing_where_nothing_is_shown(one: str, other: str) -> None:
    assert judge(one, other)[0] > 0.99 < judge(other, one)[0]
