"""In which form an answer is wanted, and from whom: 'in Italian' / 'the Italian poem', 'teach me' / 'I teach you'."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.demands import languages
from cachelayer.semantic.guards.relations import relations, turned
from cachelayer.semantic.text.signature import signature


@pairs(
    ("summarize the letter in Italian", "summarize the Italian letter", True),
    ("explain this poem in Greek", "explain this Greek poem", True),
    ("a poem about Latin", "a poem in Latin", True),
    ("convert the sheet to Excel", "convert the Excel sheet", True),
    ("rewrite my code in Java", "rewrite my Java code", True),
    ("explain the schema as JSON", "explain the JSON schema", True),
    ("a poem in Latin", "a Latin poem", False),
    ("send the invoice in English", "send the English invoice", False),
    ("is there a menu in French", "is there a French menu", False),
    ("convert the sheet to Excel", "turn the sheet into an Excel file", False),
    ("write docs in Python", "write Python docs", False),
    ("explain the query in SQL", "explain the SQL query", False),
)
def test_a_form_that_is_wanted_is_not_one_that_is_there(one: str, other: str, differ: bool):
    assert apart(languages, one, other) == differ
    assert not differ or relations(signature(one), signature(other))


@pairs(
    ("teach me chess", "let me teach you chess", True),
    ("tell me a joke", "I will tell you a joke", True),
    ("send me the invoice", "I'll send you the invoice", True),
    ("let me know how it works", "tell me how it works", False),
    ("let me cancel it", "cancel it", False),
    ("I met Anna, what do I say?", "Anna met me, what do I say?", False),
    ("show me how to show hidden files", "how do I show hidden files", False),
    ("they can't hear me but I can hear them", "I can hear them but they can't hear me", False),
)
def test_an_offer_is_no_wish(one: str, other: str, differ: bool):
    assert apart(turned, one, other) == differ
