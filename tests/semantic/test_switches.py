"""On is not off, up is not down, and to a number not by it, wherever these words stand."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.switches import levels, switches
from cachelayer.semantic.text.signature import signature

OTHER = [
    ("lights on", "turn the lights in here off"),
    ("is the heating off", "is the heating in the hall on now"),
    ("keep the pump on overnight", "leave the pump off"),
    ("turn the heating off at night and on in the morning", "have it on at night and off in the morning"),
    ("lights on when I come home and off when I leave", "lights off when I come home, on when I leave"),
    ("turn it off at noon", "turn it on at noon and off at midnight"),
]
SAME = [
    ("turn on the lamp on the desk", "switch the desk lamp on"),
    ("how much is it with 10% off", "what does it cost on Monday"),
    ("turn it off and on again", "switch it off"),
    ("turn the heating off at night and on in the morning", "in the morning turn it on, and off at night"),
    ("lights off on Monday and tv on", "tv on and lights off on Monday"),
    ("write a report on rain", "turn the fan off"),
]


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_on_and_off_are_two_answers(a: str, b: str) -> None:
    one, other = signature(a), signature(b)
    assert switches(one, other) and switches(other, one) and relations(one, other)


@pytest.mark.parametrize(("a", "b"), SAME)
def test_what_is_not_switched_is_neither_on_nor_off(a: str, b: str) -> None:
    one, other = signature(a), signature(b)
    assert not switches(one, other) and not switches(other, one)


LEVELS = [
    ("lower the volume to 20", "turn the volume up to 20"),
    ("can you lower my limit", "how do I increase my limit"),
    ("dim the bedroom lights to 30%", "brighten the lights in the bedroom to 30%"),
    ("make it louder", "turn the music down"),
    ("lower the volume to 20", "turn the volume down by 20"),
    ("raise the price to 15 euros", "increase the price by fifteen euros"),
    ("reduce the font by two points", "set the font size to two points"),
]
ONE = [
    ("turn the volume down to 20", "lower the volume to 20"),
    ("how do I get a lower rate", "how can I boost my rate"),
    ("increase the limit from 10 to 20", "raise the limit to 20 from 10"),
    ("move the call to 5 pm", "move the call by 5 pm"),
    ("move it by 3 to 5", "move it up by 3 and to 5"),
    ("turn it up and down again", "turn it down"),
]


@pytest.mark.parametrize(("a", "b"), LEVELS)
def test_up_is_not_down_nor_by_a_number_to_it(a: str, b: str) -> None:
    one, other = signature(a), signature(b)
    assert levels(one, other) and levels(other, one) and relations(one, other)


@pytest.mark.parametrize(("a", "b"), ONE)
def test_what_goes_the_same_way_or_nowhere_is_not_told_apart(a: str, b: str) -> None:
    one, other = signature(a), signature(b)
    assert not levels(one, other) and not levels(other, one)
