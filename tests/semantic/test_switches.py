"""On is not off, wherever these words stand; 'on' and 'off' that switch nothing say nothing."""

from __future__ import annotations

import pytest

from cachelayer.semantic.guards.relations import relations
from cachelayer.semantic.guards.switches import switches
from cachelayer.semantic.text.signature import signature

OTHER = [
    ("lights on", "turn the lights in here off"),
    ("is the heating off", "is the heating in the hall on now"),
    ("keep the pump on overnight", "leave the pump off"),
]
SAME = [
    ("turn on the lamp on the desk", "switch the desk lamp on"),
    ("how much is it with 10% off", "what does it cost on Monday"),
    ("turn it off and on again", "switch it off"),
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
