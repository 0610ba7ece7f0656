"""A template filled in otherwise is another request, however long the template."""

from __future__ import annotations

import pytest
from pairs import judge

TEMPLATE = (
    "You advise visitors of a zoo in the north of the country. Be brief, be friendly and never promise what the "
    "rules do not say. The visitor came with {who}, is interested in {what} and has {time} left. Write three "
    "sentences that they can read on their phone, and close with the way to the exit."
)
BASE = {"who": "a toddler", "what": "penguins", "time": "an afternoon"}


@pytest.mark.parametrize(
    "other",
    [{"who": "a grandmother"}, {"what": "giraffes"}, {"what": "penguins and owls"}, {"time": "a morning"}],
)
def test_one_slot_filled_in_otherwise_is_another_request(other: dict[str, str]) -> None:
    a, b = TEMPLATE.format(**BASE), TEMPLATE.format(**{**BASE, **other})
    for p, guard in (judge(a, b), judge(b, a)):
        assert p == 0.0 and guard


def test_a_slip_of_the_pen_and_a_courtesy_in_a_long_text_are_none() -> None:
    text = TEMPLATE.format(**BASE)
    assert judge(text, text.replace("interested", "intrested"))[0] > 0.9
    assert judge(text, f"Hello, please: {text} Thanks!")[0] > 0.9
