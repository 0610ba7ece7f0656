"""In code, formulas, patterns and data brackets, case and indentation are what differs; in prose they are habits."""

from __future__ import annotations

import pytest
from apart import apart
from hypothesis import given
from hypothesis import strategies as st
from pairs import pairs

from cachelayer.semantic.guards.plain import identifiers, veto
from cachelayer.semantic.text.marks import formal
from cachelayer.semantic.text.signature import signature


@pairs(
    ("why does len(xs) fail", "why does len[xs] fail"),
    ("what is xs[2:]", "what is xs[:2]"),
    ("is [3, 4] hashable", "is (3, 4) hashable"),
    ("simplify (p + q) * r", "simplify p + q * r"),
    ("simplify (p - q) - r", "simplify p - (q - r)"),
    (r"what does \s match", r"what does \S match"),
    ("what does [xyz] match", "what does (xyz) match"),
    ("explain sort -r", "explain sort -R"),
    ("explain du -s", "explain du -h"),
    ("run it with --dry", "run it with dry"),
    ("what does rm -r out/ do", "what does rm -r out / do"),
    ("what does rm -r ./* do", "what does rm -r . /* do"),
    ("what does del *.* do", "what does del * .* do"),
    ("what is in ..", "what is in here"),
    ("is it in .profile", "is it in profile"),
    ("the tour was ok :(", "the tour was ok"),
    ('is {"k": 1} valid', 'is {"k": 1,} valid'),
    ("does this run?\nwhile x:\n  f()\n  g()", "does this run?\nwhile x:\n  f()\ng()"),
    ("open plan.xls", "open plan.xlsx"),
    ("what is first_name", "what is first-name"),
    ("what does shift+a do", "what does shift+b do"),
    ("fetch http://example.com/Docs", "fetch http://example.com/docs"),
    ("explain `ls -S`", "explain `ls -s`"),
    ("I got a B- in maths", "I got a B in maths"),
    ("what is 6!", "what is 6"),
    ('he wrote ":(" to me', 'he wrote ":)" to me'),
    ("pay in €", "pay in $"),
    ("What is IT in law?", "What is it in law?"),
    ("Can I bath in Bath?", "Can I bath in bath?"),
    ("what does k-- return", "what does k++ return"),
    ("run it at 15 2 * * 3", "run it at 2 15 * * 3"),
    ("is 030 55 44 his number?", "is 030 44 55 his number?"),
)
def test_marks_of_formal_text_are_no_habit_of_writing(one: str, other: str) -> None:
    assert veto(signature(one), signature(other)) == veto(signature(other), signature(one)) == "identifiers"


@pairs(
    ("where is the exit (the big one)?", "where is the exit, the big one"),
    ("which item(s) are missing", "which items are missing"),
    ("what is the VAT - and when?", "what is the VAT and when"),
    ("I like it :)", "I like it"),
    ("why does len(xs) fail?", "Why does len(xs) fail"),
    ('what does "len(xs)" do', "what does len(xs) do"),
    ("well... no", "well no"),
    ("change 80€ for me", "change €80 for me"),
    ("change 80 € for me", "change 80€ for me"),
    ("pay $ 20 now", "pay $20 now"),
    ("Do I need a visa for the US?", "do I need a visa for the US"),
    ("Is tea from China good?", "is tea from china good"),
    ("Is tea from the US good?", "IS TEA FROM THE US GOOD?"),
    ("a seven-year-old girl", "a 7 year old girl"),
    ("a ten-day tour of 3 towns", "a 10-day tour of 3 towns"),
    ("thirty-one guests", "31 guests"),
    ("a million stars", "1000000 stars"),
    ("two hundred thousand bees", "200,000 bees"),
    ("fetch HTTP://Example.com/docs", "fetch http://example.com/docs."),
)
def test_marks_of_prose_are_a_habit_of_writing(one: str, other: str) -> None:
    assert veto(signature(one), signature(other)) == ""


@given(st.text("abz ,.!?'\n", max_size=60))
def test_prose_has_no_formal_part(text: str) -> None:
    assert formal(text.replace(" .", " ").replace("\n ", " ")) == ""


@pytest.mark.parametrize(
    "other", ["change 80£ for me", "change 80 $ for me", "change £80 for me", "change 80 for $ me"]
)
def test_a_sign_of_money_behind_its_number_is_its_unit(other: str) -> None:
    assert veto(signature("change 80 € for me"), signature(other)) in ("numbers", "identifiers")
    assert (
        signature("change 80€ for me").numbers == signature("change €80 for me").numbers == (("80", "eur"),)
    )


@pairs(
    ("the best movies / series of 1999", "the best movies, series of 1999"),
    ("what are good shows/ plays", "what are good shows, plays"),
)
def test_a_stroke_between_words_is_no_sign(one: str, other: str):
    assert not apart(identifiers, one, other)


@pairs(
    ("what is x / y", "what is x y"),
    ("what is 7 / 8", "what is 7 8"),
    ("open /etc/hosts", "open etc/hosts"),
    ("revenue / costs", "revenue * costs"),
)
def test_elsewhere_a_stroke_is_one(one: str, other: str):
    assert apart(identifiers, one, other)
