"""What is due a month is not what is due a year, however the period is named."""

from __future__ import annotations

from apart import apart
from pairs import pairs

from cachelayer.semantic.guards.units import units


@pairs(
    ("what's the yearly fee of the card", "what does the card cost per month", True),
    ("the daily dose of zinc", "how much zinc should I take a week", True),
    ("hourly pay of a waiter", "a waiter's pay each month", True),
    ("how much may one take per dose", "how much may one take a day", True),
    ("the annual report", "the monthly report", True),
    ("what's the yearly fee of the card", "what does the card cost per annum", False),
    ("how many days does delivery take", "within how many working days is it delivered", True),
    ("is it delivered in 3 days", "delivery within 3 business days", True),
    ("how many business days does it take", "it takes how many working days", False),
    ("the monthly rent", "the rent each month", False),
    ("how many vacation days do I get", "my annual leave", False),
    ("price per head", "price per person", False),
    ("monthly pay of a nurse per hospital", "what a nurse earns a month", False),
)
def test_another_period_is_another_rate(one: str, other: str, differ: bool):
    assert apart(units, one, other) == differ
