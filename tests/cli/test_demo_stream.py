"""Traffic looks like traffic: seeded, skewed, repeating itself, and every request knows its right answer."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachelayer.cli.demo.corpus import Corpus, label, load
from cachelayer.cli.demo.stream import PERSONAL, Asked, Census, census, traffic

CORPUS = load()


def test_equal_seeds_give_equal_traffic_and_others_do_not(corpus: Corpus) -> None:
    assert traffic(corpus, 300, 5) == traffic(corpus, 300, 5)
    assert traffic(corpus, 300, 5) != traffic(corpus, 300, 6)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_thousand_requests_hold_repeats_meanings_and_news_in_documented_shares(
    corpus: Corpus, seed: int
) -> None:
    counted = census(traffic(corpus, 2000, seed))
    assert counted.exact + counted.meaning + counted.fresh == 2000
    assert 0.25 <= counted.exact / 2000 <= 0.40
    assert 0.35 <= counted.meaning / 2000 <= 0.50
    assert 0.18 <= counted.fresh / 2000 <= 0.30


def test_popularity_is_skewed_as_documented(corpus: Corpus) -> None:
    general = [asked for asked in traffic(corpus, 6000, 1) if asked.question.kind != "personal"]
    shares = [n / len(general) for _, n in Counter(asked.label for asked in general).most_common()]
    expected = [1 / (rank + 5) for rank in range(1, len(corpus.articles) + 1)]
    assert shares[0] == pytest.approx(expected[0] / sum(expected), rel=0.25)
    assert sum(shares[:10]) == pytest.approx(sum(expected[:10]) / sum(expected), rel=0.1)
    assert len(general) / 6000 == pytest.approx(1 - PERSONAL, abs=0.02)


def test_order_numbers_stand_in_text_and_label(corpus: Corpus) -> None:
    for asked in traffic(corpus, 1000, 4):
        assert "{" not in asked.text
        orders = re.findall(r"WK-\d{5}", asked.text)
        expected = label(asked.question.article, orders[0] if orders else "")
        assert asked.label == expected
        assert bool(orders) == (asked.question.kind == "personal")


@given(st.integers(0, 10_000))
def test_no_surface_changes_a_number_or_drops_a_word(seed: int) -> None:
    for asked in traffic(CORPUS, 20, seed):
        if asked.question.kind != "personal":
            assert _numbers(asked.text) == _numbers(asked.question.text)
            assert len(asked.text.split()) >= len(asked.question.text.split())


def test_a_census_tells_repeats_from_other_words_and_news(corpus: Corpus) -> None:
    question = corpus.questions[0]
    stream = [Asked(text, mark, question) for text, mark in (("a", "x"), ("a", "x"), ("b", "x"), ("c", "y"))]
    assert census(stream) == Census(requests=4, distinct=3, exact=1, meaning=1, fresh=2)


def _numbers(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d+", text))
