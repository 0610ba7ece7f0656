"""Orders of one amount are two where each names a thing of its own, however they are worded."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.measured import measured
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.words import words

OTHER = [
    ("increase pizza timer by 5 minutes", "add 5 minutes to the timer in the kitchen"),
    ("add 10 dollars to the taxi budget", "please increase the clothing budget by 10 dollars"),
    ("increase the pizza timer by 2 hours", "could you add 2 hours to the kitchen timer"),
    ("order 3 boxes of pens", "send me 3 boxes of paper"),
    ("how many grams is 2 cups of flour", "convert two cups of sugar to grams"),
    ("protein in 200 g of tofu", "how much protein do 200 grams of beans have"),
    ("how much does 1 liter of petrol weigh", "the weight of 1 litre of honey"),
]
SAME = [
    ("increase pizza timer by 5 minutes", "add 5 minutes to the pizza timer"),
    ("set the bedroom to 50% brightness", "change the brightness of the bedroom to 50%"),
    ("start a 10 minute timer", "set a timer for 10 minutes"),
    ("give me three reasons for the tunnel", "list 3 reasons for the tunnel"),
    ("add two hours to the trip", "add two hours to the journey"),
    ("turn the radio down to 3", "lower the radio to 3 please"),
    ("how do I add 5 minutes to the pizza timer", "can I extend the timer in the kitchen by 5 minutes"),
    ("meetings of 3 hours", "appointments that take 3 hours"),
    ("are ten days of leave paid", "do I get paid for ten days of vacation"),
    ("price of 5 kg of beef", "what does 5 kg of meat cost"),
    ("find bricks 3 inches wide", "select blocks with a width of 3 inches"),
    ("add milk to the list of the kitchen", "put pizza on the shopping list"),
]


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_one_amount_for_two_things_is_two_orders(a: str, b: str) -> None:
    one, other = read(a, words()), read(b, words())
    assert measured(one, other, words()) and measured(other, one, words())


@pytest.mark.parametrize(("a", "b"), SAME)
def test_how_an_amount_is_ordered_says_nothing_nor_does_it_without_one(a: str, b: str) -> None:
    one, other = read(a, words()), read(b, words())
    assert not measured(one, other, words()) and not measured(other, one, words())
