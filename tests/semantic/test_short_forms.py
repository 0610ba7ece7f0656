"""A day is a day in whatever form it is written, and what everybody writes for a word is that word."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest
from apart import apart
from pairs import pairs

from cachelayer.semantic import guards
from cachelayer.semantic.guards.plain import dates
from cachelayer.semantic.text.lexemes import SHORT
from cachelayer.semantic.text.manners import PLEASE
from cachelayer.semantic.text.signature import signature


@pairs(
    ("What is on today's menu?", "What is on tomorrow's menu?"),
    ("the minutes of Tuesday's meeting", "the minutes of Wednesday's meeting"),
    ("summarize last week's report", "summarize this week's report"),
    ("May's first week", "June's first week"),
)
def test_another_day_is_told_in_its_possessive_form_too(one: str, other: str):
    assert apart(dates, one, other)


@pairs(
    ("What is on today's menu?", "What is on the menu today?"),
    ("this year's budget", "the budget of this year"),
    ("is it closed this wk", "Is it closed this week?"),
    ("a table for tonite", "a table for tonight"),
)
def test_the_same_day_in_another_form_is_no_conflict(one: str, other: str):
    assert not apart(dates, one, other)


@pytest.mark.parametrize(("short", "long"), SHORT.items())
def test_a_short_form_is_its_word(short: str, long: str):
    a, b = signature(f"my {short} again"), signature(f"my {long} again")
    assert a.words == b.words and a.dates == b.dates and a.content == b.content


def test_no_guard_waits_for_a_short_form_which_is_read_as_its_word():
    for module in pkgutil.iter_modules(guards.__path__, f"{guards.__name__}."):
        for name, listed in vars(import_module(module.name)).items():
            if isinstance(listed, frozenset):
                assert not listed.intersection(SHORT) - PLEASE, (module.name, name)
