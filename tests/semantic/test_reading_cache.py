"""What is kept of a text is what was read of it, and what is kept is bounded."""

import subprocess
import sys
from copy import copy

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from cachelayer.semantic.text.lexemes import Lexeme, Lexemes
from cachelayer.semantic.text.reading import Reading, read
from cachelayer.semantic.text.reading_cache import HOT, ReadingCache
from cachelayer.semantic.text.signature import signature
from cachelayer.semantic.text.words import words

TEXTS = st.lists(
    st.sampled_from(
        "Pay 5.50 euros to Ann from my card, not her's on Friday! a_b1 👍 + twenty five hundred % & UNLOCK it’s "
        "third NEXT week 2nd 5kg ` - und für must all days I'm".split()
    )
).map(" ".join)
ANY = st.one_of(st.text(max_size=60), TEXTS)


class Plodding(Lexemes):
    """Takes the long way with every word."""

    def __getitem__(self, low: str) -> Lexeme:
        found = copy(super().__getitem__(low))
        found.plain = False
        return found


@given(ANY)
def test_the_quick_way_through_a_text_reads_what_the_long_way_reads(text: str) -> None:
    assert signature(text, words().lexemes) == signature(text, Plodding({})) == signature(text)


@given(ANY)
@example("half a pair \ud800")
@example("")
def test_a_text_kept_reads_as_when_it_was_read(text: str) -> None:
    kept, fresh = ReadingCache(2**20), read(text, words())
    kept.get(text, words()).says(fresh)
    kept._hot.popitem()[1].signature.cool()
    again = kept.get(text, words())
    assert again.signature == fresh.signature
    assert again.signature.vocabulary == frozenset(fresh.signature.words)
    for name in set(Reading.__annotations__) - {"signature"}:
        mine, other = getattr(again, name), getattr(fresh, name)
        assert type(mine) is type(other)
        assert np.array_equal(mine, other) if isinstance(mine, np.ndarray) else mine == other


def test_the_least_recently_used_go_first() -> None:
    kept = ReadingCache(20_000)
    for i in range(100):
        kept.get("the first of all", words())
        kept.get(f"text number {i} of many", words())
    assert kept.bytes <= 20_000
    assert 5 < len(kept) < 40
    assert "the first of all" in kept._kept
    assert kept.hot == sum(len(r.signature.words) for r in kept._hot.values()) <= HOT
    assert kept._hot.keys() <= kept._kept.keys()
    kept.clear()
    assert not len(kept) and not kept._hot and not kept.bytes


def test_a_text_larger_than_all_that_may_be_kept_is_read_and_not_kept() -> None:
    kept = ReadingCache(20_000)
    kept.get("a short one", words())
    assert kept.get("12 words " * 1000, words()).signature.numbers
    assert kept.bytes <= 20_000 and kept._hot.keys() <= kept._kept.keys()


MEASURED = """
import tracemalloc
from cachelayer.semantic.text.reading import read
from cachelayer.semantic.text.reading_cache import ReadingCache
from cachelayer.semantic.text.words import words

texts = [f"How do I move {i} from Anna{i} to my savings account at the Bank of Essex?" for i in range(1500)]
for text in texts[:50]:
    read(text, words())
kept = ReadingCache(2**24)
tracemalloc.start()
for text in texts:
    kept.get(f"{text} ", words())
print(kept.bytes, tracemalloc.get_traced_memory()[0])
"""


def test_bytes_are_counted_truthfully() -> None:
    """In a process of its own: what a used one has on its free lists, or other threads allocate, counts as well."""
    done = subprocess.run([sys.executable, "-c", MEASURED], stdout=subprocess.PIPE, check=True)
    counted, taken = map(int, done.stdout.split())
    assert 0.9 * taken < counted < 1.4 * taken


def test_words_that_are_not_public_are_not_remembered() -> None:
    lexemes = words().lexemes
    signature("Why did Zbigniewa42 owe the xqzzle's heir money?", lexemes)
    assert "money" in lexemes and "why" in lexemes
    assert not {"zbigniewa42", "xqzzle's", "xqzzle"} & lexemes.keys()
