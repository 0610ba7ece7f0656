"""The bundled corpus keeps its promises: size, truth, and traps that really are traps."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

from cachelayer.cli.demo.corpus import Corpus

CONTRASTS = {"opposite", "number", "date", "plan", "place", "product", "role", "order", "negation"}
KINDS = {"plain", "paraphrase", "typo", "casual", "formal", "other-language", "trap"}


def test_there_are_enough_articles_and_questions_of_every_kind(corpus: Corpus) -> None:
    kinds = Counter(question.kind for question in corpus.questions)
    assert len(corpus.articles) >= 60
    assert len(corpus.questions) >= 400
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 10
    assert kinds["trap"] >= 100


def test_articles_have_60_to_150_words_and_facts(corpus: Corpus) -> None:
    for article in corpus.articles.values():
        assert 60 <= len(article.body.split()) <= 150, article.id
        assert re.search(r"\d", article.body), article.id
        assert len(article.examples) >= 3, article.id
    assert len({article.title for article in corpus.articles.values()}) == len(corpus.articles)


def test_every_question_names_an_article_and_every_article_has_four_questions(corpus: Corpus) -> None:
    per_article = Counter(question.article for question in corpus.questions)
    assert set(per_article) == set(corpus.articles)
    assert min(per_article.values()) >= 4


def test_questions_are_unique_even_without_case_and_marks(corpus: Corpus) -> None:
    bare = Counter(_bare(question.text) for question in corpus.questions)
    assert [text for text, n in bare.items() if n > 1] == []


def test_no_phrasing_for_retrieval_is_one_of_the_questions(corpus: Corpus) -> None:
    asked = {_bare(question.text) for question in corpus.questions}
    phrases = {_bare(phrase) for article in corpus.articles.values() for phrase in article.examples}
    assert asked & phrases == set()


def test_a_trap_nearly_equals_a_question_that_another_article_answers(corpus: Corpus) -> None:
    by_text = {question.text: question for question in corpus.questions}
    for trap in (question for question in corpus.questions if question.kind == "trap"):
        other = by_text[trap.trap_of]
        assert other.article != trap.article, trap
        assert trap.contrast in CONTRASTS, trap
        words = (_bare(trap.text).split(), _bare(other.text).split())
        assert SequenceMatcher(None, *words).ratio() >= 0.45, trap


def test_only_traps_name_a_contrast(corpus: Corpus) -> None:
    for question in corpus.questions:
        assert (question.kind == "trap") == bool(question.trap_of) == bool(question.contrast)


def test_contrasts_name_both_sides_of_every_pair(corpus: Corpus) -> None:
    texts = {question.text for question in corpus.questions}
    assert set(corpus.contrasts) <= texts
    assert len(corpus.contrasts) > 200


def test_personal_questions_have_room_for_one_order_number(corpus: Corpus) -> None:
    assert len(corpus.personal) >= 10
    for question in corpus.personal:
        assert question.text.count("{order}") == 1
        assert question.article in corpus.articles


def _bare(text: str) -> str:
    return re.sub(r"[^\w ]", "", text.lower()).strip()
