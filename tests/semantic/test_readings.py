"""What is kept of a text is what was read of it, and what is kept is bounded."""

from dataclasses import fields

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from cachelayer.semantic.reading import read
from cachelayer.semantic.readings import HOT, Readings
from cachelayer.semantic.words import words

TEXTS = st.lists(
    st.sampled_from("Pay 5.50 euros to Ann from my card, not her's on Friday! a_b1 👍 +".split())
)


@given(st.one_of(st.text(max_size=60), TEXTS.map(" ".join)))
@example("half a pair \ud800")
@example("")
def test_a_text_unpacked_reads_as_when_it_was_read(text: str) -> None:
    kept, fresh = Readings(2**20), read(text, words())
    kept.get(text, words())
    kept._hot.clear()
    again = kept.get(text, words())
    kept._hot.clear()
    assert again.signature == fresh.signature == kept.signature(text, words())
    for field in fields(fresh):
        mine, other = getattr(again, field.name), getattr(fresh, field.name)
        assert type(mine) is type(other)
        assert np.array_equal(mine, other) if isinstance(mine, np.ndarray) else mine == other


def test_the_least_recently_used_go_first() -> None:
    kept = Readings(20_000)
    for i in range(100):
        kept.get("the first of all", words())
        kept.get(f"text number {i} of many", words())
    assert kept.bytes <= 20_000
    assert 5 < len(kept) < 40
    assert "the first of all" in kept._packed
    assert len(kept._hot) <= HOT
    kept.clear()
    assert not len(kept) and not kept._hot and not kept.bytes
