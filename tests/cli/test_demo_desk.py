"""The inference callable answers from the right article, the same each time, and says which."""

from __future__ import annotations

import asyncio

from cachelayer.cli.demo.corpus import Article, Corpus
from cachelayer.cli.demo.desk import Desk, label_in, quote
from cachelayer.cli.demo.retrieval import Spellcheck
from cachelayer.semantic.embed.onnx import OnnxEmbedder


async def test_retrieval_finds_the_right_article_for_nineteen_questions_of_twenty(
    desk: Desk, corpus: Corpus
) -> None:
    found = await asyncio.gather(*(desk.label_of(question.text) for question in corpus.questions))
    right = [best == question.article for best, question in zip(found, corpus.questions, strict=True)]
    traps = [ok for ok, question in zip(right, corpus.questions, strict=True) if question.kind == "trap"]
    assert sum(right) / len(right) >= 0.95
    assert sum(traps) / len(traps) >= 0.9


async def test_answers_are_a_function_of_the_article_and_end_with_its_label(
    desk: Desk, corpus: Corpus
) -> None:
    one = await desk.answer("How do I factory reset my Hub 2?")
    other = await desk.answer("how to facotry reset hub 2")
    assert one == other
    assert label_in(one) == "hub2-reset"
    assert quote(corpus.articles["hub2-reset"]) in one


async def test_an_order_number_is_answered_for_that_order_alone(desk: Desk) -> None:
    first, second = (
        await desk.answer("Where is order WK-10001?"),
        await desk.answer("Where is order WK-10002?"),
    )
    bill = await desk.answer("Please send me the invocie of WK-10001.")
    assert label_in(first) == "order-status · WK-10001"
    assert "WK-10001" in first.partition("\n")[0]
    assert first != second
    assert label_in(bill) == "order-invoice · WK-10001"


async def test_calls_are_counted_and_looking_up_a_label_is_not_a_call(desk: Desk) -> None:
    await desk.answer("How do I test the Leak Sensor?")
    assert await desk.label_of("How do I test the Leak Sensor?") == "leak-sensor"
    assert [(work.question, work.label) for work in desk.worked] == [
        ("How do I test the Leak Sensor?", "leak-sensor")
    ]


async def test_a_writer_gets_the_question_and_its_article(corpus: Corpus, embedder: OnnxEmbedder) -> None:
    async def write(question: str, article: Article) -> str:
        return f"{article.id} for {question}"

    desk = Desk(corpus, embedder, think=0, write=write)
    await desk.prepare()
    answer = await desk.answer("How do I test the Leak Sensor?")
    assert answer.startswith("leak-sensor for How do I test")
    assert label_in(answer) == "leak-sensor"


async def test_the_maker_of_an_answer_is_told_by_its_similarity(desk: Desk) -> None:
    others = ["How do I pay by invoice?", "How do I test the leak alarm?"]
    question = "How do I test the Leak Sensor?"
    assert await desk.nearest(question, others, None) == others[1]
    assert await desk.nearest(question, others, 0.1) == others[0]
    assert await desk.nearest(question, [], 0.5) == ""


def test_an_answer_without_a_label_has_none() -> None:
    assert label_in("anything") == ""


def test_quotes_end_with_whole_sentences(corpus: Corpus) -> None:
    for article in corpus.articles.values():
        assert quote(article).endswith((".", "!", "?"))
        assert quote(article).removeprefix(article.title + ". ") in article.body


def test_spelling_is_mended_one_edit_away_and_short_words_and_numbers_are_left_alone() -> None:
    check = Spellcheck(["firmware update battery E12 hub"])
    assert check.mend("frimware updte batery hbu E21 12345") == "firmware update battery hbu E21 12345"
    assert check.mend("something else entirely") == "something else entirely"
