"""Who asks has to pay in one text and is paid in the other."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.payers import payers


@pairs(
    ("my bill says I owe 90, when is it due?", "my bill shows a credit of 90, when do I get it?", True),
    ("when do I have to pay the deposit?", "when will I receive my deposit?", True),
    ("do I have to pay for the internship?", "will I be paid for the internship?", True),
    ("do I pay interest on it?", "do I get interest on it?", True),
    ("when do I have to pay it?", "by when must I pay it?", False),
    ("how much do I owe you?", "how much must I pay?", False),
    ("how do I pay my card bill?", "how is a credit card bill paid?", False),
    ("when do I get my bonus?", "when is my bonus paid?", False),
    ("how much must I pay for a ticket?", "how much do I get a ticket for?", False),
    ("I was charged twice, how do I get a refund?", "I pay twice, what now?", False),
    ("what do I get if I pay now?", "what do I pay now?", False),
)
def test_who_pays_is_not_paid(one: str, other: str, differ: bool):
    assert apart(payers, one, other) is differ
